package commit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// storeOf is the state storage of a world's target.
func storeOf(t *testing.T, w world) dataset.Storage {
	t.Helper()
	sink, err := w.sink()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sink.(dataset.Target).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// committedIn is how many positions the unfinished runs on a target have committed.
func committedIn(t *testing.T, w world) (n int64) {
	t.Helper()
	logs, err := commit.OpenLogs(t.Context(), storeOf(t, w))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range logs {
		for _, s := range l.Spans {
			n += int64(s.End - s.First)
		}
	}
	return n
}

// unfinishedWorld runs w in a child that dies at its hit-th commit.
func unfinishedWorld(t *testing.T, w world, hit int64) {
	t.Helper()
	if !runChild(t, childJob{w, "generation committed", hit}, 0) {
		t.Fatal("the run ended before it was killed")
	}
}

func inputRows(w world) (n int64) {
	for _, f := range w.Files {
		n += int64(f.Rows)
	}
	return n
}

// TestResumeReadsTheRest: what was committed is not read again.
func TestResumeReadsTheRest(t *testing.T) {
	for hit := int64(1); hit < 8; hit += 2 {
		w := world{Path: quickDir(t) + "/out/", Files: files(8, 400), Keep: 7, PartBytes: 3000, Ordered: true}
		unfinishedWorld(t, w, hit)
		had := committedIn(t, w)
		if had == 0 {
			t.Fatal("nothing was committed")
		}
		w.reads, w.Seed = &atomic.Int64{}, 9
		d, r := mustRun(t, w)
		if d.Kind != commit.Resume {
			t.Errorf("decision %q, want resume", d.Kind)
		}
		if got, want := w.reads.Load(), inputRows(w)-had; got != want {
			t.Errorf("%d rows were read after the crash, want %d", got, want)
		}
		sameRows(t, allRows(t, w.Path), w.expected())
		if int(r.Rows) != len(w.expected()) {
			t.Errorf("reported %d rows, want %d", r.Rows, len(w.expected()))
		}
		if got := allRows(t, w.Path); !slices.IsSorted(got) {
			t.Error("the parts do not go on in order")
		}
		noStaged(t, w.Path)
		if d, _ := mustRun(t, w); d.Kind != commit.Complete {
			t.Errorf("then %q, want complete", d.Kind)
		}
	}
}

// TestResumeListing: the journal replaces the listing; files that were listed and not read come from it, the rest from behind its end.
func TestResumeListing(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(8, 400), Keep: 10, PartBytes: 3000, Ordered: true}
	unfinishedWorld(t, w, 2)
	m, d, err := commit.Prepare(t.Context(), config(t, w))
	if err != nil || d.Kind != commit.Resume {
		t.Fatal(d.Kind, err)
	}
	feed, err := commit.NewFeed(0, []*commit.Manager{m}, false)
	if err != nil {
		t.Fatal(err)
	}
	var after dataset.Cursor
	src := spySource{rowSource{w}, &after}
	seen := map[string]bool{}
	for s, err := range feed.Splits(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range s.Ranges {
			key := fmt.Sprint(r.File.Path, r.Start)
			if seen[key] {
				t.Errorf("%s comes twice", key)
			}
			seen[key] = true
			if want := uint64(slices.IndexFunc(w.Files, func(f inputFile) bool { return f.Path == r.File.Path })); r.ID.Ordinal != want {
				t.Errorf("%s has ordinal %d, want %d", r.File.Path, r.ID.Ordinal, want)
			}
		}
	}
	if after.Path == "" || after.End == 0 {
		t.Errorf("the listing began at %+v, want behind the journal", after)
	}
	if err := m.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// spySource notes where its listing begins.
type spySource struct {
	rowSource
	after *dataset.Cursor
}

func (s spySource) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	*s.after = after
	return s.rowSource.Splits(ctx, after)
}

