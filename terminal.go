package sluice

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Blocks runs the dataset and yields its blocks, each valid until the next iteration unless retained. Leaving the loop cancels the
// run and waits for it. Blocks come as they are ready; WithOrdered gives them in source order.
func (d Dataset) Blocks(ctx context.Context, opts ...RunOption) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		c := d.s.run.with(opts)
		p, err := dataset.NewPlan(c.Options, d.d.To(nil))
		if err != nil {
			yield(nil, err)
			return
		}
		defer d.s.keep(c, p)
		for b, err := range d.s.local.Run(ctx, p) {
			if !yield(b, err) {
				return
			}
		}
	}
}

// Rows runs the dataset and yields its rows, which are copies. The function Rows fills structs instead, which is faster.
func (d Dataset) Rows(ctx context.Context, opts ...RunOption) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for b, err := range d.Blocks(ctx, opts...) {
			if err != nil {
				yield(nil, err)
				return
			}
			fields, columns := b.Schema().Fields(), b.Record().Columns()
			for i := range b.NumRows() {
				if !yield(rowOf(fields, columns, i), nil) {
					return
				}
			}
		}
	}
}

// Take runs the dataset until it has given n rows, and returns the first n in source order.
func (d Dataset) Take(ctx context.Context, n int, opts ...RunOption) ([]Row, error) {
	var rows []Row
	for row, err := range d.Limit(int64(n)).Rows(ctx, append(opts[:len(opts):len(opts)], WithOrdered())...) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Count runs the dataset and counts its rows.
func (d Dataset) Count(ctx context.Context, opts ...RunOption) (int64, error) {
	var n int64
	for b, err := range d.Blocks(ctx, opts...) {
		if err != nil {
			return n, err
		}
		n += int64(b.NumRows())
	}
	return n, nil
}

// Schema computes the schema without running the dataset; readers may look at a bounded sample.
func (d Dataset) Schema(ctx context.Context) (*arrow.Schema, error) { return d.d.Schema(ctx) }

// Explain prints the plan: the steps as written, and the stages they are compiled to.
func (d Dataset) Explain(ctx context.Context) (string, error) { return d.s.Explain(ctx, d.d.To(nil)) }

// Analyze runs the dataset, drops its rows, and prints the plan with what was measured beside it: rows, waits, memory, and CPU time by step from a
// profile of the process.
func (d Dataset) Analyze(ctx context.Context, opts ...RunOption) (string, error) {
	return d.s.analyze(ctx, d.s.run.with(opts), d.d.To(nil))
}
