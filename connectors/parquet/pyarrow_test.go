package parquet

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// python finds an interpreter that has pyarrow: SLUICE_PYTHON, the module's
// .venv, python3. Without one the test says so and ends, or fails when
// SLUICE_REQUIRE_PYTHON is 1.
func python(t *testing.T) string {
	t.Helper()
	tries := []string{"python3"}
	if dir, err := filepath.Abs("../.."); err == nil {
		tries = append([]string{filepath.Join(dir, ".venv", "bin", "python")}, tries...)
	}
	if p := os.Getenv("SLUICE_PYTHON"); p != "" {
		tries = []string{p}
	}
	for _, p := range tries {
		if exec.Command(p, "-c", "import pyarrow.parquet").Run() == nil {
			return p
		}
	}
	if os.Getenv("SLUICE_REQUIRE_PYTHON") == "1" {
		t.Fatalf("none of %v has pyarrow", tries)
	}
	t.Logf("the pyarrow side was not checked: none of %v has pyarrow", tries)
	return ""
}

func runPython(t *testing.T, python string, args ...string) {
	t.Helper()
	out, err := exec.Command(python, append([]string{"testdata/interop.py"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("interop.py %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestPyArrowReadsOurs has pyarrow compare files of ours with the same rows
// as an IPC stream: random tables and the media types, which it does not know.
func TestPyArrowReadsOurs(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	dir := t.TempDir()
	emit := func(name string, b arrow.RecordBatch, file []byte) {
		if err := os.WriteFile(filepath.Join(dir, name+".parquet"), file, 0o644); err != nil {
			t.Fatal(err)
		}
		var buf bytes.Buffer
		w := ipc.NewWriter(&buf, ipc.WithSchema(b.Schema()))
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".arrow"), buf.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 40 {
			return
		}
		b := drawBatch(rt)
		emit("random"+string(rune('a'+n/26))+string(rune('a'+n%26)), b, ourWrite(rt, b, drawWriteOptions(rt)))
	})
	b := mediaBatch(t)
	two := array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[:2], nil), b.Columns()[:2], b.NumRows())
	emit("media", two, ourWrite(t, two, WriteOptions{}))
	// Up to version 25 pyarrow does not read null lists of fixed size, whoever wrote them.
	whole := b.NewSlice(0, 3)
	emit("tensor_list", whole, ourWrite(t, whole, WriteOptions{TensorLists: true}))
	runPython(t, py, "check", dir)
}

// TestWeReadPyArrow reads pyarrow's files: INT96, decimals as integers, delta
// encodings, dictionaries given up midway, small V2 pages, checksums.
func TestWeReadPyArrow(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	dir := t.TempDir()
	runPython(t, py, "write", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, p := range files {
		t.Run(filepath.Base(p), func(t *testing.T) {
			file, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := os.Open(strings.TrimSuffix(p, "parquet") + "arrow")
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			want := streamTable(t, stream)
			for _, rows := range []int{17, 1 << 20} {
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				got, err := readAll(file, ReadOptions{Allocator: mem, BatchRows: rows})
				if err != nil {
					t.Fatal(err)
				}
				sameRows(t, want, got)
				for i, f := range want.Schema().Fields() {
					g := got.Schema().Field(i)
					if !arrow.TypeEqual(f.Type, g.Type) && !strings.Contains(p, "no_arrow_schema") {
						t.Errorf("column %q came as %s, pyarrow wrote %s", f.Name, g.Type, f.Type)
					}
				}
				got.Release()
				mem.AssertSize(t, 0)
			}
		})
	}
}

func streamTable(t *testing.T, f *os.File) arrow.Table {
	t.Helper()
	r, err := ipc.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var all []arrow.RecordBatch
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		all = append(all, b)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return array.NewTableFromRecords(r.Schema(), all)
}
