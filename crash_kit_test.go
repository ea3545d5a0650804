package sluice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// crashTags are the build tags of the programs that are killed.
var crashTags = "sluicecrash"

// binaries builds the command and the run of two sinks once, with crash points that the environment sets off.
var binaries = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-bin-*")
	if err != nil {
		return "", err
	}
	for name, pkg := range map[string]string{"sluice": "./cmd/sluice", "twosinks": "./testdata/twosinks"} {
		msg, err := exec.Command("go", "build", "-tags", crashTags, "-o", filepath.Join(dir, name), pkg).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("build %s: %w: %s", pkg, err, msg)
		}
	}
	return dir, nil
})

// binary is the path of the command.
func binary() (string, error) {
	dir, err := binaries()
	return filepath.Join(dir, "sluice"), err
}

func sluiceCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return built(t, "sluice", args...)
}

func built(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	dir, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir) // the index of results is not for tests to write
	return cmd
}

// writeNumbers makes files of JSON lines {"n":…,"text":…,"tags":[…],"mod":…}, n from 0 up over all files. One line in 5000 is broken if
// asked for.
func writeNumbers(t *testing.T, dir string, files, rows int, broken bool) {
	t.Helper()
	for f := range files {
		var b bytes.Buffer
		for i := range rows {
			n := f*rows + i
			if broken && n%5000 == 17 {
				b.WriteString("{\"n\":oops}\n")
				continue
			}
			fmt.Fprintf(&b, "{\"n\":%d,\"text\":\"row %d of file %d\",\"tags\":[\"a%d\",\"b\"],\"mod\":\"m%d\"}\n", n, i, f, n%7, n%3)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in-%03d.jsonl", f)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// linesIn reads all visible lines of results, files or folders, with their folder, and fails on a line that is not whole. keepOrder
// leaves them in the order of the files' names.
func linesIn(t *testing.T, keepOrder bool, paths ...string) []string {
	t.Helper()
	var out []string
	for k, path := range paths {
		err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil
			case err != nil:
				return err
			case p != path && (d.Name()[0] == '_' || d.Name()[0] == '.'):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir():
				return nil
			}
			raw, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			folder, err := filepath.Rel(path, filepath.Dir(p))
			if err != nil || p == path {
				folder = "."
			}
			for line := range bytes.Lines(raw) {
				if !json.Valid(line) || line[len(line)-1] != '\n' {
					t.Fatalf("%s is visible half-written: %q", p, line)
				}
				out = append(out, fmt.Sprintf("%d %s %s", k, folder, line))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !keepOrder {
		slices.Sort(out)
	}
	return out
}

// nothingStaged fails if a finished run has left something that is neither result nor record.
func nothingStaged(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(p, ".part") || strings.Contains(p, "tmp-") || strings.Contains(p, "spill")) {
			t.Errorf("%s was left behind", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return "one is longer"
}
