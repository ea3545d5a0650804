//go:build mutation

package sched

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation is one wrong change of the machine or its policies, and the invariant of the simulator that must notice it.
type mutation struct {
	Name, File, Search, Replace, Catches string
}

// TestMutations proves that the simulator is worth something: every mutation, applied by an overlay to a copy of the source, makes it fail by
// the invariant named. It takes minutes and is run by "go test -tags mutation -run TestMutations".
func TestMutations(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "mutations.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []mutation
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.Name, func(t *testing.T) { m.run(t) })
	}
}

func (m *mutation) run(t *testing.T) {
	path, err := filepath.Abs(m.File)
	if err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), m.Search); n != 1 {
		t.Fatalf("%s holds the text to be changed %d times, want once", m.File, n)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(path))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), m.Search, m.Replace, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-overlay", list, "-run", "^TestSimulator$", "-timeout", "120s", ".")
	cmd.Env = append(os.Environ(), "SLUICE_SIM_SEEDS=3000")
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Errorf("the simulator does not notice it")
	case bytes.Contains(out, []byte("build failed")):
		t.Errorf("the change does not compile:\n%s", out)
	case !bytes.Contains(out, []byte(`invariant "`+m.Catches+`" violated`)):
		t.Errorf("want it caught by %q, got\n%s", m.Catches, firstLines(out, 12))
	}
}

func firstLines(b []byte, n int) string {
	lines := strings.SplitN(string(b), "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
