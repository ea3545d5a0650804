package jsonl_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

const duckScript = `
import sys
import duckdb
for path in sys.argv[1:]:
    got = duckdb.connect().execute("select count(*), sum(n), count(text), max(text) from read_json('" + path + "')").fetchall()[0]
    if got != (900, 494550, 772, '],[999\n"'):
        raise SystemExit(path + ": " + repr(got))
`

// TestDuckDB has DuckDB read lines and arrays, joined of two parts, in the compressions that it knows.
func TestDuckDB(t *testing.T) {
	python := connectortest.Python(t, "duckdb")
	if python == "" {
		return
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "read.py")
	if err := os.WriteFile(script, []byte(duckScript), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{}
	for name, newFormat := range map[string]func(jsonl.WriteOptions) (*jsonl.Format, error){"a.json": jsonl.NewArrayFormat, "a.jsonl": jsonl.NewFormat} {
		for compression, suffix := range map[string]string{"": "", "gzip": ".gz", "zstd": ".zst"} {
			f, err := newFormat(jsonl.WriteOptions{Compression: compression})
			if err != nil {
				t.Fatal(err)
			}
			var parts []dataset.JoinPart
			for _, rows := range [][2]int{{100, 0}, {100, 400}, {500, 500}} {
				var out bytes.Buffer
				e, err := f.NewEncoder(&out, sinkSchema, memory.DefaultAllocator, 1)
				if err != nil {
					t.Fatal(err)
				}
				b := connectortest.Block(sinkRows(memory.DefaultAllocator, rows[0], rows[1]))
				if err := e.Write(t.Context(), b); err != nil {
					t.Fatal(err)
				}
				b.Release()
				if err := e.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				parts = append(parts, dataset.JoinPart{ReaderAt: bytes.NewReader(out.Bytes()), Size: int64(out.Len())})
			}
			var whole bytes.Buffer
			if err := f.Join(t.Context(), &whole, parts); err != nil {
				t.Fatal(err)
			}
			p := filepath.Join(dir, name+suffix)
			if err := os.WriteFile(p, whole.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, p)
		}
	}
	connectortest.RunPython(t, python, script, args...)
}
