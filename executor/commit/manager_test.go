package commit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// bench is a manager driven by hand.
type bench struct {
	t        *testing.T
	rt       dataset.Runtime
	managers []*commit.Manager
	id       *block.File
}

func newBench(t *testing.T, cfgs ...commit.Config) *bench {
	t.Helper()
	b := &bench{t: t, rt: connectortest.NewRuntime(t)}
	s := dataset.Split{Ranges: []dataset.SplitRange{{File: files(1, 1)[0].ref(), End: 1 << 40}}}
	for i, cfg := range cfgs {
		cfg.Index = i
		m, _, err := commit.Prepare(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Split(t.Context(), 0, &s); err != nil {
			t.Fatal(err)
		}
		b.managers = append(b.managers, m)
	}
	b.id = s.Ranges[0].ID
	return b
}

// block makes a block of n rows from position first on, with a token of its own.
func (b *bench) block(first uint64, n int) *block.Block {
	t := commit.NewToken([]block.Range{{File: b.id, First: first, End: first + uint64(n)}}, b.managers)
	defer t.Settle()
	ids, keys := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range n {
		ids.Append(fmt.Sprint(first + uint64(i)))
		keys.Append("k")
	}
	rec := block.FromColumns(schema, []arrow.Array{ids.NewArray(), keys.NewArray()}, n)
	return block.New(rec, block.FromRuns(block.Run{File: b.id, Token: t, First: first, N: uint32(n), Stride: 1}))
}

func (b *bench) write(m int, blk *block.Block) {
	b.t.Helper()
	if err := b.managers[m].Write(b.t.Context(), b.rt, 0, blk); err != nil {
		b.t.Fatal(err)
	}
}

func config(t *testing.T, w world) commit.Config {
	t.Helper()
	cfg, err := w.config()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func logged(t *testing.T, w world) commit.Logged {
	t.Helper()
	sink, err := w.sink()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sink.(dataset.Target).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	logs, err := commit.OpenLogs(t.Context(), store)
	if err != nil || len(logs) != 1 {
		t.Fatal(len(logs), err)
	}
	for _, l := range logs {
		return l
	}
	return commit.Logged{}
}

// TestCommitEvery: after its time a generation takes no new ranges and commits when its own have drained, while the rest goes on.
func TestCommitEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{Path: t.TempDir() + "/out/"}
		cfg := config(t, w)
		cfg.Options.CommitEvery = time.Minute
		b := newBench(t, cfg)
		m := b.managers[0]
		early, late := b.block(0, 5), b.block(5, 5)
		half := late.Slice(0, 2)
		b.write(0, early)
		b.write(0, half)
		m.Tick(time.Now().Add(59 * time.Second))
		m.Tick(time.Now().Add(-time.Hour)) // a clock that jumps back closes nothing
		early.Release()
		synctest.Wait()
		if l := logged(t, w); len(l.Parts) > 0 {
			t.Error("committed before its time")
		}
		m.Tick(time.Now().Add(time.Minute))
		next := b.block(10, 5) // a new range: it binds to the next generation
		b.write(0, next)
		rest := late.Slice(2, 3) // of a bound range: it still goes to the first
		b.write(0, rest)
		synctest.Wait()
		if l := logged(t, w); len(l.Parts) > 0 {
			t.Error("committed while a bound range was under way")
		}
		for _, x := range []*block.Block{late, half, rest} {
			x.Release()
		}
		synctest.Wait()
		l := logged(t, w)
		if len(l.Parts) != 1 || l.Parts[0].Rows != 10 || len(l.Spans) != 1 || l.Spans[0] != (commit.LoggedSpan{First: 0, End: 10}) {
			t.Errorf("committed %+v", l)
		}
		next.Release()
		if _, err := m.Finish(t.Context(), b.rt); err != nil {
			t.Fatal(err)
		}
	})
}

// TestNoRows: a range none of whose rows arrives is recorded as done with the current generation.
func TestNoRows(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/"}
	b := newBench(t, config(t, w))
	b.block(0, 5).Release()
	if err := b.managers[0].Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := logged(t, w)
	if len(l.Parts) != 0 || len(l.Spans) != 1 || l.Spans[0] != (commit.LoggedSpan{First: 0, End: 5}) {
		t.Errorf("logged %+v", l)
	}
	if err := b.managers[0].Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestUnderWay: a run cannot finish while a range is under way.
func TestUnderWay(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/"}
	b := newBench(t, config(t, w))
	blk := b.block(0, 5)
	b.write(0, blk)
	if _, err := b.managers[0].Finish(t.Context(), b.rt); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("finish: %v", err)
	}
	blk.Release()
	if err := b.managers[0].Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := visible(w.Path); err != nil || len(all) > 0 {
		t.Error(all, err)
	}
}

