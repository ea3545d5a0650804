package sluice_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice"
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

// crashPlan is a pipeline that is killed and run again.
type crashPlan struct {
	name, steps, target string
	flags               []string
	broken              bool // the input has broken lines
	inOrder             bool // the result has one order
	two                 bool // a run of two sinks, by the Go API
}

var crashPlans = []crashPlan{
	{name: "filter", steps: "where n % 3 != 0", target: "out/"},
	{name: "filter, one file", steps: "where n % 3 != 0", target: "out.jsonl", inOrder: true},
	{name: "filter, one file that stays one", steps: "where n % 3 != 0", target: "out.jsonl", flags: []string{"--part-size", "1GiB"}, inOrder: true},
	{name: "flat map", steps: "unnest tags | where tags != 'a3'", target: "out/"},
	{name: "row errors", steps: "where n % 2 == 0", target: "out/", flags: []string{"--on-error", "skip"}, broken: true},
	{name: "sort", steps: "where n % 5 == 0 | sort text", target: "out/", inOrder: true},
	{name: "partitioned", steps: "where n % 3 != 1", target: "out/ by=mod"},
	{name: "ordered", steps: "where n % 3 != 0", target: "out/", flags: []string{"--ordered"}, inOrder: true},
	{name: "ordered, seed", steps: "unnest tags", target: "out/", flags: []string{"--ordered", "--seed", "3"}, inOrder: true},
	{name: "sample", steps: "sample 0.5", target: "out/"},
	{name: "ordered limit", steps: "limit 50000", target: "out/", flags: []string{"--ordered"}, inOrder: true},
	{name: "two sinks", two: true},
}

const (
	crashFiles = 8
	crashRows  = 12_000
)

// command is one run of the plan, in a folder of its own.
func (p crashPlan) command(t *testing.T, in, dir string, parallel, memory int) *exec.Cmd {
	t.Helper()
	if p.two {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s %s", crashChild, parallel, memory, in, dir))
		return cmd
	}
	args := append([]string{"--quiet", "--to", "jsonl", "--part-size", "300KiB", "--commit-every", "50ms", "--parallel", fmt.Sprint(parallel),
		"--memory", fmt.Sprintf("%dMiB", memory)}, p.flags...)
	return sluiceCommand(t, append(args, fmt.Sprintf("%s/*.jsonl | %s | %s/%s", in, p.steps, dir, p.target))...)
}

// results are the paths that the plan writes.
func (p crashPlan) results(dir string) []string {
	if p.two {
		return []string{dir + "/a", dir + "/b.jsonl"}
	}
	return []string{filepath.Join(dir, strings.TrimSuffix(strings.Fields(p.target)[0], "/"))}
}

// crashChild carries the job of a child process, this test binary run again: a run of two sinks.
const crashChild = "SLUICE_TEST_CRASH"

func crashMain(job string) error {
	var parallel, memory int
	var in, dir string
	if _, err := fmt.Sscan(job, &parallel, &memory, &in, &dir); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sluice.Open(ctx, sluice.WithParallel(parallel), sluice.WithMemory(int64(memory)<<20), sluice.WithPartSize(300<<10), sluice.WithCommitEvery(50*time.Millisecond))
	if err != nil {
		return err
	}
	all := s.Read(in + "/*.jsonl")
	_, err = s.Run(ctx, all.Filter("n % 3 != 0").WriteJSONL(dir+"/a/"), all.Filter("n % 2 == 0").WriteJSONL(dir+"/b.jsonl"))
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}

// TestCrash kills real runs at random moments, several times, each time with another parallelism and memory, before one is left to
// end. After each kill everything visible is whole; in the end the rows are those of an undisturbed run.
func TestCrash(t *testing.T) {
	rounds := 1
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 30
	}
	if _, err := binary(); err != nil { // before the first run is timed
		t.Fatal(err)
	}
	in, broken := t.TempDir(), t.TempDir()
	writeNumbers(t, in, crashFiles, crashRows, false)
	writeNumbers(t, broken, crashFiles, crashRows, true)
	for _, p := range crashPlans {
		t.Run(p.name, func(t *testing.T) {
			in := in
			if p.broken {
				in = broken
			}
			calm, begun := t.TempDir(), time.Now()
			if msg, err := p.command(t, in, calm, 2, 64).CombinedOutput(); err != nil {
				t.Fatalf("undisturbed run: %v: %s", err, msg)
			}
			span := time.Since(begun)
			want := linesIn(t, p.inOrder, p.results(calm)...)
			if len(want) < crashRows {
				t.Fatalf("the undisturbed run has %d rows", len(want))
			}
			kills := 0
			for round := range rounds {
				kills += p.disturb(t, in, rand.New(rand.NewPCG(11, uint64(round))), span, want)
			}
			t.Logf("%d runs were killed", kills)
		})
	}
}

// disturb kills a few runs and compares what the last one leaves with want. It returns the number of kills.
func (p crashPlan) disturb(t *testing.T, in string, r *rand.Rand, span time.Duration, want []string) (kills int) {
	t.Helper()
	dir := t.TempDir()
	for range 2 + r.IntN(3) {
		cmd := p.command(t, in, dir, 1+r.IntN(4), []int{48, 64, 256}[r.IntN(3)])
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(time.Duration(r.Int64N(int64(span)))*9/10, func() { _ = cmd.Process.Kill() })
		if cmd.Wait() != nil {
			kills++
		}
		timer.Stop()
		linesIn(t, false, p.results(dir)...)
	}
	if msg, err := p.command(t, in, dir, 1+r.IntN(4), 64).CombinedOutput(); err != nil {
		t.Fatalf("run again: %v: %s", err, msg)
	}
	got := linesIn(t, p.inOrder, p.results(dir)...)
	if !slices.Equal(got, want) {
		t.Fatalf("%d rows after %d kills, want %d: %s", len(got), kills, len(want), firstDifference(got, want))
	}
	nothingStaged(t, dir)
	return kills
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("row %d is %q, want %q", i, got[i], want[i])
		}
	}
	return "one is longer"
}

// TestCrashInterrupted: Ctrl-C lets a run commit what it has read; it ends with 130, and the same command goes on with it.
func TestCrashInterrupted(t *testing.T) {
	in := t.TempDir()
	writeNumbers(t, in, crashFiles, 2*crashRows, false)
	p := crashPlans[0]
	begun := time.Now()
	calm := t.TempDir()
	if msg, err := p.command(t, in, calm, 2, 64).CombinedOutput(); err != nil {
		t.Fatalf("undisturbed run: %v: %s", err, msg)
	}
	span := time.Since(begun)
	for _, part := range []time.Duration{2, 3, 4, 5, 6, 7} {
		dir := t.TempDir()
		cmd := p.command(t, in, dir, 1, 64)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(span*part/8, func() { _ = cmd.Process.Signal(os.Interrupt) })
		err := cmd.Wait()
		timer.Stop()
		if err == nil {
			continue // it was faster
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Fatalf("exit code %d after an interrupt, want 130", code)
		}
		again := p.command(t, in, dir, 3, 48)
		again.Args = slices.DeleteFunc(again.Args, func(a string) bool { return a == "--quiet" })
		msg, err := again.CombinedOutput()
		if err != nil {
			t.Fatalf("run again: %v: %s", err, msg)
		}
		if got, want := linesIn(t, false, p.results(dir)...), linesIn(t, false, p.results(calm)...); !slices.Equal(got, want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		if strings.Contains(string(msg), "resumed run ") {
			return
		}
	}
	t.Error("no interrupted run was resumed")
}
