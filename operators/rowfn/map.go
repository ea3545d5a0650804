package rowfn

import (
	"context"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Map calls fn once for each row and makes a row of what it returns. An error fails the row; *dataset.TransientError has the block tried
// again and *dataset.FatalError ends the run. fn is called from several goroutines at once.
func Map[In, Out any](fn func(ctx context.Context, in In) (Out, error), opts ...Option) dataset.Spec {
	m := &mapSpec[In, Out]{rowSpec: newRowSpec[In, Out]("map", fn, opts), fn: fn}
	return m
}

// rowSpec is what specs of row functions share.
type rowSpec struct {
	function
	name    string
	in, out reflect.Type
}

func newRowSpec[In, Out any](name string, fn any, opts []Option) rowSpec {
	s := rowSpec{newFunction(fn, opts), name, reflect.TypeFor[In](), reflect.TypeFor[Out]()}
	s.function.In, s.function.Out = s.in.String(), s.out.String()
	return s
}

// Name implements dataset.Spec.
func (s *rowSpec) Name() string { return s.name }

// Params implements dataset.Spec.
func (s *rowSpec) Params() any { return s.function }

// Columns implements dataset.Columner: a row function reads what its In struct names.
func (s *rowSpec) Columns(in *arrow.Schema, _ []string) []string {
	r, err := newReader(s.in, in)
	if err != nil {
		return nil
	}
	return r.names()
}

// Check implements dataset.Spec.
func (s *rowSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	_, o, err := s.bind(in)
	if err != nil {
		return nil, err
	}
	return o.schema, nil
}

func (s *rowSpec) bind(in []*arrow.Schema) (*reader, *output, error) {
	if len(in) != 1 {
		return nil, nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	r, err := newReader(s.in, in[0])
	if err != nil {
		return nil, nil, fmt.Errorf("bind %s: %w", s.in, err)
	}
	o, err := newOutput(s.out, s.in, in[0])
	if err != nil {
		return nil, nil, fmt.Errorf("bind %s: %w", s.out, err)
	}
	return r, o, nil
}

type mapSpec[In, Out any] struct {
	rowSpec
	fn func(context.Context, In) (Out, error)
}

var (
	_ dataset.Columner         = (*rowSpec)(nil)
	_ dataset.OneToOne         = (*mapSpec[int, int])(nil)
	_ dataset.Nondeterministic = (*mapSpec[int, int])(nil)
)

// RowsOneToOne implements dataset.OneToOne.
func (*mapSpec[In, Out]) RowsOneToOne() bool { return true }

// New implements dataset.Spec.
func (m *mapSpec[In, Out]) New(in []*arrow.Schema) (dataset.Operator, error) {
	r, o, err := m.bind(in)
	if err != nil {
		return nil, err
	}
	return &mapOp[In, Out]{instance{op: m.name, reader: r, output: o}, m.fn}, nil
}

// instance is what instances of row functions share.
type instance struct {
	op     string
	rt     dataset.Runtime
	reader *reader
	output *output
}

// Open implements dataset.Operator.
func (o *instance) Open(_ context.Context, rt dataset.Runtime) error {
	o.rt = rt
	return nil
}

// Flush implements dataset.Operator.
func (*instance) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (*instance) Close() error { return nil }

// row calls f for one row. It reports whether the row stays; an error ends Process.
func (o *instance) row(ctx context.Context, b *block.Block, i int, f func() error) (stays bool, err error) {
	err = guard(o.op, b, i, f)
	switch {
	case err == nil:
		return true, nil
	case ends(ctx, err):
		return false, err
	}
	return false, o.rt.Fail(b, i, err)
}

// full reports that a block has what a block should have.
func (o *instance) full(c *columns) bool {
	return c.rows >= o.rt.BlockRows() || c.bytes >= o.rt.BlockBytes()
}

type mapOp[In, Out any] struct {
	instance
	fn func(context.Context, In) (Out, error)
}

// Process implements dataset.Operator.
func (o *mapOp[In, Out]) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	src := o.reader.on(b.Record())
	cols := o.output.builders(o.rt.Allocator())
	defer cols.release()
	var (
		in   In
		out  Out
		zero In
		i    int
	)
	call := func() (err error) {
		if err = src.read(i, unsafe.Pointer(&in)); err == nil {
			out, err = o.fn(ctx, in)
		}
		return err
	}
	keep := make([]uint32, 0, b.NumRows())
	for i = range b.NumRows() {
		in = zero
		ok, err := o.row(ctx, b, i, call)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		cols.add(unsafe.Pointer(&out))
		keep = append(keep, uint32(i))
		if o.full(cols) {
			if err := o.seal(b, cols, keep, emit); err != nil {
				return err
			}
			keep = make([]uint32, 0, b.NumRows()-i)
		}
	}
	return o.seal(b, cols, keep, emit)
}

// seal emits the rows that were built, which are b's rows at keep.
func (o *instance) seal(b *block.Block, cols *columns, keep []uint32, emit dataset.Emit) error {
	if len(keep) == 0 {
		return nil
	}
	rest := b
	if len(keep) < b.NumRows() {
		if !o.output.passes() {
			return emit(b.Select(cols.seal(nil), keep))
		}
		var err error
		if rest, err = block.Take(o.rt.Allocator(), b, keep); err != nil {
			return err
		}
		defer rest.Release()
	}
	return emit(rest.Replace(cols.seal(rest.Record())))
}
