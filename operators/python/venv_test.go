package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	dt "github.com/sluice-data/sluice/dataset/datasettest"
)

// TestTwoEnvironments has two steps import the same package from two virtual environments that hold different versions of it.
func TestTwoEnvironments(t *testing.T) {
	py := python(t)
	where, err := exec.CommandContext(t.Context(), py, "-c", "import os, pyarrow; print(os.path.dirname(os.path.dirname(pyarrow.__file__)))").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put := func(text string, at ...string) {
		t.Helper()
		p := filepath.Join(append([]string{dir}, at...)...)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("import wordlib\n\ndef f(batch):\n    return {'version': [wordlib.__version__] * batch.num_rows}\nf.schema = {'version': 'string'}\n", "words.py")
	step := func(version string) *spec {
		if out, err := exec.CommandContext(t.Context(), py, "-m", "venv", "--without-pip", filepath.Join(dir, version)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lib, err := filepath.Glob(filepath.Join(dir, version, "lib", "python3*", "site-packages"))
		if err != nil || len(lib) == 0 {
			t.Fatal(lib, err)
		}
		packages, _ := filepath.Rel(dir, lib[0])
		put(string(where), packages, "pyarrow.pth")
		put("__version__ = '"+version+"'\n", packages, "wordlib", "__init__.py")
		return anyKind(Func(filepath.Join(dir, "words.py")+":f", Venv(filepath.Join(dir, version)), Processes(1)))
	}
	one, two := step("1.0"), step("2.0")
	for s, want := range map[*spec]string{one: "1.0", two: "2.0"} {
		r, _ := run(t, s, 3, dt.Config{})
		if r.NumRows() != 3 {
			t.Fatal(r.NumRows(), r.Causes())
		}
		for _, b := range r.Blocks {
			if got := b.Column(b.Record().Schema().FieldIndices("version")[0]).(*array.String).Value(0); got != want {
				t.Errorf("the step in %s has version %s", want, got)
			}
		}
	}
	if a, b := fmt.Sprint(one.Params()), fmt.Sprint(two.Params()); a == b || !strings.Contains(a, "1.0") {
		t.Errorf("they are the same command: %s", a)
	}
}
