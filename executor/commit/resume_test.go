package commit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
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
	if !runChild(t, childJob{World: w, Point: "generation committed", Hit: hit}, 0) {
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
		if !runChild(t, childJob{World: w, Point: "generation committed", Hit: hit}, 0) {
			if hit > 1 { // generations may be committed together
				continue
			}
			t.Fatal("the run ended before it was killed")
		}
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
	if !runChild(t, childJob{World: w, Point: "parts durable", Hit: 2}, 0) {
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
	if !runChild(t, childJob{World: w, Point: "result joined", Hit: 1}, 0) {
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

// TestCancelledListing: a listing that ends because it was cancelled is not complete, though the source says nothing of it.
func TestCancelledListing(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(5, 200), Keep: 10, PartBytes: 3000}
	for attempt := range 2 {
		m, _, err := commit.Prepare(t.Context(), config(t, w))
		if err != nil {
			t.Fatal(err)
		}
		feed, err := commit.NewFeed(0, []*commit.Manager{m}, false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		splits, last := 0, error(nil)
		for s, err := range feed.Splits(ctx, quietSource{rowSource{w}}) {
			if last = err; err != nil {
				break
			}
			if splits++; attempt == 0 && splits == 4 {
				tok := commit.NewToken([]block.Range{{File: s.Ranges[0].ID, First: s.Ranges[0].Start, End: s.Ranges[0].End}}, []*commit.Manager{m})
				tok.Settle() // something is committed, so that the run is kept
				cancel(dataset.ErrCanceled)
			}
		}
		cancel(nil)
		if attempt == 0 && !errors.Is(last, dataset.ErrCanceled) {
			t.Errorf("a cancelled listing ends with %v", last)
		}
		if attempt == 1 && splits != 9 {
			t.Errorf("%d splits are left, want 9 of 10", splits)
		}
		if err := errors.Join(m.Checkpoint(t.Context()), m.Abort(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

// quietSource ends its listing without a word when it is cancelled.
type quietSource struct{ rowSource }

func (s quietSource) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for sp, err := range s.rowSource.Splits(ctx, after) {
			if ctx.Err() != nil || !yield(sp, err) {
				return
			}
		}
	}
}
