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

// Filter keeps the rows for which fn is true. An error fails the row. fn is called from several goroutines at once.
func Filter[In any](fn func(ctx context.Context, in In) (bool, error), opts ...Option) dataset.Spec {
	f := &filterSpec[In]{function: newFunction(fn, opts), fn: fn}
	f.In = reflect.TypeFor[In]().String()
	return f
}

type filterSpec[In any] struct {
	function
	fn func(context.Context, In) (bool, error)
}

var _ dataset.FilterCommuter = (*filterSpec[int])(nil)

// Name implements dataset.Spec.
func (*filterSpec[In]) Name() string { return "filter" }

// Params implements dataset.Spec.
func (f *filterSpec[In]) Params() any { return f.function }

// CommutesWithFilter implements dataset.FilterCommuter.
func (*filterSpec[In]) CommutesWithFilter([]string) bool { return true }

// Columns implements dataset.Columner.
func (f *filterSpec[In]) Columns(in *arrow.Schema, want []string) []string {
	r, err := newReader(reflect.TypeFor[In](), in)
	if err != nil || want == nil {
		return nil
	}
	return append(append([]string{}, want...), r.names()...)
}

// Check implements dataset.Spec.
func (f *filterSpec[In]) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	if _, err := newReader(reflect.TypeFor[In](), in[0]); err != nil {
		return nil, fmt.Errorf("bind %s: %w", f.In, err)
	}
	return in[0], nil
}

// New implements dataset.Spec.
func (f *filterSpec[In]) New(in []*arrow.Schema) (dataset.Operator, error) {
	r, err := newReader(reflect.TypeFor[In](), in[0])
	if err != nil {
		return nil, err
	}
	return &filterOp[In]{instance{op: "filter", reader: r}, f.fn}, nil
}

type filterOp[In any] struct {
	instance
	fn func(context.Context, In) (bool, error)
}

// Process implements dataset.Operator.
func (o *filterOp[In]) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	src := o.reader.on(b.Record())
	var (
		in, zero In
		yes      bool
		i        int
	)
	call := func() (err error) {
		if err = src.read(i, unsafe.Pointer(&in)); err == nil {
			yes, err = o.fn(ctx, in)
		}
		return err
	}
	keep := make([]uint32, 0, b.NumRows())
	for i = range b.NumRows() {
		in, yes = zero, false
		ok, err := o.row(ctx, b, i, call)
		if err != nil {
			return err
		}
		if ok && yes {
			keep = append(keep, uint32(i))
		}
	}
	if len(keep) == 0 {
		return nil
	}
	out, err := block.Take(o.rt.Allocator(), b, keep)
	if err != nil {
		return err
	}
	return emit(out)
}
