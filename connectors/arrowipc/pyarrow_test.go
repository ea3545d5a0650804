package arrowipc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
)

// TestPyArrow sends files of pyarrow's through reader and writer, and has pyarrow compare the result with what it wrote.
func TestPyArrow(t *testing.T) {
	py := connectortest.Python(t, "pyarrow.feather")
	if py == "" {
		return
	}
	dir := t.TempDir()
	connectortest.RunPython(t, py, "testdata/interop.py", "write", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) < 10 {
		t.Fatalf("files %v, %v", files, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, p := range files {
		f, err := NewFormat(WriteOptions{Compression: []string{"none", "lz4", "zstd"}[i%3], Stream: strings.HasSuffix(p, "s"), BatchRows: 170})
		if err != nil {
			t.Fatal(err)
		}
		connectortest.Copy(t, open(t, file.Local{}, p, Options{}, 0), f, filepath.Join(dir, "out", filepath.Base(p)))
	}
	connectortest.RunPython(t, py, "testdata/interop.py", "check", dir)
}
