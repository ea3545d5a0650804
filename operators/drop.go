package operators

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// DropParams are the parameters of drop.
type DropParams struct {
	Columns []string `json:"columns" arg:"list" doc:"columns to leave out"`
}

func init() {
	define(dataset.Def{
		Name:    "drop",
		Doc:     "leave the named columns out",
		Help:    "The other columns stay, in their order.",
		Example: "drop raw, debug",
	}, DropParams{}, Drop)
}

// Drop leaves the named columns out.
func Drop(p DropParams) (dataset.Spec, error) {
	if err := distinct(p.Columns); err != nil {
		return nil, err
	}
	return &drop{columns: slices.Clone(p.Columns)}, nil
}

type drop struct {
	rowwise
	columns []string
}

var (
	_ dataset.Columner       = (*drop)(nil)
	_ dataset.OneToOne       = (*drop)(nil)
	_ dataset.FilterCommuter = (*drop)(nil)
)

func (*drop) Name() string { return "drop" }

func (d *drop) Params() any { return DropParams{d.columns} }

// Columns implements dataset.Columner. The dropped columns are needed too: the step names them.
func (d *drop) Columns(_ *arrow.Schema, want []string) []string { return needed(want, d.columns...) }

// RowsOneToOne implements dataset.OneToOne.
func (*drop) RowsOneToOne() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter.
func (*drop) CommutesWithFilter([]string) bool { return true }

func (d *drop) places(in *arrow.Schema) ([]int, error) {
	gone := map[int]bool{}
	for _, c := range d.columns {
		at, err := dataset.FieldIndex(in, c)
		if err != nil {
			return nil, err
		}
		gone[at] = true
	}
	var at []int
	for i := range in.NumFields() {
		if !gone[i] {
			at = append(at, i)
		}
	}
	return at, nil
}

func (d *drop) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	at, err := d.places(s)
	if err != nil {
		return nil, err
	}
	return pick(s, at), nil
}

func (d *drop) New(in []*arrow.Schema) (dataset.Operator, error) {
	at, err := d.places(in[0])
	if err != nil {
		return nil, err
	}
	return projection(pick(in[0], at), at), nil
}
