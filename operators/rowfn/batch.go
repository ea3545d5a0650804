package rowfn

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// ParentColumn is the column by which a batch function that does not return one row for each row it got says where its rows come from: a
// uint32 column with the place of the input row, ascending, without nulls. It is not part of the output.
const ParentColumn = "_parent"

// BatchFunc is a function on records. It borrows in and returns a record that the caller releases; buffers come from mem, or are shared with
// in. The record has in's number of rows, row for row, or a ParentColumn.
type BatchFunc func(ctx context.Context, mem memory.Allocator, in arrow.RecordBatch) (arrow.RecordBatch, error)

// SchemaFunc says at plan time which columns the function returns, without ParentColumn.
type SchemaFunc func(in *arrow.Schema) (*arrow.Schema, error)

// BatchMap calls fn with the record of each block. A batch that fails is divided until the rows that make it fail are found; a function that is
// not deterministic fails all rows of the batch instead. fn is called from several goroutines at once.
func BatchMap(schema SchemaFunc, fn BatchFunc, opts ...Option) dataset.Spec {
	return &batchSpec{newFunction(fn, opts), schema, fn}
}

// SameSchema is the SchemaFunc of functions that change values only.
func SameSchema(in *arrow.Schema) (*arrow.Schema, error) { return in, nil }

type batchSpec struct {
	function
	schema SchemaFunc
	fn     BatchFunc
}

// Name implements dataset.Spec.
func (*batchSpec) Name() string { return "batch-map" }

// SeesBatch implements dataset.Batched.
func (*batchSpec) SeesBatch() bool { return true }

// Params implements dataset.Spec.
func (s *batchSpec) Params() any { return s.function }

// Check implements dataset.Spec.
func (s *batchSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	out, err := s.schema(in[0])
	if err != nil {
		return nil, err
	}
	if out == nil || out.HasField(ParentColumn) {
		return nil, fmt.Errorf("the schema must be given, without column %q", ParentColumn)
	}
	return out, nil
}

// New implements dataset.Spec.
func (s *batchSpec) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := s.Check(in)
	if err != nil {
		return nil, err
	}
	return &batchOp{spec: s, out: out}, nil
}

type batchOp struct {
	spec *batchSpec
	out  *arrow.Schema
	rt   dataset.Runtime
}

// Open implements dataset.Operator.
func (o *batchOp) Open(_ context.Context, rt dataset.Runtime) error {
	o.rt = rt
	return nil
}

// Flush implements dataset.Operator.
func (*batchOp) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (*batchOp) Close() error { return nil }

// Process implements dataset.Operator.
func (o *batchOp) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	return o.try(ctx, b, emit)
}

// try calls the function on b, and on its halves if it fails.
func (o *batchOp) try(ctx context.Context, b *block.Block, emit dataset.Emit) error {
	var out *block.Block
	err := guard(o.spec.Name(), b, 0, func() (err error) {
		out, err = o.call(ctx, b)
		return err
	})
	n := b.NumRows()
	switch {
	case err == nil:
		return emit(out)
	case ends(ctx, err) || isShape(err):
		return err
	case o.spec.random || n == 1:
		for i := range n {
			if ferr := o.rt.Fail(b, i, err); ferr != nil {
				return ferr
			}
		}
		return nil
	}
	var first error
	for _, half := range []*block.Block{b.Slice(0, n/2), b.Slice(n/2, n-n/2)} {
		if first == nil {
			first = o.try(ctx, half, emit)
		}
		half.Release()
	}
	return first
}

// shapeError is a result that no batch function may return: a mistake in the program, not in a row.
type shapeError struct{ error }

func isShape(err error) bool {
	_, ok := errors.AsType[shapeError](err)
	return ok
}

func shapef(format string, a ...any) error { return shapeError{fmt.Errorf(format, a...)} }

// call runs the function on b and gives its rows their identity.
func (o *batchOp) call(ctx context.Context, b *block.Block) (*block.Block, error) {
	rec, err := o.spec.fn(ctx, o.rt.Allocator(), b.Record())
	if err != nil {
		return nil, err
	}
	if rec == nil {
		return nil, shapef("%s returned no record and no error", o.spec.Func)
	}
	defer rec.Release()
	cols := make([]arrow.Array, o.out.NumFields())
	for i, f := range o.out.Fields() {
		at := rec.Schema().FieldIndices(f.Name)
		if len(at) == 0 {
			return nil, shapef("%s returned no column %q, which its schema has", o.spec.Func, f.Name)
		}
		cols[i] = rec.Column(at[0])
		if t := cols[i].DataType(); !arrow.TypeEqual(t, f.Type) {
			return nil, shapef("%s returned column %q as %s, its schema says %s", o.spec.Func, f.Name, t, f.Type)
		}
	}
	own := block.FromColumns(o.out, cols, int(rec.NumRows()))
	at := rec.Schema().FieldIndices(ParentColumn)
	switch {
	case len(at) > 0:
		parents, err := o.parents(rec.Column(at[0]), b.NumRows())
		if err != nil {
			own.Release()
			return nil, err
		}
		return b.FlatMap(own, parents), nil
	case int(own.NumRows()) != b.NumRows():
		defer own.Release()
		return nil, shapef("%s returned %d rows for %d; return one for each, or a uint32 column %q with the row that each comes from",
			o.spec.Func, own.NumRows(), b.NumRows(), ParentColumn)
	}
	return b.Replace(own), nil
}

// parents copies and checks the parent column.
func (o *batchOp) parents(a arrow.Array, rows int) ([]uint32, error) {
	u, ok := a.(*array.Uint32)
	if !ok || a.NullN() > 0 {
		return nil, shapef("%s returned column %q as %s; it must be uint32 without nulls", o.spec.Func, ParentColumn, a.DataType())
	}
	out := make([]uint32, u.Len())
	last := uint32(0)
	for i, p := range u.Values() {
		if p < last || int(p) >= rows {
			return nil, shapef("%s returned %s %d after %d for %d rows; parents must ascend", o.spec.Func, ParentColumn, p, last, rows)
		}
		out[i], last = p, p
	}
	return out, nil
}
