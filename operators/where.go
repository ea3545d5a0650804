package operators

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// WhereParams are the parameters of where.
type WhereParams struct {
	Expr string `json:"expr" arg:"rest" doc:"condition; rows for which it is true stay, null and false leave"`
}

func init() {
	define(dataset.Def{
		Name:    "where",
		Doc:     "keep the rows for which a condition is true",
		Help:    "Rows for which the condition is false or null leave. A row for which it cannot be computed (an overflow, a failed cast) is a row error.",
		Example: `where score > 0.9 and lang == "de"`,
	}, WhereParams{}, Where)
}

// Where keeps the rows for which an expression is true.
func Where(p WhereParams) (dataset.Spec, error) {
	if p.Expr == "" {
		return nil, errors.New("it needs a condition: where score > 0.9")
	}
	e, err := expr.Parse(p.Expr)
	if err != nil {
		return nil, err
	}
	return &where{expr: e}, nil
}

type where struct {
	rowwise
	expr *expr.Expr
}

var (
	_ dataset.Spec           = (*where)(nil)
	_ dataset.Predicate      = (*where)(nil)
	_ dataset.Columner       = (*where)(nil)
	_ dataset.FilterCommuter = (*where)(nil)
	_ dataset.Memory         = (*where)(nil)
)

func (*where) Name() string { return "where" }

// Params holds the canonical text, so that spelling does not change a plan's fingerprint.
func (w *where) Params() any { return WhereParams{w.expr.String()} }

// Predicate implements dataset.Predicate.
func (w *where) Predicate() *expr.Expr { return w.expr }

// Columns implements dataset.Columner.
func (w *where) Columns(_ *arrow.Schema, want []string) []string {
	return needed(want, w.expr.Columns()...)
}

// CommutesWithFilter implements dataset.FilterCommuter.
func (*where) CommutesWithFilter([]string) bool { return true }

func (w *where) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	t, err := w.expr.Type(s)
	if err != nil {
		return nil, err
	}
	if t.ID() != arrow.BOOL && t.ID() != arrow.NULL {
		return nil, &expr.TypeError{Msg: "the condition " + w.expr.String() + " is " + t.String() + ", not true or false; compare it with something"}
	}
	return s, nil
}

func (w *where) New(in []*arrow.Schema) (dataset.Operator, error) {
	prog, err := expr.Compile(w.expr, in[0])
	if err != nil {
		return nil, err
	}
	var buf []uint32
	return &stateless{process: func(_ context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		idx, all, failed, err := prog.Select(rt.Allocator(), b.Record(), buf)
		if err != nil {
			return err
		}
		for _, f := range failed {
			if err := rt.Fail(b, f.Row, f.Err); err != nil {
				return err
			}
		}
		if all {
			return emit(b.Retain())
		}
		buf = idx
		if len(idx) == 0 {
			return nil
		}
		out, err := block.Take(rt.Allocator(), b, slices.Clone(idx)) // the block keeps its indices, buf is used again
		if err != nil {
			return err
		}
		return emit(out)
	}}, nil
}