// TestSeveralSinks: each target has ordinals of its own, whatever the identities of the run are.
func TestSeveralSinks(t *testing.T) {
	first, second := world{Path: t.TempDir() + "/a/"}, world{Path: t.TempDir() + "/b/", Files: files(3, 10), Keep: 10}
	mustRun(t, second) // the second target has three files in its chain
	second.Target, second.Plan = dataset.TargetAppend, "more"
	one, two := config(t, first), config(t, second)
	b := newBench(t, one, two)
	blk := b.block(0, 8)
	b.write(0, blk)
	b.write(1, blk)
	blk.Release()
	b.block(8, 2).Release()
	for _, m := range b.managers {
		if err := m.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if l := logged(t, first); len(l.Spans) == 0 || l.Spans[0].Ordinal != 0 || l.Paths[0] == "" {
		t.Errorf("first: %+v", l)
	}
	if l := logged(t, second); len(l.Spans) == 0 || l.Spans[0].Ordinal != 3 || l.Paths[3] == "" {
		t.Errorf("second: %+v", l)
	}
	for i, m := range b.managers {
		if r, err := m.Finish(t.Context(), b.rt); err != nil || r.Rows != 8 {
			t.Errorf("sink %d: %+v, %v", i, r, err)
		}
	}
	if n := len(allRows(t, second.Path)); n != 8+33 {
		t.Errorf("%d rows after the append", n)
	}
}

// TestSinksOfDifferentSources: of two sinks one reads a source that the other does not.
func TestSinksOfDifferentSources(t *testing.T) {
	one, two := config(t, world{Path: t.TempDir() + "/a/"}), config(t, world{Path: t.TempDir() + "/b/"})
	two.Index = 1
	a, _, err := commit.Prepare(t.Context(), one)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := commit.Prepare(t.Context(), two)
	if err != nil {
		t.Fatal(err)
	}
	both := dataset.Split{Ranges: []dataset.SplitRange{{File: files(1, 1)[0].ref(), End: 1}}}
	only := dataset.Split{Ranges: []dataset.SplitRange{{File: files(2, 1)[1].ref(), End: 1}}}
	if err := errors.Join(a.Split(t.Context(), 0, &both), b.Split(t.Context(), 0, &both), b.Split(t.Context(), 1, &only)); err != nil {
		t.Error(err)
	}
	if both.Ranges[0].ID.Source != 0 || only.Ranges[0].ID.Source != 1 {
		t.Errorf("identities %+v, %+v", both.Ranges[0].ID, only.Ranges[0].ID)
	}
	if err := b.Split(t.Context(), 0, &dataset.Split{Ranges: []dataset.SplitRange{{File: files(3, 1)[2].ref(), End: 1}}}); err == nil {
		t.Error("a source that is numbered twice is no error")
	}
	if err := errors.Join(a.Abort(t.Context()), b.Abort(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestDisorder: where the rows of a range come out of order in an exact run, its cuts would be wrong, so nothing commits before the
// end; what was committed before stays.
func TestDisorder(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Exact: true}
	b := newBench(t, config(t, w))
	early := b.block(0, 10)
	b.write(0, early)
	early.Release()
	b.managers[0].CloseGenerations()
	if err := b.managers[0].Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	blk := b.block(10, 10)
	tail, head := blk.Slice(5, 5), blk.Slice(0, 5)
	b.write(0, tail)
	b.write(0, head)
	for _, x := range []*block.Block{blk, tail, head} {
		x.Release()
	}
	if err := b.managers[0].Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := logged(t, w); len(l.Parts) != 1 || len(l.Spans) != 1 || l.Spans[0].End != 10 {
		t.Errorf("logged %+v", l)
	}
	if r, err := b.managers[0].Finish(t.Context(), b.rt); err != nil || r.Rows != 20 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestCheckpointKeeps: an interrupted run keeps what has drained, and the next one goes on with it.
func TestCheckpointKeeps(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 30), Keep: 7}
	b := newBench(t, config(t, w))
	done, under := b.block(0, 5), b.block(5, 5)
	b.write(0, done)
	done.Release()
	if err := b.managers[0].Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.write(0, under)
	if err := b.managers[0].Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	under.Release()
	if l := logged(t, w); len(l.Parts) != 1 || l.Parts[0].Rows != 5 {
		t.Errorf("kept %+v", l)
	}
	m, d, err := commit.Prepare(t.Context(), config(t, w))
	if err != nil || d.Kind != commit.Resume {
		t.Fatal(d, err)
	}
	feed, err := commit.NewFeed(0, []*commit.Manager{m}, false)
	if err != nil {
		t.Fatal(err)
	}
	for s, err := range feed.Splits(t.Context(), rowSource{w}) {
		if err != nil {
			t.Fatal(err)
		}
		if from := feed.Start(&s.Ranges[0]); from != 5 {
			t.Errorf("goes on at %d, want 5", from)
		}
		break
	}
	if r, err := m.Finish(t.Context(), b.rt); err != nil || r.Rows != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	noStaged(t, w.Path)
}

// badWriter fails or panics when the part ends.
type badTarget struct {
	dataset.Target
	panics bool
}

func (b badTarget) NewWriter(context.Context, dataset.Runtime, dataset.Part, *arrow.Schema) (dataset.Writer, error) {
	return &badWriter{panics: b.panics}, nil
}

type badWriter struct {
	nullWriter
	panics bool
}

var errBad = errors.New("the encoder is broken")

func (w *badWriter) Commit(context.Context) (dataset.Receipt, error) {
	if w.panics {
		panic(errBad)
	}
	return dataset.Receipt{}, errBad
}

// TestCommitterFails: a failure in the background is told at once and by every later call; nothing is published.
func TestCommitterFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		w := world{Path: t.TempDir() + "/out/"}
		cfg := config(t, w)
		cfg.Sink = badTarget{cfg.Sink.(dataset.Target), panics}
		told := make(chan error, 1)
		cfg.Failed = func(err error) { told <- err }
		b := newBench(t, cfg)
		m := b.managers[0]
		blk := b.block(0, 5)
		b.write(0, blk)
		blk.Release()
		m.Tick(time.Now().Add(time.Hour))
		if err := <-told; !errors.Is(err, errBad) {
			t.Errorf("told %v", err)
		}
		if err := m.Err(); !errors.Is(err, errBad) {
			t.Errorf("Err: %v", err)
		}
		blk = b.block(5, 1)
		if err := m.Write(t.Context(), b.rt, 0, blk); !errors.Is(err, errBad) {
			t.Errorf("Write: %v", err)
		}
		blk.Release()
		if _, err := m.Finish(t.Context(), b.rt); !errors.Is(err, errBad) {
			t.Errorf("Finish: %v", err)
		}
		if err := m.Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestBeforeCommit: what must be durable along with ranges is, and if it cannot be, nothing is committed.
func TestBeforeCommit(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/"}
	cfg := config(t, w)
	calls := 0
	cfg.BeforeCommit = func(context.Context) error {
		if calls++; calls > 1 {
			return errBad
		}
		return nil
	}
	b := newBench(t, cfg)
	for i := range 2 {
		blk := b.block(uint64(i*5), 5)
		b.write(0, blk)
		blk.Release()
		if err := b.managers[0].Checkpoint(t.Context()); (err != nil) != (i == 1) {
			t.Errorf("checkpoint %d: %v", i, err)
		}
	}
	if l := logged(t, w); len(l.Parts) != 1 {
		t.Errorf("%d parts are committed, want 1", len(l.Parts))
	}
	if err := b.managers[0].Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPlainSink: a stream gets its rows through the same calls.
func TestPlainSink(t *testing.T) {
	for _, n := range []int{0, 5} {
		var out bytes.Buffer
		cfg := config(t, world{Path: "unused.txt"})
		cfg.Sink, cfg.Plan, cfg.Inputs = file.NewStreamSink(&out, connectortest.TextFormat{}), nil, nil
		b := newBench(t, cfg)
		blk := b.block(0, n)
		b.write(0, blk)
		blk.Release()
		b.managers[0].Tick(time.Now())
		r, err := b.managers[0].Finish(t.Context(), b.rt)
		if err != nil || int(r.Rows) != n {
			t.Errorf("report %+v, %v", r, err)
		}
		if rows, err := connectortest.TextRows(out.Bytes()); err != nil || len(rows) != n {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		if err := b.managers[0].Abort(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestPrepareRefusesBadConfig(t *testing.T) {
	good := config(t, world{Path: filepath.Join(t.TempDir(), "out.txt")})
	for name, spoil := range map[string]func(*commit.Config){
		"no sink":    func(c *commit.Config) { c.Sink = nil },
		"no schema":  func(c *commit.Config) { c.Schema = nil },
		"bad run":    func(c *commit.Config) { c.Run = "../x" },
		"no lanes":   func(c *commit.Config) { c.Lanes = 0 },
		"many lanes": func(c *commit.Config) { c.Lanes, c.Options.Ordered, c.Options.SeedSet = 2, true, true },
	} {
		cfg := good
		spoil(&cfg)
		if _, _, err := commit.Prepare(t.Context(), cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDamagedState: manifests and logs that cannot be read are errors that say so, never a fresh start.
func TestDamagedState(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 20), Keep: 7}
	mustRun(t, w)
	manifest := filepath.Join(w.Path, "_sluice/manifest/00000000000000000001.json")
	whole, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"cut":    string(whole[:len(whole)/2]),
		"format": strings.Replace(string(whole), `"format": 1`, `"format": 99`, 1),
		"number": strings.Replace(string(whole), `"number": 1`, `"number": 7`, 1),
	} {
		if err := os.WriteFile(manifest, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), "read manifest 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
