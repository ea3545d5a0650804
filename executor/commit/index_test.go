package commit_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice-data/sluice/executor/commit"
)

// TestIndex: results are listed once each, local ones first, until they are forgotten; a folder that cannot be written does no harm.
func TestIndex(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	x := commit.UserIndex()
	if got := x.Known(); got != nil {
		t.Errorf("a new index knows %q", got)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for _, p := range []string{"s3://bucket/out/", "out/", "a.jsonl", dir + "/a.jsonl", "./out/"} {
		x.Remember(p)
	}
	want := []string{filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "out") + "/", "s3://bucket/out/"}
	if got := x.Known(); !slices.Equal(got, want) {
		t.Errorf("known are %q, want %q", got, want)
	}
	x.Forget(want[0])
	if got := x.Known(); !slices.Equal(got, want[1:]) {
		t.Errorf("known are %q, want %q", got, want[1:])
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	commit.UserIndex().Remember("out/")
	if got := commit.UserIndex().Known(); got != nil {
		t.Errorf("an index that cannot be written knows %q", got)
	}
	commit.Index{}.Remember("out/")
}
