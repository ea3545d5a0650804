package tables

import (
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// Gather cuts rows into batches whose ends depend on the rows alone, not on how they arrived: at MaxRows, or at the row that reaches
// MaxBytes. It holds slices of what it is given, which keep their whole buffers, so batches should be no bigger than a few blocks.
type Gather struct {
	Mem      memory.Allocator
	MaxRows  int64
	MaxBytes int64
	// Emit takes a whole batch, which it borrows. Its columns have no offsets and share no memory with the input.
	Emit func(arrow.RecordBatch) error

	held  []arrow.RecordBatch
	rows  int64
	bytes int64
}

// Add appends the rows of b, which it borrows.
func (g *Gather) Add(b arrow.RecordBatch) error {
	n := int(b.NumRows())
	for lo := 0; lo < n; {
		k, full := g.fit(b, lo, n)
		g.held = append(g.held, b.NewSlice(int64(lo), int64(lo+k)))
		g.bytes += BatchBytes(b, lo, lo+k)
		g.rows += int64(k)
		lo += k
		if full {
			if err := g.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fit returns how many rows of b from lo on go into the batch, and whether they fill it.
func (g *Gather) fit(b arrow.RecordBatch, lo, n int) (k int, full bool) {
	k = int(min(int64(n-lo), g.MaxRows-g.rows))
	left := g.MaxBytes - g.bytes
	if BatchBytes(b, lo, lo+k) >= left {
		k = 1 + sort.Search(k-1, func(i int) bool { return BatchBytes(b, lo, lo+i+1) >= left })
		return k, true
	}
	return k, g.rows+int64(k) == g.MaxRows
}

// Flush emits what is held, if anything.
func (g *Gather) Flush() error {
	if len(g.held) == 0 {
		return nil
	}
	defer g.Release()
	rec, err := block.MergeRecords(g.Mem, g.held)
	if err != nil {
		return err
	}
	defer rec.Release()
	return g.Emit(rec)
}

// Buffered is the size of the rows held.
func (g *Gather) Buffered() int64 { return g.bytes }

// Release lets go of what is held.
func (g *Gather) Release() {
	for _, r := range g.held {
		r.Release()
	}
	g.held, g.rows, g.bytes = g.held[:0], 0, 0
}
