package connectortest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Python finds an interpreter that has the modules: SLUICE_PYTHON, .venv/bin/python at the root of the module, python3. Without one it says
// so and returns "", and the test ends there; with SLUICE_REQUIRE_PYTHON=1 the test fails.
func Python(tb testing.TB, modules ...string) string {
	tb.Helper()
	tries := []string{"python3"}
	if dir, err := os.Getwd(); err == nil {
		for ; dir != "/"; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				tries = append([]string{filepath.Join(dir, ".venv", "bin", "python")}, tries...)
				break
			}
		}
	}
	if p := os.Getenv("SLUICE_PYTHON"); p != "" {
		tries = []string{p}
	}
	for _, p := range tries {
		if exec.Command(p, "-c", "import "+strings.Join(modules, ", ")).Run() == nil {
			return p
		}
	}
	if os.Getenv("SLUICE_REQUIRE_PYTHON") == "1" {
		tb.Fatalf("none of %v has %v", tries, modules)
	}
	tb.Logf("the Python side was not checked: none of %v has %v", tries, modules)
	return ""
}

// RunPython runs a script and fails the test with its output if it fails.
func RunPython(tb testing.TB, python, script string, args ...string) {
	tb.Helper()
	out, err := exec.Command(python, append([]string{script}, args...)...).CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, out)
	}
}

// Copy reads files with a source and writes their rows with a format to one file: how a test sends data of another implementation through
// both directions of a connector.
func Copy(tb testing.TB, src dataset.Source, format dataset.Format, path string) {
	tb.Helper()
	rt := NewRuntime(tb)
	schema, err := src.Schema(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	e, err := format.NewEncoder(&out, schema, rt.Allocator(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range Splits(tb, src, dataset.Cursor{}) {
		r, err := src.Open(tb.Context(), rt, s, 0)
		if err != nil {
			tb.Fatal(err)
		}
		for {
			b, err := r.Next(tb.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				tb.Fatal(err)
			}
			err = e.Write(tb.Context(), b)
			b.Release()
			if err != nil {
				tb.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if f := rt.Failures(); len(f) > 0 {
		tb.Fatalf("%d rows failed, the first: %v", len(f), f[0].Err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// Block makes a block without identity of a record, which it takes over.
func Block(rec arrow.RecordBatch) *block.Block { return block.New(rec, block.Identity{}) }

// OneRow is the identity of a block of one row, where a test needs one that says nothing.
var OneRow = block.FromRuns(block.Run{File: &block.File{}, N: 1, Stride: 1})
