package operators

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// SelectParams are the parameters of select.
type SelectParams struct {
	Columns []string `json:"columns" arg:"list" doc:"columns to keep, in this order"`
}

func init() {
	define(dataset.Def{
		Name:    "select",
		Doc:     "keep the named columns, in the order given",
		Help:    "Columns are named once each. Rows stay as they are; columns that nobody reads are not read from files at all.",
		Example: "select id, text",
	}, SelectParams{}, Select)
}

// Select keeps the named columns, in that order.
func Select(p SelectParams) (dataset.Spec, error) {
	if err := distinct(p.Columns); err != nil {
		return nil, err
	}
	return &selection{columns: slices.Clone(p.Columns)}, nil
}

// distinct refuses an empty list of columns and columns named twice.
func distinct(columns []string) error {
	if len(columns) == 0 {
		return errors.New("it needs the names of columns")
	}
	for i, c := range columns {
		if slices.Contains(columns[:i], c) {
			return fmt.Errorf("column %q is named twice", c)
		}
	}
	return nil
}

type selection struct {
	rowwise
	columns []string
}

var (
	_ dataset.Columner       = (*selection)(nil)
	_ dataset.OneToOne       = (*selection)(nil)
	_ dataset.FilterCommuter = (*selection)(nil)
)

func (*selection) Name() string { return "select" }

func (s *selection) Params() any { return SelectParams{s.columns} }

// Columns implements dataset.Columner. All selected columns are needed: the step names them.
func (s *selection) Columns(*arrow.Schema, []string) []string { return s.columns }

// RowsOneToOne implements dataset.OneToOne.
func (*selection) RowsOneToOne() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter.
func (*selection) CommutesWithFilter([]string) bool { return true }

func (s *selection) places(in *arrow.Schema) ([]int, error) {
	at := make([]int, len(s.columns))
	for i, c := range s.columns {
		var err error
		if at[i], err = dataset.FieldIndex(in, c); err != nil {
			return nil, err
		}
	}
	return at, nil
}

func (s *selection) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	sc, err := one(in)
	if err != nil {
		return nil, err
	}
	at, err := s.places(sc)
	if err != nil {
		return nil, err
	}
	return pick(sc, at), nil
}

func (s *selection) New(in []*arrow.Schema) (dataset.Operator, error) {
	at, err := s.places(in[0])
	if err != nil {
		return nil, err
	}
	return projection(pick(in[0], at), at), nil
}

// projection makes the operator that passes the columns at the given places on, under the names of out.
func projection(out *arrow.Schema, at []int) dataset.Operator {
	return &stateless{process: func(_ context.Context, _ dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		return emit(project(b, out, at))
	}}
}
