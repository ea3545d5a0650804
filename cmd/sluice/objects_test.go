//go:build objects

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/object/objecttest"
)

// TestResultsOnObjectStores: runs, errors, resume, retry, inspect and clean take URLs, and ids of runs on them.
func TestResultsOnObjectStores(t *testing.T) {
	server, err := objecttest.Start("../../.cache/bin/versitygw")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, e := range server.Environ() {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	bucket, folder, err := server.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	numbers(t, dir, 0, 6)
	want := numbersOut(0, 6)
	for i, name := range []string{"out/", "one.jsonl"} {
		target := fmt.Sprintf("s3://%s/%s", bucket, name)
		args := []string{"--quiet", "--to", "jsonl", "--on-error", "dead-letter", "--commit-every", "5ms", "--part-size", "200kB", "--parallel", "1", "--memory", "32MiB",
			numbersPlan + target}
		for try := 0; !killedAt(t, dir, stateOf(folder, name), 2, 0, args); try++ { // the rows of the first segment are committed before the second is written
			if try == 30 {
				t.Fatal("it always ended before it could be killed")
			}
			for _, left := range []string{filepath.Join(folder, name), stateOf(folder, name)} {
				if err := os.RemoveAll(left); err != nil {
					t.Fatal(err)
				}
			}
		}
		stdout, stderr, _ := run3(t, dir, "runs", target)
		id, _, _ := strings.Cut(strings.Split(stdout, "\n")[1], " ")
		if !strings.Contains(stdout, "unfinished") {
			t.Fatalf("runs of %s:\n%s%s", target, stdout, stderr)
		}
		if stdout, _, _ := run3(t, dir, "runs"); !strings.Contains(stdout, target) {
			t.Errorf("runs without a path:\n%s", stdout)
		}
		what, files := []string{id, target}[i], target
		if strings.HasSuffix(files, "/") {
			files += "*.jsonl"
		}
		if _, stderr, code := run3(t, t.TempDir(), "--parallel", "4", "resume", what); code != 3 || !strings.Contains(stderr, "resumed run "+id) {
			t.Fatalf("resume %s: code %d, %s", what, code, stderr)
		}
		if got := column(t, dir, files+" | select n, q"); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d", target, len(got), len(want))
		}
		if n := len(letters(t, dir, what)); n != 240 {
			t.Errorf("%s: %d dead letters", target, n)
		}
		if stdout, stderr, code := run3(t, dir, "inspect", target); code != 0 || !strings.Contains(stdout, id) {
			t.Errorf("inspect: code %d, %s%s", code, stdout, stderr)
		}
		if _, stderr, code := run3(t, dir, "--quiet", "--to", "jsonl", "retry", target, `in/*.jsonl | with q = int(t == "x" ? "77" : t) | drop t`); code != 0 {
			t.Errorf("retry: code %d, %s", code, stderr)
		}
		if got := column(t, dir, files+" | where q == 77"); len(got) != 240 {
			t.Errorf("retry brought %d rows", len(got))
		}
		if stdout, stderr, code := run3(t, dir, "clean", target); code != 0 || stdout != "" {
			t.Errorf("clean: code %d, %s%s", code, stdout, stderr)
		}
	}
	write(t, filepath.Join(folder, "orphan/_sluice/20260101T000000-abcdefgh/stage/part-1.part"), "half a par")
	if stdout, stderr, code := run3(t, dir, "clean", "s3://"+bucket+"/orphan/"); code != 0 || !strings.Contains(stdout, "(orphan)") {
		t.Errorf("clean of an orphan: code %d, %s%s", code, stdout, stderr)
	}
	if _, stderr, code := run3(t, dir, "runs", "s3://"+bucket+"/none/"); code != 2 {
		t.Errorf("runs of nothing: code %d, %s", code, stderr)
	}
	if _, stderr, code := run3(t, dir, "errors", "http://example.com/x"); code != 2 || !strings.Contains(stderr, "holds no results") {
		t.Errorf("errors of the web: code %d, %s", code, stderr)
	}
}
