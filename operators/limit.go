package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// LimitParams are the parameters of limit.
type LimitParams struct {
	Rows int64 `json:"rows" arg:"word" doc:"how many rows to pass on at most"`
}

func init() {
	define(dataset.Def{
		Name: "limit",
		Doc:  "pass a number of rows on and stop the sources",
		Help: "The number is exact. Which rows it is depends on timing, unless the run is ordered or a sort comes before: " +
			"then it is the first ones.",
		Example: "limit 100",
	}, LimitParams{Rows: -1}, Limit)
}

// Limit passes a number of rows on and stops what feeds it.
func Limit(p LimitParams) (dataset.Spec, error) {
	if p.Rows == -1 {
		return nil, errors.New("it needs a number of rows: limit 100")
	}
	if p.Rows < 0 {
		return nil, fmt.Errorf("it needs a number of rows, 0 or more; have %d", p.Rows)
	}
	return &limit{n: p.Rows}, nil
}

type limit struct {
	rowwise
	n int64
}

var (
	_ dataset.Limiter  = (*limit)(nil)
	_ dataset.Columner = (*limit)(nil)
)

func (*limit) Name() string { return "limit" }

func (l *limit) Params() any { return LimitParams{l.n} }

// Limit implements dataset.Limiter.
func (l *limit) Limit() int64 { return l.n }

// Instances is One, so that the count is exact.
func (*limit) Instances() dataset.Instances { return dataset.One }

// Columns implements dataset.Columner.
func (*limit) Columns(_ *arrow.Schema, want []string) []string { return want }

func (*limit) Check(in []*arrow.Schema) (*arrow.Schema, error) { return one(in) }

func (l *limit) New([]*arrow.Schema) (dataset.Operator, error) {
	left := l.n
	return &stateless{process: func(_ context.Context, _ dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		switch n := int64(b.NumRows()); {
		case left == 0:
			return dataset.ErrStop
		case n < left:
			left -= n
			return emit(b.Retain())
		case n == left:
			left = 0
			if err := emit(b.Retain()); err != nil {
				return err
			}
			return dataset.ErrStop
		}
		n := left
		left = 0
		if err := emit(b.Slice(0, int(n))); err != nil {
			return err
		}
		return dataset.ErrStop
	}}, nil
}
