package sluice

import (
	"context"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/rowfn"
)

// Rows runs the dataset and yields its rows as structs, bound as for MapRows: only the columns that T names are read. A row that T does not hold
// (a null for a field that is no pointer) is a failed row, treated as the run's error policy says. Slices view the block and are valid until the next
// iteration, unless the field says copy.
func Rows[T any](ctx context.Context, d Dataset, opts ...RunOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		r, err := newRowReader[T](ctx, d)
		if err != nil {
			yield(none, err)
			return
		}
		defer r.op.Close() //nolint:errcheck // a row filter holds nothing
		for b, err := range r.checked(d).Blocks(ctx, opts...) {
			if err != nil {
				yield(none, err)
				return
			}
			for at := 0; at < b.NumRows(); at += rowsAtOnce {
				rows, err := r.read(ctx, b, at)
				for _, row := range rows {
					if !yield(row, nil) {
						return
					}
				}
				if err != nil {
					yield(none, err)
					return
				}
			}
		}
	}
}

// rowsAtOnce is how many rows are read into structs before they are yielded: few enough to stay in the cache.
const rowsAtOnce = 1024

// rowReader reads the rows of blocks into structs. It uses an instance of the row filter, whose function sees every row.
type rowReader[T any] struct {
	check   dataset.Spec // a filter that keeps every row that T holds
	columns []string
	op      dataset.Operator
	rows    []T
}

func newRowReader[T any](ctx context.Context, d Dataset) (*rowReader[T], error) {
	schema, err := d.Schema(ctx)
	if err != nil {
		return nil, err
	}
	r := &rowReader[T]{check: rowfn.Filter(func(context.Context, T) (bool, error) { return true, nil }, rowfn.Name("rows"))}
	if _, err := r.check.Check([]*arrow.Schema{schema}); err != nil {
		return nil, &dataset.UsageError{Err: fmt.Errorf("rows: %w", err)}
	}
	columner, ok := r.check.(dataset.Columner)
	if ok {
		r.columns = columner.Columns(schema, []string{})
		if schema, err = project(schema, r.columns); err != nil {
			return nil, err
		}
	}
	see := rowfn.Filter(func(_ context.Context, row T) (bool, error) { r.rows = append(r.rows, row); return false, nil })
	if r.op, err = see.New([]*arrow.Schema{schema}); err != nil {
		return nil, err
	}
	return r, r.op.Open(ctx, failures{})
}

// project is the schema of the named columns.
func project(s *arrow.Schema, columns []string) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(columns))
	for i, name := range columns {
		at, err := dataset.FieldIndex(s, name)
		if err != nil {
			return nil, err
		}
		fields[i] = s.Field(at)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

// checked is d with the columns of T, and without the rows that T does not hold.
func (r *rowReader[T]) checked(d Dataset) Dataset {
	if len(r.columns) > 0 {
		d = d.Select(r.columns...)
	}
	return d.Via(r.check)
}

// read returns the rows of b from at on. The slice is used again.
func (r *rowReader[T]) read(ctx context.Context, b *block.Block, at int) ([]T, error) {
	clear(r.rows)
	r.rows = r.rows[:0]
	piece := b.Slice(at, min(rowsAtOnce, b.NumRows()-at))
	defer piece.Release()
	err := r.op.Process(ctx, 0, piece, nil)
	return r.rows, err
}

// failures is the runtime of a filter that keeps no row: it is asked for nothing but the fate of failing rows.
type failures struct{ dataset.Runtime }

// Fail returns the failure.
func (failures) Fail(b *block.Block, row int, err error) error {
	e := &dataset.RowError{Op: "rows", Err: err, Class: dataset.ClassOf(err)}
	if b.Identity().Len() > row {
		e.Row = b.Identity().At(row)
	}
	return e
}
