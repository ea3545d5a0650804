package relational

import (
	"bytes"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// partition merges the rows of a range of keys from all runs.
type partition struct {
	layout *layout
	runs   []run
	lo, hi []byte
}

var _ dataset.Partition = (*partition)(nil)

// partitionsASlot is how many partitions there are for each slot: several, so that uneven ones even out.
const partitionsASlot = 4

// plan divides the keys of all runs into ranges of about as many rows each. Rows that fill but a few blocks stay together.
func plan(l *layout, rt dataset.Runtime, runs []run) []dataset.Partition {
	type sample struct {
		key  []byte
		rows int64
	}
	var samples []sample
	rows, size := int64(0), int64(0)
	for _, r := range runs {
		rows += r.rows()
		size += r.bytes()
		r.samples(func(key []byte, n int64) { samples = append(samples, sample{key, n}) })
	}
	if rows == 0 {
		return nil
	}
	n := min(int64(rt.Parallel()*partitionsASlot), max(size/rt.BlockBytes(), rows/int64(rt.BlockRows())))
	slices.SortFunc(samples, func(a, b sample) int { return bytes.Compare(a.key, b.key) })
	parts := []dataset.Partition{}
	p := &partition{layout: l, runs: runs}
	seen, cut := int64(0), int64(1)
	for _, s := range samples {
		if cut < n && seen >= rows*cut/n && bytes.Compare(s.key, p.lo) > 0 {
			p.hi = s.key
			parts = append(parts, p)
			p = &partition{layout: l, runs: runs, lo: s.key}
			for cut < n && seen >= rows*cut/n {
				cut++
			}
		}
		seen += s.rows
	}
	return append(parts, p)
}

// Run implements dataset.Partition.
func (p *partition) Run(ctx context.Context, rt dataset.Runtime, emit dataset.Emit) error {
	need := int64(0)
	for _, r := range p.runs {
		need += r.readBytes()
	}
	if need > 0 {
		release, err := rt.Reserve(ctx, need)
		if err != nil {
			return err
		}
		defer release()
	}
	frames := block.NewAllocator(block.NewPool(need), nil) // what was reserved, used again from frame to frame
	cursors := make([]cursor, len(p.runs))
	for i, r := range p.runs {
		cursors[i] = r.cursor(frames, p.lo, p.hi)
	}
	m, err := newMerger(cursors)
	defer m.close()
	if err != nil {
		return err
	}
	return m.drain(ctx, rt.Allocator(), rt.BlockRows(), rt.BlockBytes(), func(rec arrow.RecordBatch) error {
		return emit(p.strip(rec))
	})
}

// strip makes a block without the tie column of a record, which it takes over. The engine gives its rows their identity.
func (p *partition) strip(rec arrow.RecordBatch) *block.Block {
	defer rec.Release()
	return block.New(block.FromColumns(p.layout.out, rec.Columns()[:p.layout.out.NumFields()], int(rec.NumRows())), block.Identity{})
}

// Close implements dataset.Partition; the runs belong to the instances that made them.
func (p *partition) Close() error {
	p.runs = nil
	return nil
}