// TestUnfinishedOfAnother: an unfinished run that has committed rows is not thrown away by another command.
func TestUnfinishedOfAnother(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 2000, Plan: "first"}
	unfinishedWorld(t, w, 2)
	other := w
	other.Plan = "second"
	refused(t, other, "unfinished run", `was "first", is "second"`, "--overwrite")
	refused(t, func() world { w := other; w.Target = dataset.TargetAppend; return w }(), "unfinished run", `was "first", is "second"`)
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), w.expected())

	grow := w
	grow.Files, grow.Target, grow.Path = files(9, 300)[6:], dataset.TargetAppend, w.Path
	unfinishedWorld(t, grow, 1)
	refused(t, w, "unfinished run", "with --append", "without")
	mustRun(t, grow)
	want := append(w.expected(), grow.expected()...)
	slicesSort(want)
	sameRows(t, allRows(t, w.Path), want)

	replace := w
	replace.Target, replace.Files = dataset.TargetOverwrite, files(4, 500)
	unfinishedWorld(t, replace, 2)
	refused(t, w, "unfinished run", "with --overwrite")
	if d, _ := mustRun(t, replace); d.Kind != commit.Resume {
		t.Errorf("an unfinished overwrite decided %q, want resume", d.Kind)
	}
	sameRows(t, allRows(t, w.Path), replace.expected())
	other.Target = dataset.TargetOverwrite
	unfinishedWorld(t, replace, 1)
	if d, _ := mustRun(t, other); d.Kind != commit.Overwrite || !strings.Contains(fmt.Sprint(d.Notes), "was discarded") {
		t.Errorf("another overwrite decided %q, %q", d.Kind, d.Notes)
	}
	sameRows(t, allRows(t, w.Path), other.expected())
}

// TestNothingCommitted: a run that had committed nothing starts over, and says so.
func TestNothingCommitted(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 2000, Deferred: true}
	if !runChild(t, childJob{w, "parts durable", 2}, 0) {
		t.Fatal("it was not killed")
	}
	d, _ := mustRun(t, w)
	if d.Kind != commit.Fresh {
		t.Errorf("decision %q, want fresh", d.Kind)
	}
	sameRows(t, allRows(t, w.Path), w.expected())
	noStaged(t, w.Path)
}

// TestAllDurable: a run that died while it joined its parts reads nothing again.
func TestAllDurable(t *testing.T) {
	w := world{Path: quickDir(t) + "/out.txt", Files: files(6, 300), Keep: 7, PartBytes: 1 << 20, Deferred: true}
	if !runChild(t, childJob{w, "result joined", 1}, 0) {
		t.Fatal("it was not killed")
	}
	w.reads = &atomic.Int64{}
	mustRun(t, w)
	if n := w.reads.Load(); n != 0 {
		t.Errorf("%d rows were read again", n)
	}
	sameRows(t, allRows(t, w.Path), w.expected())
	noStaged(t, w.Path)
}

// TestLostParts: committed parts that are gone are noticed before anything runs.
func TestLostParts(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 2000}
	unfinishedWorld(t, w, 3)
	parts, err := filepath.Glob(filepath.Join(stateOf(w.Path), "*", "stage", "0000000000-*"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	if err := os.Truncate(parts[0], 10); err != nil {
		t.Fatal(err)
	}
	refused(t, w, "1 are gone or damaged", "part-0000000000", "--overwrite")
	w.Target = dataset.TargetOverwrite
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), w.expected())
}

