package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

// Column is a column that both sides do not have alike.
type Column struct {
	Name string
	A, B arrow.DataType // nil on the side that lacks it
	// Compared says that its values are compared all the same: numbers as numbers, other types as text.
	Compared bool
}

// Kind is what became of a row.
type Kind int

// The kinds.
const (
	Removed Kind = iota // only in A
	Added               // only in B
	Changed             // in both, and not equal
)

// Row is a row that differs. A and B are valid until the function that got it returns.
type Row struct {
	Kind    Kind
	A, B    Cells
	Columns []int // of a changed row, the columns that differ
}

// Cells is one row of a record.
type Cells struct {
	Record arrow.RecordBatch
	Row    int
}

// Counts sum up a comparison.
type Counts struct {
	A, B                           int64 // rows
	Added, Removed, Changed, Equal int64
	// Repeated is how many keys stand for more than one row of a side. Their rows were paired as they are equal, then in order.
	Repeated int64
}

// Same says that no row differs.
func (c Counts) Same() bool { return c.Added+c.Removed+c.Changed == 0 }

// Comparison is two datasets that can be compared.
type Comparison struct {
	Columns []Column // that differ
	Key     []string
	Names   []string // of the columns that are compared, the key first

	sorted dataset.Dataset
	mark   string
}

// StepMaker makes an operator from its name and its arguments as in a pipeline string.
type StepMaker func(name, args string) (dataset.Spec, error)

// New compares the schemas of two datasets and plans the comparison of their rows. Without a key, rows are the same if all their columns are.
func New(ctx context.Context, a, b dataset.Dataset, key []string, step StepMaker) (*Comparison, error) {
	sa, err := a.Schema(ctx)
	if err != nil {
		return nil, err
	}
	sb, err := b.Schema(ctx)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Key: key}
	var casts map[string]string
	if c.Columns, c.Names, casts, err = compareSchemas(sa, sb, key); err != nil {
		return nil, err
	}
	if len(key) == 0 {
		c.Key = c.Names
	}
	if len(c.Names) == 0 {
		return c, nil
	}
	for c.mark = "side"; sa.HasField(c.mark) || sb.HasField(c.mark); {
		c.mark = "_" + c.mark
	}
	steps := func(side string, schema *arrow.Schema) (out [][2]string) {
		out = append(out, [2]string{"select", nameList(c.Names)})
		for _, name := range c.Names {
			if cast := casts[name]; cast != "" {
				out = append(out, [2]string{"with", quoted(name) + " = " + cast + "(col(" + dataset.Quote(name) + "))"})
			}
		}
		return append(out, [2]string{"with", c.mark + " = " + side})
	}
	if a, err = via(a, steps("0", sa), step); err != nil {
		return nil, err
	}
	if b, err = via(b, steps("1", sb), step); err != nil {
		return nil, err
	}
	union, err := step("union", "")
	if err != nil {
		return nil, err
	}
	c.sorted, err = via(a.Via(union, b), [][2]string{{"sort", nameList(append(slices.Clone(c.Key), c.mark))}}, step)
	if err != nil {
		return nil, err
	}
	_, err = c.sorted.Schema(ctx)
	return c, err
}

// via appends steps by name.
func via(d dataset.Dataset, steps [][2]string, step StepMaker) (dataset.Dataset, error) {
	for _, s := range steps {
		spec, err := step(s[0], s[1])
		if err != nil {
			return d, fmt.Errorf("%s: %w", s[0], err)
		}
		d = d.Via(spec)
	}
	return d, d.Err()
}

// compareSchemas lists what differs, the names of the columns that can be compared with the key first, and the casts that make them comparable.
func compareSchemas(a, b *arrow.Schema, key []string) (differ []Column, names []string, casts map[string]string, err error) {
	casts = map[string]string{}
	for _, k := range key {
		if _, err := dataset.FieldIndex(a, k); err != nil {
			return nil, nil, nil, dataset.Usagef("--key: A has %w", err)
		}
		if _, err := dataset.FieldIndex(b, k); err != nil {
			return nil, nil, nil, dataset.Usagef("--key: B has %w", err)
		}
		if slices.Contains(names, k) {
			return nil, nil, nil, dataset.Usagef("--key: column %q is named twice", k)
		}
		names = append(names, k)
	}
	for _, f := range a.Fields() {
		at := b.FieldIndices(f.Name)
		if len(at) == 0 {
			differ = append(differ, Column{Name: f.Name, A: f.Type})
			continue
		}
		g := b.Field(at[0])
		cast, comparable := castFor(f.Type, g.Type)
		if !arrow.TypeEqual(f.Type, g.Type) {
			differ = append(differ, Column{Name: f.Name, A: f.Type, B: g.Type, Compared: comparable})
		}
		if !comparable {
			if slices.Contains(key, f.Name) {
				return nil, nil, nil, dataset.Usagef("--key: column %q is %s in A and %s in B", f.Name, f.Type, g.Type)
			}
			continue
		}
		if casts[f.Name] = cast; !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, g := range b.Fields() {
		if !a.HasField(g.Name) {
			differ = append(differ, Column{Name: g.Name, B: g.Type})
		}
	}
	return differ, names, casts, nil
}

// castFor says by which function values of two types are made comparable; "" where they are of one type.
func castFor(a, b arrow.DataType) (cast string, ok bool) {
	number := func(t arrow.DataType) bool { return arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) }
	plain := func(t arrow.DataType) bool {
		return number(t) || t.ID() == arrow.STRING || t.ID() == arrow.BOOL || t.ID() == arrow.TIMESTAMP
	}
	switch {
	case arrow.TypeEqual(a, b):
		return "", true
	case arrow.IsInteger(a.ID()) && arrow.IsInteger(b.ID()):
		return "int", true
	case number(a) && number(b):
		return "float", true
	case plain(a) && plain(b):
		return "string", true
	}
	return "", false
}

func quoted(name string) string {
	if strings.ContainsAny(name, "= \t\n\r\"'`") {
		return dataset.Quote(name)
	}
	return name
}

func nameList(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = dataset.Quote(n)
	}
	return strings.Join(out, ", ")
}
