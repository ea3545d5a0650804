package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
)

// numbers writes files of lines {"n":…,"t":…} from file number first on. One in a thousand has a text that is no number.
func numbers(t *testing.T, dir string, first, files int) {
	t.Helper()
	const per = 40_000
	for f := first; f < first+files; f++ {
		var b strings.Builder
		for n := f * per; n < (f+1)*per; n++ {
			if n%1000 == 500 {
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"x\"}\n", n)
			} else {
				fmt.Fprintf(&b, "{\"n\":%d,\"t\":\"%d\"}\n", n, n%10)
			}
		}
		write(t, filepath.Join(dir, fmt.Sprintf("in/%d.jsonl", f)), b.String())
	}
}

// numbersOut are the sorted lines that the pipeline of these tests makes of numbers.
func numbersOut(first, files int) (out []string) {
	for n := first * 40_000; n < (first+files)*40_000; n++ {
		if n%1000 != 500 {
			out = append(out, fmt.Sprintf(`{"n":%d,"q":%d}`, n, n%10))
		}
	}
	slices.Sort(out)
	return out
}

const numbersPlan = "in/*.jsonl | with q = int(t) | drop t | "

// resumable runs a command until one of its attempts was killed with rows committed, and fails if that never happens. After one that was
// too fast the result is put back as it was before.
func resumable(t *testing.T, dir, target string, args ...string) (run string) {
	t.Helper()
	args = append([]string{"--quiet", "--to", "jsonl", "--on-error", "dead-letter", "--commit-every", "5ms", "--part-size", "200kB", "--parallel", "1",
		"--memory", "32MiB"}, args...)
	places := map[string]string{filepath.Join(dir, target): t.TempDir(), stateOf(dir, target): t.TempDir()}
	for at, kept := range places {
		if st, err := os.Stat(at); err == nil && st.IsDir() {
			if err := os.CopyFS(kept, os.DirFS(at)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 30 {
		if !killed(t, dir, target, 0, args) {
			for at, kept := range places {
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				if left, err := os.ReadDir(kept); err != nil || len(left) == 0 {
					continue
				}
				if err := os.CopyFS(at, os.DirFS(kept)); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		stdout, _, _ := run3(t, dir, "runs", target)
		for line := range strings.Lines(stdout) {
			if f := strings.Fields(line); len(f) > 4 && f[3] == "unfinished" {
				return f[0]
			}
		}
	}
	t.Fatal("no attempt had committed rows when it was killed")
	return ""
}

// run3 is run without standard input.
func run3(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return run(t, dir, "", args...)
}

// TestResumeCommand: a killed run goes on from its log, by its id or its path, from another folder, with another parallelism and memory.
func TestResumeCommand(t *testing.T) {
	for _, target := range []string{"a.jsonl", "b/"} {
		dir := t.TempDir()
		numbers(t, dir, 0, 6)
		id := resumable(t, dir, target, numbersPlan+target)
		stdout, _, _ := run3(t, t.TempDir(), "runs")
		if !strings.Contains(stdout, id) || !strings.Contains(stdout, filepath.Join(dir, strings.TrimSuffix(target, "/"))) {
			t.Errorf("runs without a path does not list run %s:\n%s", id, stdout)
		}
		for _, flag := range []string{"--append", "--overwrite", "--incremental", "--seed=3", "--set=a=b", "--to=csv"} {
			if _, stderr, code := run3(t, dir, flag, "resume", id); code != 2 || !strings.Contains(stderr, "as it was begun") {
				t.Errorf("resume %s: code %d, %s", flag, code, stderr)
			}
		}
		what := id
		if target == "b/" {
			what = filepath.Join(dir, target)
		}
		_, stderr, code := run3(t, t.TempDir(), "--parallel", "4", "--memory", "48MiB", "resume", what)
		if code != 3 || !strings.Contains(stderr, "resumed run "+id) {
			t.Fatalf("resume %s: code %d, %s", what, code, stderr)
		}
		if got, want := column(t, dir, strings.TrimSuffix(target, "/")), numbersOut(0, 6); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", target, len(got), len(want))
		}
		if n := len(letters(t, dir, target)); n != 240 {
			t.Errorf("%s: %d dead letters", target, n)
		}
		for _, again := range []string{id, filepath.Join(dir, target)} {
			if _, stderr, code = run3(t, t.TempDir(), "resume", again); code != 0 || !strings.Contains(stderr, "already complete") {
				t.Errorf("resume of a finished run: code %d, %s", code, stderr)
			}
		}
	}
}

// TestResumeAsBegun: what the run does to its target, and what it does about failing rows, come from the log.
func TestResumeAsBegun(t *testing.T) {
	for _, tt := range []struct {
		mode  string
		first int // file of which the result is to begin
	}{{"--overwrite", 0}, {"--incremental", 0}, {"--append", 4}} {
		t.Run(tt.mode, func(t *testing.T) {
			dir := t.TempDir()
			numbers(t, dir, 0, 4)
			if _, stderr, code := run3(t, dir, "--quiet", "--to", "jsonl", "--on-error", "skip", numbersPlan+"out/"); code != 0 {
				t.Fatalf("code %d, %s", code, stderr)
			}
			want := numbersOut(0, 4)
			if tt.mode == "--append" { // all rows again, of other files
				if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
					t.Fatal(err)
				}
			}
			numbers(t, dir, 4, 10)
			want = append(want, numbersOut(4, 10)...)
			slices.Sort(want)
			id := resumable(t, dir, "out/", tt.mode, numbersPlan+"out/")
			if _, stderr, code := run3(t, t.TempDir(), "--quiet", "resume", id); code != 3 {
				t.Fatalf("code %d, %s", code, stderr)
			}
			if got := column(t, dir, "out"); !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
}

// TestResumeJob: a job file goes on from its log alone.
func TestResumeJob(t *testing.T) {
	dir := t.TempDir()
	numbers(t, dir, 0, 6)
	write(t, filepath.Join(dir, "job.yaml"), `version: 1
source: "{in}/*.jsonl"
steps:
  - with: q = int(t)
  - drop: [t]
sink: {path: out/, to: jsonl}
`)
	id := resumable(t, dir, "out/", "--to", "", "--set", "in=in", "run", "job.yaml")
	if err := os.Remove(filepath.Join(dir, "job.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := run3(t, t.TempDir(), "--quiet", "resume", id); code != 3 {
		t.Fatalf("code %d, %s", code, stderr)
	}
	if got, want := column(t, dir, "out"), numbersOut(0, 6); !slices.Equal(got, want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// TestResumeRefusals: what cannot go on says why.
func TestResumeRefusals(t *testing.T) {
	dir := t.TempDir()
	numbers(t, dir, 0, 2)
	for _, tt := range []struct{ what, want string }{{"nosuch", "is no result of Sluice"}, {"in/", "is no result of Sluice"}, {"20261129T235406-dc3h4iws", "no run of that name"}} {
		if _, stderr, code := run3(t, dir, "resume", tt.what); code != 2 || !strings.Contains(stderr, tt.want) {
			t.Errorf("resume %s: code %d, %s", tt.what, code, stderr)
		}
	}
	numbers(t, dir, 2, 6)
	id := resumable(t, dir, "out/", numbersPlan+"out/")
	if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "in/0.jsonl"), `{"n":"text","t":"1"}`+"\n")
	if _, stderr, code := run3(t, dir, "resume", id); code != 2 || !strings.Contains(stderr, "does not give the plan that it ran any more") {
		t.Errorf("resume on other columns: code %d, %s", code, stderr)
	}
}

// TestCleanCommand: what killed runs left is removed, what is in use and what can go on is not.
func TestCleanCommand(t *testing.T) {
	dir := t.TempDir()
	numbers(t, dir, 0, 6)
	if _, stderr, code := run3(t, dir, "clean", "nosuch"); code != 2 {
		t.Errorf("clean nosuch: code %d, %s", code, stderr)
	}
	temp := t.TempDir()
	spilled := filepath.Join(temp, ".tmp-spill-123")
	write(t, spilled, "left by a killed run")
	if stdout, stderr, code := run3(t, dir, "--temp-dir", temp, "clean"); code != 0 || !strings.Contains(stdout, "removed 1 file of spilled data") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(spilled); err == nil {
		t.Error("the spill file is still there")
	}
	id := resumable(t, dir, "out/", numbersPlan+"out/")
	if stdout, _, code := run3(t, dir, "clean", "out/"); code != 0 || stdout != "" {
		t.Errorf("a run that can go on was cleaned: code %d, %s", code, stdout)
	}
	release, err := file.NewStorage(file.OSDisk{}, filepath.Join(dir, "out/_sluice")).Lock(t.Context(), "lock", []byte("process 1 on mars (run "+id+")"))
	if err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := run3(t, dir, "clean", "--unfinished", "out/"); code != 0 || stdout != "" || !strings.Contains(stderr, "in use and was left alone: process 1 on mars") {
		t.Errorf("clean of a running run: code %d, %s%s", code, stdout, stderr)
	}
	if stdout, _, _ := run3(t, dir, "runs", "out/"); !strings.Contains(stdout, "running") {
		t.Errorf("runs of a running run:\n%s", stdout)
	}
	if _, stderr, code := run3(t, dir, "resume", "out/"); code != 2 || !strings.Contains(stderr, "another run is at work on it") {
		t.Errorf("resume of a running run: code %d, %s", code, stderr)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "dead/_sluice/20260101T000000-abcdefgh/stage/part-1.part"), "half a par")
	if stdout, stderr, code := run3(t, dir, "clean", "dead/"); code != 0 || !strings.Contains(stdout, "removed 1 file of run 20260101T000000-abcdefgh (orphan)") {
		t.Errorf("clean of an orphan: code %d, %s%s", code, stdout, stderr)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "dead/_sluice/*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
	if stdout, _, code := run3(t, dir, "clean", "--unfinished", id); code != 0 || !strings.Contains(stdout, "(unfinished)") {
		t.Errorf("clean --unfinished: code %d, %s", code, stdout)
	}
	if _, stderr, code := run3(t, dir, "resume", "out/"); code != 2 {
		t.Errorf("resume of what was given up: code %d, %s", code, stderr)
	}
}

// TestOptionsThatAreNoPlan: what changes no row makes no other command.
func TestOptionsThatAreNoPlan(t *testing.T) {
	dir := events(t, 50)
	plan := "events.jsonl | where score > 0.3 | out/"
	if _, stderr, code := run3(t, dir, plan); code != 0 {
		t.Fatal(stderr)
	}
	for _, flags := range [][]string{{"--memory", "64MiB"}, {"--parallel", "1"}, {"--on-error", "skip", "--max-errors", "3"}, {"--on-error", "dead-letter"},
		{"--part-size", "1MiB"}, {"--commit-every", "3s"}, {"--temp-dir", dir}, {"--append"}, {"--incremental"}} {
		if _, stderr, code := run3(t, dir, append(flags, plan)...); code != 0 || !strings.Contains(stderr, "already complete") {
			t.Errorf("%q: code %d, %s", flags, code, stderr)
		}
	}
	for _, flags := range [][]string{{"--ordered"}, {"--seed", "1"}, {"--to", "jsonl"}} {
		if _, stderr, code := run3(t, dir, append(flags, plan)...); code != 2 || !strings.Contains(stderr, "holds the result of another command") {
			t.Errorf("%q: code %d, %s", flags, code, stderr)
		}
	}
}

// TestAtLeastOnce: explain says of a result that cannot commit that rows may come twice.
func TestAtLeastOnce(t *testing.T) {
	dir := events(t, 5)
	for sink, want := range map[string]bool{"-": true, "out/": false, "out.parquet": false} {
		stdout, stderr, code := run3(t, dir, "explain", "events.jsonl | where id > 1 | "+sink)
		if code != 0 || strings.Contains(stdout, "cannot commit: rows arrive at least once") != want {
			t.Errorf("explain to %s: code %d, %s%s", sink, code, stdout, stderr)
		}
	}
}
