package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Params are the parameters of redact. The tags say how they are written: "redact text with=***", or {column: text, with: "***"} in a job file.
type Params struct {
	Column string `json:"column" arg:"word" doc:"the column of text"`
	With   string `json:"with,omitempty" doc:"what is put in place of an address"`
}

// Def makes redact known by name: to Step, pipeline strings, job files and help.
var Def = dataset.Define(dataset.Def{
	Name:    "redact",
	Doc:     "replace e-mail addresses in a column of text",
	Help:    "Null stays null.",
	Example: "redact text with=***",
}, Params{With: "***"}, Redact)

// Redact replaces e-mail addresses in a column of text.
func Redact(p Params) (dataset.Spec, error) {
	if p.Column == "" {
		return nil, errors.New("it needs a column: redact COLUMN")
	}
	return &redact{p}, nil
}

// redact is the Spec: plain data that describes the operator and never starts anything.
type redact struct{ p Params }

// The optional powers that redact has. The optimizer asks for them; it never knows an operator by name.
var (
	_ dataset.Columner       = (*redact)(nil)
	_ dataset.OneToOne       = (*redact)(nil)
	_ dataset.FilterCommuter = (*redact)(nil)
)

func (*redact) Name() string                 { return "redact" }
func (*redact) Version() int                 { return 1 } // raise it when the same rows would give other results
func (r *redact) Params() any                { return r.p }
func (*redact) Needs() dataset.Resources     { return dataset.Resources{} } // one CPU slot
func (*redact) Instances() dataset.Instances { return dataset.Any }

// Columns tells which columns are needed: those that are wanted, and our own. nil means all.
func (r *redact) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	return append(append([]string{}, want...), r.p.Column)
}

// RowsOneToOne lets a limit move before redact.
func (*redact) RowsOneToOne() bool { return true }

// CommutesWithFilter lets filters that do not read our column move before redact.
func (r *redact) CommutesWithFilter(columns []string) bool {
	for _, c := range columns {
		if c == r.p.Column {
			return false
		}
	}
	return true
}

// Check says what comes out, or refuses what comes in. It is called before anything runs.
func (r *redact) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	at, err := dataset.FieldIndex(in[0], r.p.Column) // the error suggests the nearest name
	if err != nil {
		return nil, err
	}
	if t := in[0].Field(at).Type; t.ID() != arrow.STRING {
		return nil, fmt.Errorf("column %q is %s, want text", r.p.Column, t)
	}
	return in[0], nil
}

// New makes one instance; there may be several, each on its own goroutine.
func (r *redact) New(in []*arrow.Schema) (dataset.Operator, error) {
	at, err := dataset.FieldIndex(in[0], r.p.Column)
	if err != nil {
		return nil, err
	}
	return &instance{at: at, with: []byte(r.p.With)}, nil
}

// instance is the Operator. Its calls never overlap, so it needs no lock.
type instance struct {
	at   int
	with []byte
	rt   dataset.Runtime
}

// Open keeps the runtime, which gives memory and takes failures.
func (o *instance) Open(_ context.Context, rt dataset.Runtime) error {
	o.rt = rt
	return nil
}

var address = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)

// Process gets a block, which is borrowed, and hands another over. What it builds comes from the budget of the stage.
func (o *instance) Process(_ context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	in := b.Column(o.at).(*array.String)
	out := array.NewStringBuilder(o.rt.Allocator())
	defer out.Release()
	for i := range in.Len() {
		if in.IsNull(i) {
			out.AppendNull()
			continue
		}
		out.Append(string(address.ReplaceAllLiteral([]byte(in.Value(i)), o.with)))
	}
	texts := out.NewArray()
	defer texts.Release()
	cols := make([]arrow.Array, b.NumCols())
	copy(cols, b.Record().Columns())
	cols[o.at] = texts
	return emit(b.Replace(block.FromColumns(b.Schema(), cols, b.NumRows()))) // the same rows, so the same identity
}

// Flush has nothing to give: no row is held back.
func (*instance) Flush(context.Context, dataset.Emit) error { return nil }

// Close has nothing to free.
func (*instance) Close() error { return nil }
