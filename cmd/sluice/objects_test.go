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

// startServers starts a server of each cloud for a test.
func startServers(t *testing.T) []*objecttest.Server {
	t.Helper()
	servers, stop, err := objecttest.StartAll("../..", objecttest.Schemes...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	for _, s := range servers {
		s.Setenv(t)
	}
	return servers
}

// cloudResult is a result in a bucket of its own.
type cloudResult struct {
	*objecttest.Server
	bucket, name string
}

func newCloudResult(t *testing.T, s *objecttest.Server, name string) cloudResult {
	t.Helper()
	bucket, err := s.Bucket()
	if err != nil {
		t.Fatal(err)
	}
	return cloudResult{s, bucket, name}
}

func (r cloudResult) url() string { return r.URL(r.bucket, r.name) }

// segments counts the segments of dead letters.
func (r cloudResult) segments(t *testing.T) (n int) {
	t.Helper()
	keys, err := r.Keys(r.bucket, strings.TrimPrefix(filepath.ToSlash(stateOf("", r.name)), "/")+"/")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if strings.Contains(k, "/dead/") {
			n++
		}
	}
	return n
}

// interrupt kills the run of args when the rows of its first segment of dead letters are committed, which is so before the second is written, and
// returns the id of the run.
func (r cloudResult) interrupt(t *testing.T, dir string, args ...string) (id string) {
	t.Helper()
	for try := 0; !killedAt(t, dir, func() int { return r.segments(t) }, 2, 0, args); try++ {
		if try == 30 {
			t.Fatal("it always ended before it could be killed")
		}
		keys, err := r.Keys(r.bucket, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if err := r.Remove(r.bucket, k); err != nil {
				t.Fatal(err)
			}
		}
	}
	stdout, stderr, _ := run3(t, dir, "runs", r.url())
	_, rest, _ := strings.Cut(stdout, "\n")
	id, _, _ = strings.Cut(rest, " ")
	if !strings.Contains(stdout, "unfinished") {
		t.Fatalf("runs of %s:\n%s%s", r.url(), stdout, stderr)
	}
	return id
}

// killable is a run with dead letters that commits often.
func killable(pipeline string) []string {
	return []string{"--quiet", "--to", "jsonl", "--on-error", "dead-letter", "--commit-every", "5ms", "--part-size", "200kB", "--parallel", "1", "--memory", "32MiB", pipeline}
}

// TestResultsOnObjectStores: runs, errors, resume, retry, inspect and clean take URLs, and ids of runs on them.
func TestResultsOnObjectStores(t *testing.T) {
	for _, server := range startServers(t) {
		t.Run(server.Scheme, func(t *testing.T) { resultsOn(t, server) })
	}
}

func resultsOn(t *testing.T, server *objecttest.Server) {
	dir := t.TempDir()
	numbers(t, dir, 0, 6)
	want := numbersOut(0, 6)
	for i, name := range []string{"out/", "one.jsonl"} {
		r := newCloudResult(t, server, name)
		target := r.url()
		id := r.interrupt(t, dir, killable(numbersPlan+target)...)
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
	orphan := newCloudResult(t, server, "orphan/")
	if err := server.Write(orphan.bucket, "orphan/_sluice/20260101T000000-abcdefgh/stage/part-1.part", []byte("half a par")); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, code := run3(t, dir, "clean", orphan.url()); code != 0 || !strings.Contains(stdout, "(orphan)") {
		t.Errorf("clean of an orphan: code %d, %s%s", code, stdout, stderr)
	}
	if _, stderr, code := run3(t, dir, "runs", server.URL(orphan.bucket, "none/")); code != 2 {
		t.Errorf("runs of nothing: code %d, %s", code, stderr)
	}
	if _, stderr, code := run3(t, dir, "errors", "http://example.com/x"); code != 2 || !strings.Contains(stderr, "holds no results") {
		t.Errorf("errors of the web: code %d, %s", code, stderr)
	}
}

// TestFromCloudToCloud: a job reads one cloud and writes another; it is killed on the way and goes on.
func TestFromCloudToCloud(t *testing.T) {
	by := map[string]*objecttest.Server{}
	for _, s := range startServers(t) {
		by[s.Scheme] = s
	}
	here := t.TempDir()
	numbers(t, here, 0, 4)
	want := numbersOut(0, 4)
	for _, way := range [][2]string{{"s3", "gs"}, {"az", "s3"}, {"gs", "az"}} {
		t.Run(way[0]+" to "+way[1], func(t *testing.T) {
			dir := t.TempDir()
			from, to := newCloudResult(t, by[way[0]], "in/"), newCloudResult(t, by[way[1]], "out/")
			for f := range 4 {
				raw, err := os.ReadFile(filepath.Join(here, fmt.Sprintf("in/%d.jsonl", f)))
				if err != nil {
					t.Fatal(err)
				}
				if err := from.Write(from.bucket, fmt.Sprintf("in/%d.jsonl", f), raw); err != nil {
					t.Fatal(err)
				}
			}
			id := to.interrupt(t, dir, killable(from.url()+"*.jsonl | with q = int(t) | drop t | "+to.url())...)
			if _, stderr, code := run3(t, dir, "resume", id); code != 3 || !strings.Contains(stderr, "resumed run "+id) {
				t.Fatalf("resume: code %d, %s", code, stderr)
			}
			copied := filepath.Join(dir, "copied")
			if err := to.Copy(to.bucket, "out/", copied); err != nil {
				t.Fatal(err)
			}
			if got := column(t, dir, copied+"/*.jsonl | select n, q"); !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
}
