package sluice_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// binary builds the command once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "sluice-bin-*")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "sluice")
	msg, err := exec.Command("go", "build", "-o", out, "./cmd/sluice").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w: %s", err, msg)
	}
	return out, nil
})

func sluiceCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Dir(bin)) // the index of results is not for tests to write
	return cmd
}

// writeNumbers makes files of JSON lines {"n":…,"text":…}, n from 0 up over all files.
func writeNumbers(t *testing.T, dir string, files, rows int) {
	t.Helper()
	for f := range files {
		var b bytes.Buffer
		for i := range rows {
			fmt.Fprintf(&b, "{\"n\":%d,\"text\":\"row %d of file %d\"}\n", f*rows+i, i, f)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in-%03d.jsonl", f)), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// numbersIn reads all visible lines of a result, a file or a folder, and fails on a line that is not whole.
func numbersIn(t *testing.T, path string) []int {
	t.Helper()
	var files []string
	if st, err := os.Stat(path); err != nil {
		return nil
	} else if !st.IsDir() {
		files = []string{path}
	} else if files, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var row struct{ N *int }
			if err := json.Unmarshal(line, &row); err != nil || row.N == nil || line[len(line)-1] != '\n' {
				t.Fatalf("%s is visible half-written: %q: %v", f, line, err)
			}
			out = append(out, *row.N)
		}
	}
	slices.Sort(out)
	return out
}

// TestCrashLeavesNothingHalfWritten kills real runs at random moments. After each kill everything visible is whole; after the last, the
// same command gives exactly the rows of an undisturbed run.
func TestCrashLeavesNothingHalfWritten(t *testing.T) {
	rounds := 4
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 100
	}
	in := t.TempDir()
	writeNumbers(t, in, 12, 20_000)
	var want []int
	for i := range 12 * 20_000 {
		if i%3 != 0 {
			want = append(want, i)
		}
	}
	for _, target := range []string{"out.jsonl", "out/"} {
		t.Run(strings.TrimSuffix(target, "/"), func(t *testing.T) {
			kills := 0
			for round := range rounds {
				r := rand.New(rand.NewPCG(7, uint64(round)))
				out := filepath.Join(t.TempDir(), target)
				if strings.HasSuffix(target, "/") {
					out += "/"
				}
				args := []string{
					"--quiet", "--to", "jsonl", "--part-size", "1MiB", "--commit-every", "20ms",
					"--parallel", fmt.Sprint(1 + r.IntN(4)), "--memory", "64MiB",
					filepath.Join(in, "*.jsonl") + ` | where n % 3 != 0 | ` + out,
				}
				for range 3 {
					cmd := sluiceCommand(t, args...)
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					timer := time.AfterFunc(time.Duration(r.IntN(400))*time.Millisecond, func() { _ = cmd.Process.Kill() })
					if cmd.Wait() != nil {
						kills++
					}
					timer.Stop()
					numbersIn(t, strings.TrimSuffix(out, "/"))
				}
				if msg, err := sluiceCommand(t, args...).CombinedOutput(); err != nil {
					t.Fatalf("round %d: run again: %v: %s", round, err, msg)
				}
				if got := numbersIn(t, strings.TrimSuffix(out, "/")); !slices.Equal(got, want) {
					t.Fatalf("round %d: %d rows after the kills, want %d", round, len(got), len(want))
				}
			}
			if kills == 0 {
				t.Error("no run was killed: the test shows nothing")
			}
			t.Logf("%d runs were killed", kills)
		})
	}
}
