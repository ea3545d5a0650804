package csv_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// write puts files into a folder; names that end in .gz or .zst are compressed.
func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		data := []byte(text)
		switch filepath.Ext(name) {
		case ".gz":
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(data); err != nil {
				tb.Fatal(err)
			}
			if err := z.Close(); err != nil {
				tb.Fatal(err)
			}
			data = b.Bytes()
		case ".zst":
			z, err := zstd.NewWriter(nil)
			if err != nil {
				tb.Fatal(err)
			}
			data = z.EncodeAll(data, nil)
		}
		if err := os.WriteFile(p, data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// open makes a source of the files that a pattern means.
func open(tb testing.TB, fs file.FS, pattern string, opt csv.Options, splitBytes int64) *csv.Source {
	tb.Helper()
	src, err := csv.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: pattern}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(splitBytes)
}