// TestChangedSince: a file that is another version than the one in the journal, where the listing goes on, is an error that names it.
func TestChangedSince(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(3, 3000), Keep: 7, PartBytes: 2000, Ordered: true}
	unfinishedWorld(t, w, 1)
	m, _, err := commit.Prepare(t.Context(), config(t, w))
	if err != nil {
		t.Fatal(err)
	}
	feed, err := commit.NewFeed(0, []*commit.Manager{m}, false)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	var found error
	changed := w
	changed.Files = slices.Clone(w.Files)
	for i := range changed.Files {
		changed.Files[i].Stamp += 100
	}
	for s, err := range feed.Splits(t.Context(), rowSource{changed}) {
		if err != nil {
			found = err
			break
		}
		last = s.Ranges[0].File.Path
	}
	if found != nil && (!strings.Contains(found.Error(), "changed since the run began") || !strings.Contains(found.Error(), "in/")) {
		t.Errorf("error %v", found)
	}
	if found == nil && last != w.Files[2].Path {
		t.Errorf("the change went unnoticed, the last split was of %s", last)
	}
	if err := m.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestChaos kills a run at every crash point, again and again while it goes on, each time with other lanes and blocks, before one is
// left to end. With SLUICE_CHAOS set each point is passed at least fifty times.
func TestChaos(t *testing.T) {
	least := 2
	if os.Getenv("SLUICE_CHAOS") != "" {
		least = 50
	}
	for i, point := range append(slices.Clone(crashPoints), "run resumed") {
		t.Run(point, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			here, kills := 0, 0
			for round := 0; here < least && round < 20*least; round++ {
				for name, w := range chaosWorlds(t) {
					h, k := disturb(t, r, name, w, point)
					here, kills = here+h, kills+k
				}
			}
			if here < least {
				t.Errorf("%d kills here, want %d", here, least)
			}
			t.Logf("%d kills here, %d in all", here, kills)
		})
	}
}

func chaosWorlds(t *testing.T) map[string]world {
	dir := quickDir(t)
	out := crashWorlds(dir)
	out["ordered"] = world{Path: filepath.Join(dir, "f") + "/", Files: files(4, 300), Keep: 7, PartBytes: 1500, Ordered: true}
	out["joined"] = world{Path: filepath.Join(dir, "g.txt"), Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["append"] = world{Path: filepath.Join(dir, "h") + "/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	out["append one"] = world{Path: filepath.Join(dir, "i.txt"), Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["overwrite"] = world{Path: filepath.Join(dir, "j") + "/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	return out
}

// disturb kills runs of w, at the point and at others, and then lets one end. It returns how many kills there were, here and in all.
func disturb(t *testing.T, r *rand.Rand, name string, w world, point string) (here, kills int) {
	t.Helper()
	want := w.expected()
	if strings.HasPrefix(name, "append") || name == "overwrite" {
		mustRun(t, w)
		w.Files, w.Target = files(6, 200)[3:], dataset.TargetMode(strings.Fields(name)[0])
		want = w.expected()
		if w.Target == dataset.TargetAppend {
			want = append(want, world{Files: files(3, 150), Keep: 7}.expected()...)
			slicesSort(want)
		}
	}
	if name == "joined" { // committed in pieces, joined in the end
		w.Ordered, w.Lanes = true, 1
	}
	lanes := w.Lanes
	for try := range 2 + r.IntN(2) {
		if w.Seed = r.Uint64(); lanes > 1 {
			w.Lanes = 1 + r.IntN(3)
		}
		job := childJob{w, point, 1 + r.Int64N(3)}
		if try > 0 && r.IntN(2) == 0 {
			job.Point = crashPoints[r.IntN(len(crashPoints))]
		}
		if point == "run resumed" && try == 0 {
			job.Point = "generation committed"
		}
		if runChild(t, job, 0) {
			kills++
			if job.Point == point {
				here++
			}
		} else if w.Target == dataset.TargetOverwrite {
			continue // it is run again
		}
		if _, err := visible(w.Path); err != nil {
			t.Fatalf("%s: after kill %d: %v", name, kills, err)
		}
		checkLogs(t, w)
	}
	w.Lanes = min(lanes, 1)
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), want)
	if w.Ordered && !slices.IsSorted(allRows(t, w.Path)) {
		t.Fatalf("%s: the rows are out of order after %d kills", name, kills)
	}
	noStaged(t, w.Path)
	return here, kills
}

