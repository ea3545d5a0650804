package parquet

import (
	"bytes"
	"fmt"
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

// runPython runs a script of testdata.
func runPython(t *testing.T, python, script string, args ...string) {
	t.Helper()
	out, err := exec.Command(python, append([]string{"testdata/" + script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, out)
	}
	t.Logf("%s: %s", script, out)
}

// TestPyArrowReadsOurs has pyarrow compare files of ours with the same rows
// as an IPC stream: random tables and the media types, which it does not know.
func TestPyArrowReadsOurs(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	dir := emitRandom(t)
	emit := func(name string, b arrow.RecordBatch, file []byte) { emitPair(t, dir, name, b, file) }
	b := mediaBatch(t)
	two := array.NewRecordBatch(arrow.NewSchema(b.Schema().Fields()[:2], nil), b.Columns()[:2], b.NumRows())
	emit("media", two, ourWrite(t, two, WriteOptions{}))
	// Up to version 25 pyarrow does not read null lists of fixed size, whoever wrote them.
	whole := b.NewSlice(0, 3)
	emit("tensor_list", whole, ourWrite(t, whole, WriteOptions{TensorLists: true}))
	runPython(t, py, "interop.py", "check", dir)
	if !hasModule(t, py, "duckdb") {
		return
	}
	runPython(t, py, "interop_duckdb.py", "check", dir)
}

// emitRandom writes random tables of ours, each beside its rows as an IPC stream.
func emitRandom(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 60 {
			return
		}
		b := drawBatch(rt)
		opts := drawWriteOptions(rt)
		opts.PageRows = rapid.SampledFrom([]int64{0, 3, 40}).Draw(rt, "page rows")
		for i, f := range b.Schema().Fields() {
			if checkBloom(b.Schema(), []string{f.Name}) == nil && i%2 == 0 {
				opts.Bloom = append(opts.Bloom, f.Name)
			}
		}
		emitPair(t, dir, fmt.Sprintf("random%03d", n), b, ourWrite(rt, b, opts))
	})
	return dir
}

func emitPair(t *testing.T, dir, name string, b arrow.RecordBatch, file []byte) {
	t.Helper()
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

// hasModule tells whether the interpreter has a module; it must where SLUICE_REQUIRE_PYTHON is 1.
func hasModule(t *testing.T, python, name string) bool {
	t.Helper()
	if exec.Command(python, "-c", "import "+name).Run() == nil {
		return true
	}
	if os.Getenv("SLUICE_REQUIRE_PYTHON") == "1" {
		t.Fatalf("%s has no %s", python, name)
	}
	t.Logf("%s was not asked: %s does not have it", name, python)
	return false
}

// TestWeReadPyArrow reads pyarrow's files: INT96, decimals as integers, delta
// encodings, dictionaries given up midway, small V2 pages, checksums.
func TestWeReadPyArrow(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	dir := t.TempDir()
	runPython(t, py, "interop.py", "write", dir)
	readAllPairs(t, dir)
}

// TestWeReadRandom reads random tables of pyarrow's, in all its encodings and page layouts, and tables of DuckDB's.
func TestWeReadRandom(t *testing.T) {
	py := python(t)
	if py == "" {
		return
	}
	t.Run("pyarrow", func(t *testing.T) {
		dir := t.TempDir()
		runPython(t, py, "interop_random.py", dir, "1", "80")
		readAllPairs(t, dir)
	})
	t.Run("duckdb", func(t *testing.T) {
		if !hasModule(t, py, "duckdb") {
			return
		}
		dir := t.TempDir()
		runPython(t, py, "interop_duckdb.py", "write", dir)
		readAllPairs(t, dir)
	})
}

// readAllPairs reads every file of a folder and compares it with the stream beside it.
func readAllPairs(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, p := range files {
		t.Run(filepath.Base(p), func(t *testing.T) {
			if about, err := os.ReadFile(strings.TrimSuffix(p, "parquet") + "txt"); err == nil {
				defer func() {
					if t.Failed() {
						t.Logf("written as %s", about)
					}
				}()
			}
			readPair(t, p)
		})
	}
}

func readPair(t *testing.T, path string) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := os.Open(strings.TrimSuffix(path, "parquet") + "arrow")
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
			if !arrow.TypeEqual(f.Type, g.Type) && !strings.Contains(path, "no_arrow_schema") {
				t.Errorf("column %q came as %s, pyarrow wrote %s", f.Name, g.Type, f.Type)
			}
		}
		got.Release()
		mem.AssertSize(t, 0)
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
