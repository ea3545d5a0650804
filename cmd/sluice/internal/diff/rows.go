package diff

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// mostAlike is how many rows of one key are held.
const mostAlike = 100_000

// Run compares the rows and calls each with every one that differs, in the order of the key. A row that cannot be read fails the comparison
// unless opts say otherwise.
func (c *Comparison) Run(ctx context.Context, runner dataset.Runner, opts dataset.Options, each func(Row) error) (counts Counts, report *dataset.Report, err error) {
	if len(c.Names) == 0 {
		return Counts{}, &dataset.Report{}, nil
	}
	opts.Ordered = true
	plan, err := dataset.NewPlan(opts, c.sorted.To(nil))
	if err != nil {
		return Counts{}, nil, err
	}
	w := &walker{c: c, each: each}
	defer w.drop()
	for b, err := range runner.Run(ctx, plan) {
		if err != nil {
			return w.counts, plan.Report, err
		}
		if err := w.add(b); err != nil {
			return w.counts, plan.Report, err
		}
	}
	return w.counts, plan.Report, w.end()
}

// walker goes through the sorted rows and holds those of one key.
type walker struct {
	c      *Comparison
	each   func(Row) error
	counts Counts
	sides  [2][]held
}

// held is a row with the block that it is in.
type held struct {
	b   *block.Block
	row int
}

func (h held) cells() Cells { return Cells{h.b.Record(), h.row} }

// add takes the rows of a block, which it borrows.
func (w *walker) add(b *block.Block) error {
	side, ok := b.ColumnByName(w.c.mark).(*array.Int64)
	if !ok {
		return dataset.Usagef("compare rows: the column %q that marks the side is lost", w.c.mark)
	}
	for row := range b.NumRows() {
		if first, ok := w.first(); ok && !w.sameKey(first, held{b, row}) {
			if err := w.end(); err != nil {
				return err
			}
		}
		which := min(1, max(0, side.Value(row)))
		if len(w.sides[which]) == mostAlike {
			return dataset.Usagef("compare rows: more than %d rows have one key; name more columns with --key", mostAlike)
		}
		w.sides[which] = append(w.sides[which], held{b.Retain(), row})
		if which == 0 {
			w.counts.A++
		} else {
			w.counts.B++
		}
	}
	return nil
}

func (w *walker) first() (held, bool) {
	for _, s := range w.sides {
		if len(s) > 0 {
			return s[0], true
		}
	}
	return held{}, false
}

func (w *walker) sameKey(x, y held) bool {
	for i := range w.c.Key {
		if !equal(x.b.Column(i), x.row, y.b.Column(i), y.row) {
			return false
		}
	}
	return true
}

// end compares the rows of one key.
func (w *walker) end() error {
	a, b := w.sides[0], w.sides[1]
	defer w.drop()
	if len(a) > 1 || len(b) > 1 {
		w.counts.Repeated++
		a, b = w.pairEqual(a, b)
	}
	for i := range max(len(a), len(b)) {
		row := Row{Kind: Changed}
		switch {
		case i >= len(b):
			row.Kind, row.A = Removed, a[i].cells()
			w.counts.Removed++
		case i >= len(a):
			row.Kind, row.B = Added, b[i].cells()
			w.counts.Added++
		default:
			row.A, row.B = a[i].cells(), b[i].cells()
			if row.Columns = w.differing(a[i], b[i]); len(row.Columns) == 0 {
				w.counts.Equal++
				continue
			}
			w.counts.Changed++
		}
		if err := w.each(row); err != nil {
			return err
		}
	}
	return nil
}

// pairEqual takes rows that are equal out of both lists. Of very many alike, only those in the same order are looked for.
func (w *walker) pairEqual(a, b []held) (restA, restB []held) {
	const few = 1000
	taken := make([]bool, len(b))
	for i, x := range a {
		found := -1
		from, to := 0, len(b)
		if len(a) > few || len(b) > few {
			from, to = min(i, len(b)), min(i+1, len(b))
		}
		for k := from; k < to; k++ {
			if !taken[k] && len(w.differing(x, b[k])) == 0 {
				found = k
				break
			}
		}
		if found < 0 {
			restA = append(restA, x)
			continue
		}
		taken[found] = true
		w.counts.Equal++
	}
	for k, y := range b {
		if !taken[k] {
			restB = append(restB, y)
		}
	}
	return restA, restB
}

// differing lists the columns whose values differ.
func (w *walker) differing(x, y held) (out []int) {
	for i := range w.c.Names {
		if !equal(x.b.Column(i), x.row, y.b.Column(i), y.row) {
			out = append(out, i)
		}
	}
	return out
}

func (w *walker) drop() {
	for i, s := range w.sides {
		for _, h := range s {
			h.b.Release()
		}
		w.sides[i] = s[:0]
	}
}

// equal compares two values. NaN equals NaN, and null equals null.
func equal(a arrow.Array, i int, b arrow.Array, k int) bool {
	if a.IsNull(i) || b.IsNull(k) {
		return a.IsNull(i) && b.IsNull(k)
	}
	switch x := a.(type) {
	case *array.Float64:
		if y, ok := b.(*array.Float64); ok {
			return x.Value(i) == y.Value(k) || math.IsNaN(x.Value(i)) && math.IsNaN(y.Value(k))
		}
	case *array.Float32:
		if y, ok := b.(*array.Float32); ok {
			return x.Value(i) == y.Value(k) || x.Value(i) != x.Value(i) && y.Value(k) != y.Value(k) //nolint:gocritic // NaN
		}
	case *array.Int64:
		if y, ok := b.(*array.Int64); ok {
			return x.Value(i) == y.Value(k)
		}
	case *array.String:
		if y, ok := b.(*array.String); ok {
			return x.Value(i) == y.Value(k)
		}
	}
	return array.SliceEqual(a, int64(i), int64(i+1), b, int64(k), int64(k+1))
}
