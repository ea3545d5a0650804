package commit_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// BenchmarkSmallRun is the whole of a run on ten rows, from the lock to the mark: what committing adds to a one-liner.
func BenchmarkSmallRun(b *testing.B) {
	b.ReportAllocs()
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		w := world{Path: fmt.Sprintf("%s/%d.txt", dir, n), Files: files(10, 1), Keep: 10}
		if _, _, err := w.run(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite is the bookkeeping of one block with a token of its own: bind, write, drain.
func BenchmarkWrite(b *testing.B) {
	w := world{Path: b.TempDir() + "/out/"}
	cfg, err := w.config()
	if err != nil {
		b.Fatal(err)
	}
	cfg.Sink = nullTarget{cfg.Sink.(dataset.Target)}
	m, _, err := commit.Prepare(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	rt := &connectortest.Runtime{}
	s := dataset.Split{Ranges: []dataset.SplitRange{{File: files(1, 1)[0].ref(), End: 1 << 60}}}
	if err := m.Split(b.Context(), 0, &s); err != nil {
		b.Fatal(err)
	}
	col := array.NewNull(100)
	rec := block.FromColumns(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.Null}}, nil), []arrow.Array{col}, 100)
	managers := []*commit.Manager{m}
	at := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		t := commit.NewToken([]block.Range{{File: s.Ranges[0].ID, First: at, End: at + 100}}, managers)
		rec.Retain()
		blk := block.New(rec, block.FromRuns(block.Run{File: s.Ranges[0].ID, Token: t, First: at, N: 100, Stride: 1}))
		t.Settle()
		if err := m.Write(b.Context(), rt, 0, blk); err != nil {
			b.Fatal(err)
		}
		blk.Release()
		at += 100
	}
	b.StopTimer()
	if err := m.Abort(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkJournal is the journal's cost of a split of one small file.
func BenchmarkJournal(b *testing.B) {
	w := world{Path: b.TempDir() + "/out/"}
	cfg, err := w.config()
	if err != nil {
		b.Fatal(err)
	}
	m, _, err := commit.Prepare(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = fmt.Sprintf("/data/photos/2026/IMG_%08d.jpg", i)
	}
	ref := files(1, 1)[0].ref()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		ref.Path = paths[i%1000]
		i++
		s := dataset.Split{Ranges: []dataset.SplitRange{{File: ref, End: 1}}}
		if err := m.Split(b.Context(), 0, &s); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := m.Abort(b.Context()); err != nil {
		b.Fatal(err)
	}
}
