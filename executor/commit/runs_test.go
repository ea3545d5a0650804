package commit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// TestRunsAndClean: what a target knows of its runs, and what cleaning up takes away.
func TestRunsAndClean(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 2000}
	ctx, store := t.Context(), storeOf(t, w)
	if runs, err := commit.Runs(ctx, store); err != nil || len(runs) != 0 {
		t.Fatal(runs, err)
	}
	state := func(want ...commit.RunState) []*commit.RunSummary {
		t.Helper()
		runs, err := commit.Runs(ctx, store)
		if err != nil {
			t.Fatal(err)
		}
		var got []commit.RunState
		for _, r := range runs {
			got = append(got, r.State)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("runs are %v, want %v", got, want)
		}
		return runs
	}
	if !runChild(t, childJob{World: w, Point: "parts durable", Hit: 1}, 0) {
		t.Fatal("it was not killed")
	}
	state(commit.RunOrphan)
	if out, err := commit.Clean(ctx, store, false); err != nil || len(out) != 1 || out[0].Files == 0 {
		t.Errorf("cleaned %+v, %v", out, err)
	}
	state()
	unfinishedWorld(t, w, 2)
	if r := state(commit.RunUnfinished)[0]; r.Rows == 0 || r.Parts == 0 || r.Splits == 0 || r.Started.IsZero() || r.Attempts != 1 {
		t.Errorf("unfinished: %+v", r)
	}
	if out, err := commit.Clean(ctx, store, false); err != nil || len(out) != 0 {
		t.Errorf("a resumable run was cleaned: %+v, %v", out, err)
	}
	m, d, err := commit.Prepare(ctx, config(t, w))
	if err != nil || d.Kind != commit.Resume {
		t.Fatal(d.Kind, err)
	}
	if r := state(commit.RunRunning)[0]; !strings.Contains(r.Owner, "process ") {
		t.Errorf("running: %+v", r)
	}
	if _, err := commit.Clean(ctx, store, true); err == nil {
		t.Error("a running run was cleaned")
	} else if _, ok := errors.AsType[*dataset.LockedError](err); !ok {
		t.Errorf("cleaning under a running run: %v", err)
	}
	if err := m.Abort(ctx); err != nil {
		t.Fatal(err)
	}
	if out, err := commit.Clean(ctx, store, true); err != nil || len(out) != 1 {
		t.Errorf("cleaned %+v, %v", out, err)
	}
	mustRun(t, w)
	if r := state(commit.RunFinished)[0]; r.Manifest.Number != 1 || int(r.Rows) != len(w.expected()) || r.Ended.IsZero() {
		t.Errorf("finished: %+v", r)
	}
	if !runChild(t, childJob{World: func() world { w := w; w.Target, w.Files = dataset.TargetAppend, files(2, 100); return w }(), Point: "finish decided", Hit: 1}, 0) {
		t.Fatal("it was not killed")
	}
	state(commit.RunFinished, commit.RunDecided)
	if out, err := commit.Clean(ctx, store, true); err != nil || len(out) != 0 {
		t.Errorf("a decided run was cleaned: %+v, %v", out, err)
	}
}
