package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// UnionParams are the parameters of union: there are none.
type UnionParams struct{}

func init() {
	define(dataset.Def{
		Name: "union",
		Doc:  "the rows of several inputs, one after the other",
		Help: "Columns are matched by name; all inputs must have the same names and types, in any order. In pipeline strings sources " +
			"are joined by +: a.csv + b.csv.",
		Example: "union",
	}, UnionParams{}, func(UnionParams) (dataset.Spec, error) { return Union(), nil })
}

// Union passes on the rows of all its inputs.
func Union() dataset.Spec { return &unionAll{} }

type unionAll struct{ rowwise }

var _ dataset.FilterCommuter = (*unionAll)(nil)

func (*unionAll) Name() string { return "union" }

func (*unionAll) Params() any { return UnionParams{} }

// CommutesWithFilter implements dataset.FilterCommuter.
func (*unionAll) CommutesWithFilter([]string) bool { return true }

// RowsOneToOne is not implemented: a limit before each input is not a limit behind the union.

func (*unionAll) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) == 0 {
		return nil, errors.New("it needs an input")
	}
	fields := in[0].Fields()
	for k, s := range in[1:] {
		if _, err := matchColumns(in[0], s, k+2); err != nil {
			return nil, err
		}
		for i, f := range fields {
			fields[i].Nullable = f.Nullable || s.Field(s.FieldIndices(f.Name)[0]).Nullable
		}
	}
	md := in[0].Metadata()
	return arrow.NewSchema(fields, &md), nil
}

// matchColumns finds the columns of want in have, the schema of input number k.
func matchColumns(want, have *arrow.Schema, k int) ([]int, error) {
	at := make([]int, want.NumFields())
	for i, f := range want.Fields() {
		x, err := dataset.FieldIndex(have, f.Name)
		if err != nil {
			return nil, fmt.Errorf("input %d has %w", k, err)
		}
		if g := have.Field(x); !arrow.TypeEqual(f.Type, g.Type) {
			return nil, fmt.Errorf("column %q is %s in input %d and %s in input 1; cast one of them", f.Name, g.Type, k, f.Type)
		}
		at[i] = x
	}
	for _, f := range have.Fields() {
		if !want.HasField(f.Name) {
			return nil, fmt.Errorf("column %q of input %d is not in input 1; drop it or add it there", f.Name, k)
		}
	}
	return at, nil
}

func (u *unionAll) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := u.Check(in)
	if err != nil {
		return nil, err
	}
	places := make([][]int, len(in))
	for k, s := range in {
		if places[k], err = matchColumns(in[0], s, k+1); err != nil {
			return nil, err
		}
	}
	return &unionOp{out: out, places: places}, nil
}

type unionOp struct {
	stateless
	out    *arrow.Schema
	places [][]int
}

// Process implements dataset.Operator.
func (u *unionOp) Process(_ context.Context, port int, b *block.Block, emit dataset.Emit) error {
	return emit(project(b, u.out, u.places[port]))
}
