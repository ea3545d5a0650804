package operators

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// RenameParams are the parameters of rename.
type RenameParams struct {
	From string `json:"from" arg:"word" doc:"the column's name"`
	To   string `json:"to" arg:"word" doc:"its new name"`
}

func init() {
	define(dataset.Def{
		Name:    "rename",
		Doc:     "give a column another name",
		Help:    "The column keeps its place. A name that is taken is an error.",
		Example: "rename txt text",
	}, RenameParams{}, Rename)
}

// Rename gives a column another name.
func Rename(p RenameParams) (dataset.Spec, error) {
	if p.From == "" || p.To == "" {
		return nil, errors.New("it needs the old and the new name: rename OLD NEW")
	}
	return &rename{RenameParams: p}, nil
}

type rename struct {
	rowwise
	RenameParams
}

var (
	_ dataset.Columner       = (*rename)(nil)
	_ dataset.OneToOne       = (*rename)(nil)
	_ dataset.FilterCommuter = (*rename)(nil)
)

func (*rename) Name() string { return "rename" }

func (r *rename) Params() any { return r.RenameParams }

// Columns implements dataset.Columner.
func (r *rename) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := []string{r.From}
	for _, c := range want {
		if c != r.To {
			need = append(need, c)
		}
	}
	return need
}

// RowsOneToOne implements dataset.OneToOne.
func (*rename) RowsOneToOne() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter: the new name means nothing before the step.
func (r *rename) CommutesWithFilter(columns []string) bool {
	for _, c := range columns {
		if c == r.To || c == r.From {
			return false
		}
	}
	return true
}

func (r *rename) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	at, err := dataset.FieldIndex(s, r.From)
	if err != nil {
		return nil, err
	}
	if r.To != r.From && s.HasField(r.To) {
		return nil, fmt.Errorf("there is a column %q already; drop it first", r.To)
	}
	f := s.Fields()
	f[at].Name = r.To
	md := s.Metadata()
	return arrow.NewSchema(f, &md), nil
}

func (r *rename) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := r.Check(in)
	if err != nil {
		return nil, err
	}
	at := make([]int, out.NumFields())
	for i := range at {
		at[i] = i
	}
	return projection(out, at), nil
}
