package commit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// TestCrossedBlocks: blocks whose tokens belong to different generations are divided, from many lanes at once.
func TestCrossedBlocks(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Lanes: 4}
	cfg := config(t, w)
	b := newBench(t, cfg)
	m := b.managers[0]
	var wg sync.WaitGroup
	const per = 300
	for lane := range 4 {
		wg.Go(func() {
			var kept *block.Block
			for i := range per {
				blk := b.block(uint64((lane*per+i)*10), 10)
				tail := blk.Slice(5, 5)
				head := blk.Slice(0, 5)
				blk.Release()
				out := head
				if kept != nil { // the tail of the one before and the head of this one in one block
					out = joinBlocks(kept, head)
				}
				if err := m.Write(t.Context(), b.rt, lane, out); err != nil {
					t.Error(err)
				}
				out.Release()
				kept = tail
				if i%7 == lane {
					m.Tick(time.Now().Add(time.Hour))
				}
			}
			if err := m.Write(t.Context(), b.rt, lane, kept); err != nil {
				t.Error(err)
			}
			kept.Release()
		})
	}
	wg.Wait()
	r, err := m.Finish(t.Context(), b.rt)
	if err != nil || r.Rows != 4*per*10 || r.Parts < 20 {
		t.Fatalf("%+v, %v", r, err)
	}
	seen := map[string]bool{}
	for _, row := range allRows(t, w.Path) {
		if seen[row] {
			t.Fatalf("row %s twice", row)
		}
		seen[row] = true
	}
}

// joinBlocks joins two blocks and releases them.
func joinBlocks(a, b *block.Block) *block.Block {
	cols := make([]arrow.Array, a.NumCols())
	for i := range cols {
		cols[i], _ = array.Concatenate([]arrow.Array{a.Column(i), b.Column(i)}, memory.DefaultAllocator)
	}
	out := block.New(block.FromColumns(schema, cols, a.NumRows()+b.NumRows()), block.Concat(a.Identity(), b.Identity()))
	a.Release()
	b.Release()
	return out
}

// TestCrossedClasses: in an exact run, one block holds rows from behind a barrier and others; each kind commits by its own rule.
func TestCrossedClasses(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Exact: true}
	cfg := config(t, w)
	cfg.Deferred = func(source uint32) bool { return source == 9 }
	b := newBench(t, cfg)
	m := b.managers[0]
	direct := b.id
	var held []*block.Block
	for i := range uint64(6) {
		b.id = direct
		d := b.block(i*10, 10)
		b.id = &block.File{Source: 9, Ordinal: 0}
		held = append(held, joinBlocks(d, b.block(i*10, 10)))
	}
	for _, blk := range held {
		b.write(0, blk)
		blk.Release()
	}
	m.CloseGenerations()
	if err := m.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := logged(t, w); len(l.Parts) != 1 || l.Parts[0].Rows != 60 || len(l.Spans) != 1 || l.Spans[0].End != 60 {
		t.Errorf("committed before the end: %+v", l)
	}
	if r, err := m.Finish(t.Context(), b.rt); err != nil || r.Rows != 120 || r.Parts != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestManyChildren: a part of an exact run ends between two parents, not between children of one, and finding the place takes no
// time even if a parent has very many.
func TestManyChildren(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Exact: true, PartBytes: 4000}
	b := newBench(t, config(t, w))
	parent := b.block(0, 3)
	const each = 50_000
	parents := make([]uint32, 3*each)
	ids, keys := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range parents {
		parents[i] = uint32(i / each)
		ids.Append(string(rune('a' + i/each)))
		keys.AppendNull()
	}
	children := parent.FlatMap(block.FromColumns(schema, []arrow.Array{ids.NewArray(), keys.NewArray()}, len(parents)), parents)
	parent.Release()
	b.write(0, children)
	children.Release()
	r, err := b.managers[0].Finish(t.Context(), b.rt)
	if err != nil || r.Rows != 3*each || r.Parts != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	all, err := visible(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	for p, rows := range all {
		if len(rows) != each || rows[0] != rows[each-1] {
			t.Errorf("%s has %d rows, from %s to %s", p, len(rows), rows[0], rows[len(rows)-1])
		}
	}
}