// TestExactAfterKills: an exact run that is killed gives the same bytes under the same numbers.
func TestExactAfterKills(t *testing.T) {
	for _, by := range []bool{false, true} {
		calm := world{Path: quickDir(t) + "/out/", Files: files(6, 1200), Keep: 7, PartBytes: 3000, Exact: true, By: by, OpenParts: 3}
		mustRun(t, calm)
		want := exactParts(t, calm)
		kills := 0
		for hit := range int64(5) {
			w := calm
			w.Path, w.Seed = quickDir(t)+"/out/", uint64(hit)
			for range 3 {
				w.Seed++
				if runChild(t, childJob{w, "generation committed", 1 + hit}, 0) {
					kills++
				}
			}
			mustRun(t, w)
			if got := exactParts(t, w); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("by %t, hit %d: %d files that differ from the %d of an undisturbed run", by, hit, len(got), len(want))
			}
		}
		if kills == 0 {
			t.Error("no run was killed")
		}
	}
}

// exactParts are the rows of all files, by folder and number.
func exactParts(t *testing.T, w world) map[string]string {
	t.Helper()
	all, err := visible(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for p, rows := range all {
		rel, err := filepath.Rel(w.Path, p)
		if err != nil {
			t.Fatal(err)
		}
		dir, base := filepath.Split(rel)
		out[dir+base[:len("part-0000000000")]] = strings.Join(rows, "\n")
	}
	return out
}

// TestFaultsWhileResuming fails every single operation of the attempt that goes on with an unfinished run, in every way.
func TestFaultsWhileResuming(t *testing.T) {
	from := quickDir(t)
	w := world{Path: from + "/out/", Files: files(4, 120), Keep: 7, PartBytes: 900, Ordered: true}
	unfinishedWorld(t, w, 1)
	want := w.expected()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			struck, last := 0, false
			for nth := int64(1); !last; nth += 2 {
				dir := quickDir(t)
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				x := w
				d := &faultDisk{f: f, nth: nth}
				x.Path, x.disk = dir+"/out/", d
				_, _, err := x.run(t.Context())
				last = d.count.Load() < nth
				if err != nil {
					struck++
					clearError(t, f, err)
				} else {
					sameRows(t, allRows(t, x.Path), want)
				}
				if _, verr := visible(x.Path); verr != nil {
					t.Fatalf("operation %d (%v): %v", nth, err, verr)
				}
				x.disk = &faultDisk{}
				if _, _, rerr := x.run(t.Context()); rerr != nil {
					t.Fatalf("operation %d (%v): the next run: %v", nth, err, rerr)
				}
				sameRows(t, allRows(t, x.Path), want)
				noStaged(t, x.Path)
			}
			if struck == 0 && f.name != "lost rename" {
				t.Error("the fault struck nothing")
			}
		})
	}
}

// TestRunsAndClean: what a target knows of its runs, and what cleaning up takes away.
func TestRunsAndClean(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 2000}
	ctx, store := t.Context(), storeOf(t, w)
	if runs, err := commit.Runs(ctx, store); err != nil || len(runs) != 0 {
		t.Fatal(runs, err)
	}
	state := func(want ...commit.RunState) []commit.RunInfo {
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
	if !runChild(t, childJob{w, "parts durable", 1}, 0) {
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
	if r := state(commit.RunFinished)[0]; r.Manifest != 1 || int(r.Rows) != len(w.expected()) || r.Finished.IsZero() {
		t.Errorf("finished: %+v", r)
	}
	if !runChild(t, childJob{func() world { w := w; w.Target, w.Files = dataset.TargetAppend, files(2, 100); return w }(), "finish decided", 1}, 0) {
		t.Fatal("it was not killed")
	}
	state(commit.RunFinished, commit.RunDecided)
	if out, err := commit.Clean(ctx, store, true); err != nil || len(out) != 0 {
		t.Errorf("a decided run was cleaned: %+v, %v", out, err)
	}
}
