package sluice_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nightly runs a pipeline with --incremental and returns what it says and its exit code.
func nightly(t *testing.T, dir, target string, flags ...string) (string, int) {
	t.Helper()
	args := append([]string{"--to", "jsonl", "--incremental"}, flags...)
	cmd := sluiceCommand(t, append(args, fmt.Sprintf("%s/in/*.jsonl schema=n:int64 | where n %% 2 == 0 | %s/%s", dir, dir, target))...)
	msg, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(msg), cmd.ProcessState.ExitCode()
}

// TestIncremental is a nightly job: each run reads what no run has read, and nothing twice.
func TestIncremental(t *testing.T) {
	for _, target := range []string{"out/", "out.jsonl"} {
		t.Run(target, func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, strings.TrimSuffix(target, "/"))
			if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
				t.Fatal(err)
			}
			at := time.Now().Add(-time.Hour)
			put := func(name, text string) {
				t.Helper()
				at = at.Add(time.Second) // every version has a time of its own
				p := filepath.Join(dir, "in", name)
				if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(p, at, at); err != nil {
					t.Fatal(err)
				}
			}
			run := func(want int, code int, says string, flags ...string) {
				t.Helper()
				msg, got := nightly(t, dir, target, flags...)
				if got != code || !strings.Contains(msg, says) {
					t.Fatalf("exit code %d, want %d; %q, want %q", got, code, msg, says)
				}
				if n := len(linesIn(t, false, out)); n != want {
					t.Fatalf("%d rows, want %d: %s", n, want, msg)
				}
			}
			tail := []string{"--grown", "tail"}
			put("b.jsonl", "{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n")
			run(2, 0, "wrote 2 rows", tail...)
			run(2, 0, "already complete", tail...)
			put("a.jsonl", "{\"n\":6}\n") // sorts before what was read
			put("c.jsonl", "{\"n\":8}")   // no line end yet
			run(4, 0, "wrote 2 rows", tail...)
			put("b.jsonl", "{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n{\"n\":10}\n{\"n\":11}\n")
			run(4, 2, "1 changed since they were read: "+dir+"/in/b.jsonl")
			run(4, 0, "already complete", "--changed", "skip")
			put("c.jsonl", "{\"n\":8}\n{\"n\":12}\n")
			run(6, 0, "read 3 rows", tail...)
			run(6, 0, "already complete", tail...)
			put("c.jsonl", "{\"n\":9}\n{\"n\":12}\n{\"n\":14}\n") // it grew, and what was read of it changed
			run(6, 1, "the old ones are not the same", tail...)
			run(6, 0, "already complete", "--changed", "skip")
			put("c.jsonl", "{\"n\":1}\n")
			run(6, 2, "1 changed since they were read", tail...)
			if err := os.Remove(filepath.Join(dir, "in", "c.jsonl")); err != nil {
				t.Fatal(err)
			}
			run(6, 0, "already complete", tail...)
			msg, err := sluiceCommand(t, "--to", "jsonl", "--incremental", fmt.Sprintf("%s/in/*.jsonl schema=n:int64 | where n > 2 | %s/%s", dir, dir, target)).CombinedOutput()
			if err == nil || !strings.Contains(string(msg), "this one differs") {
				t.Errorf("another plan: %v: %s", err, msg)
			}
		})
	}
}

// TestIncrementalChain: what the first of many nightly runs had read is not forgotten.
func TestIncrementalChain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "in"), 0o755); err != nil {
		t.Fatal(err)
	}
	for night := range 35 { // one manifest in 32 lists everything again
		if err := os.WriteFile(fmt.Sprintf("%s/in/%03d.jsonl", dir, 99-night), fmt.Appendf(nil, "{\"n\":%d}\n", 2*night), 0o644); err != nil {
			t.Fatal(err)
		}
		if msg, code := nightly(t, dir, "out/"); code != 0 {
			t.Fatalf("night %d: exit code %d: %s", night, code, msg)
		}
	}
	if n := len(linesIn(t, false, dir+"/out")); n != 35 {
		t.Errorf("%d rows after 35 nights", n)
	}
}
