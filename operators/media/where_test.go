package media

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// where is a plain filter operator, to compare composed programs with.
type where struct {
	e       *expr.Expr
	rt      dataset.Runtime
	program *expr.Program
}

func whereSpec(text string) (dataset.Spec, error) {
	e, err := expr.Parse(text)
	return &where{e: e}, err
}

func (w *where) Name() string                                     { return "where" }
func (w *where) Version() int                                     { return 1 }
func (w *where) Params() any                                      { return w.e.String() }
func (w *where) Needs() dataset.Resources                         { return dataset.Resources{} }
func (w *where) Instances() dataset.Instances                     { return dataset.Any }
func (w *where) Predicate() *expr.Expr                            { return w.e }
func (w *where) Check(in []*arrow.Schema) (*arrow.Schema, error)  { return in[0], nil }
func (w *where) Open(_ context.Context, rt dataset.Runtime) error { w.rt = rt; return nil }
func (w *where) Flush(context.Context, dataset.Emit) error        { return nil }
func (w *where) Close() error                                     { return nil }
func (w *where) New(in []*arrow.Schema) (op dataset.Operator, err error) {
	o := &where{e: w.e}
	o.program, err = expr.Compile(w.e, in[0])
	return o, err
}

func (w *where) Process(_ context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	idx, all, _, err := w.program.Select(w.rt.Allocator(), b.Record(), nil)
	if err != nil {
		return err
	}
	if all {
		return emit(b.Retain())
	}
	out, err := block.Take(w.rt.Allocator(), b, idx)
	if err != nil {
		return err
	}
	return emit(out)
}
