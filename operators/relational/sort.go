package relational

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/relational/internal/sortkey"
)

// SortKey is one column to sort by. In text: NAME [asc|desc] [nulls first|nulls last].
type SortKey struct {
	Column     string
	Desc       bool
	NullsFirst bool
}

// UnmarshalText reads the text form.
func (k *SortKey) UnmarshalText(text []byte) error {
	words, err := dataset.Words(string(text))
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return errors.New("a column is missing")
	}
	name, err := words[0].Unquote()
	if err != nil {
		return err
	}
	key := SortKey{Column: name}
	rest := make([]string, 0, 3)
	for _, w := range words[1:] {
		rest = append(rest, strings.ToLower(w.Text))
	}
	if len(rest) > 0 && (rest[0] == "asc" || rest[0] == "desc") {
		key.Desc = rest[0] == "desc"
		rest = rest[1:]
	}
	if len(rest) == 2 && rest[0] == "nulls" && (rest[1] == "first" || rest[1] == "last") {
		key.NullsFirst = rest[1] == "first"
		rest = nil
	}
	if len(rest) > 0 {
		return fmt.Errorf("unexpected %q after column %q; write NAME [asc|desc] [nulls first|nulls last]", rest[0], name)
	}
	*k = key
	return nil
}

// MarshalText writes the text form, without what is the default.
func (k SortKey) MarshalText() ([]byte, error) {
	s := dataset.Quote(k.Column)
	if k.Desc {
		s += " desc"
	}
	if k.NullsFirst {
		s += " nulls first"
	}
	return []byte(s), nil
}

// SortParams are the parameters of sort.
type SortParams struct {
	By []SortKey `json:"by" doc:"columns to sort by, the first counts most: NAME [asc|desc] [nulls first|nulls last]"`
}

// ArgsText implements dataset.ArgsTexter.
func (p SortParams) ArgsText() string {
	items := make([]string, len(p.By))
	for i, k := range p.By {
		items[i] = dataset.QuoteWord(k.Column)
		if k.Desc {
			items[i] += " desc"
		}
		if k.NullsFirst {
			items[i] += " nulls first"
		}
	}
	return strings.Join(items, ", ")
}

func init() {
	define(dataset.Def{
		Name: "sort",
		Doc:  "order the rows by columns",
		Help: "Ascending unless desc is said; nulls come last either way unless nulls first is said. NaN is above all numbers, -0 equals 0, text is compared by " +
			"its bytes. Equal rows stay in the order of the source. What memory does not hold is spilled to disk. The order holds up to the sink.",
		Example: "sort score desc, id",
		Parse:   parseSort,
	}, SortParams{}, Sort)
}

func parseSort(text string) (any, error) {
	items, err := dataset.Items(text)
	if err != nil {
		return nil, err
	}
	p := &SortParams{By: make([]SortKey, len(items))}
	for i, w := range items {
		if err := p.By[i].UnmarshalText([]byte(w.Text)); err != nil {
			return nil, &dataset.SyntaxError{Offset: w.Offset, Msg: err.Error(), Err: err}
		}
	}
	return p, nil
}

// Sort orders all rows by columns.
func Sort(p SortParams) (dataset.Spec, error) {
	if len(p.By) == 0 {
		return nil, errors.New("it needs a column to sort by: sort score desc, id")
	}
	for i, k := range p.By {
		if slices.ContainsFunc(p.By[:i], func(o SortKey) bool { return o.Column == k.Column }) {
			return nil, fmt.Errorf("column %q is named twice", k.Column)
		}
	}
	return &sortSpec{by: slices.Clone(p.By)}, nil
}

type sortSpec struct{ by []SortKey }

var (
	_ dataset.Spec           = (*sortSpec)(nil)
	_ dataset.Barrier        = (*sortSpec)(nil)
	_ dataset.Columner       = (*sortSpec)(nil)
	_ dataset.FilterCommuter = (*sortSpec)(nil)
	_ dataset.Ordered        = (*sortSpec)(nil)
	_ dataset.Memory         = (*sortSpec)(nil)
)

func (*sortSpec) Name() string                 { return "sort" }
func (*sortSpec) Version() int                 { return 1 }
func (s *sortSpec) Params() any                { return SortParams{s.by} }
func (*sortSpec) Needs() dataset.Resources     { return dataset.Resources{} }
func (*sortSpec) Instances() dataset.Instances { return dataset.Any }

// Holds implements dataset.Memory.
func (*sortSpec) Holds() string { return "spills" }

// OutputOrdered implements dataset.Ordered.
func (*sortSpec) OutputOrdered() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter.
func (*sortSpec) CommutesWithFilter([]string) bool { return true }

// Columns implements dataset.Columner.
func (s *sortSpec) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := slices.Clone(want)
	for _, k := range s.by {
		if !slices.Contains(need, k.Column) {
			need = append(need, k.Column)
		}
	}
	return need
}

func (s *sortSpec) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	if _, err := newLayout(in[0], s.by); err != nil {
		return nil, err
	}
	return in[0], nil
}

func (s *sortSpec) New(in []*arrow.Schema) (dataset.Operator, error) {
	l, err := newLayout(in[0], s.by)
	if err != nil {
		return nil, err
	}
	return &sorter{layout: l}, nil
}

// Merge implements dataset.Barrier: it cuts the range of keys so that partitions can be merged in parallel.
func (s *sortSpec) Merge(_ context.Context, rt dataset.Runtime, in []*arrow.Schema, states []any) ([]dataset.Partition, error) {
	l, err := newLayout(in[0], s.by)
	if err != nil {
		return nil, err
	}
	var runs []run
	for _, st := range states {
		rs, ok := st.([]run)
		if !ok {
			return nil, fmt.Errorf("merge sorted runs: a state is %T", st)
		}
		runs = append(runs, rs...)
	}
	return plan(l, rt, runs), nil
}

// tieColumn is the name of the hidden column that holds the row's identity, which decides between equal keys.
const tieColumn = "\x00tie"

// layout is what rows look like inside the sort: the input's columns and the tie.
type layout struct {
	out  *arrow.Schema // as it goes in and out
	rows *arrow.Schema // with the tie as last column
	keys *sortkey.Encoder
}

func newLayout(in *arrow.Schema, by []SortKey) (*layout, error) {
	cols := make([]sortkey.Column, len(by), len(by)+1)
	for i, k := range by {
		at, err := dataset.FieldIndex(in, k.Column)
		if err != nil {
			return nil, err
		}
		cols[i] = sortkey.Column{Index: at, Desc: k.Desc, NullsFirst: k.NullsFirst}
	}
	fields := append(in.Fields(), arrow.Field{Name: tieColumn, Type: arrow.BinaryTypes.Binary})
	rows := arrow.NewSchema(fields, nil)
	enc, err := sortkey.NewEncoder(rows, append(cols, sortkey.Column{Index: in.NumFields(), Plain: true}))
	if err != nil {
		return nil, err
	}
	return &layout{in, rows, enc}, nil
}
