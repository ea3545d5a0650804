package operators

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// WithParams are the parameters of with.
type WithParams struct {
	Column string `json:"column" doc:"the column to add or replace"`
	Expr   string `json:"expr" doc:"what it holds"`
}

func init() {
	define(dataset.Def{
		Name: "with",
		Doc:  "add or replace a column by an expression",
		Help: "A new column comes last, a replaced one keeps its place. A row for which the expression cannot be computed " +
			"(an overflow, a failed cast) is a row error; try_cast and ?? avoid it.",
		Example: "with len = length(text)",
		Parse:   parseWith,
	}, WithParams{}, With)
}

// parseWith reads NAME = EXPR; a name in quotes may hold anything.
func parseWith(text string) (any, error) {
	const form = "write with NAME = EXPRESSION"
	rest := strings.TrimLeft(text, " \t\n\r")
	skipped := len(text) - len(rest)
	p := &WithParams{}
	if rest != "" && strings.ContainsRune("\"'`", rune(rest[0])) {
		name, end, err := dataset.ScanQuoted(rest, 0)
		if err != nil {
			return nil, err
		}
		p.Column, rest = name, rest[end:]
	} else {
		end := strings.IndexAny(rest, "= \t\n\r")
		if end < 0 {
			return nil, &dataset.SyntaxError{Offset: skipped, Msg: form}
		}
		p.Column, rest = rest[:end], rest[end:]
	}
	eq := strings.TrimLeft(rest, " \t\n\r")
	if p.Column == "" || !strings.HasPrefix(eq, "=") || strings.HasPrefix(eq, "==") {
		return nil, &dataset.SyntaxError{Offset: len(text) - len(eq), Msg: form}
	}
	p.Expr = strings.TrimSpace(eq[1:])
	return p, nil
}

// ArgsText implements dataset.ArgsTexter.
func (p WithParams) ArgsText() string {
	name := dataset.QuoteWord(p.Column)
	if strings.Contains(name, "=") && name == p.Column {
		name = dataset.Quote(name)
	}
	return name + " = " + p.Expr
}

// With adds or replaces a column by an expression.
func With(p WithParams) (dataset.Spec, error) {
	if p.Column == "" || p.Expr == "" {
		return nil, errors.New("it needs a column and an expression: with NAME = EXPRESSION")
	}
	e, err := expr.Parse(p.Expr)
	if err != nil {
		return nil, err
	}
	return &with{column: p.Column, expr: e}, nil
}

type with struct {
	rowwise
	column string
	expr   *expr.Expr
}

var (
	_ dataset.Columner       = (*with)(nil)
	_ dataset.OneToOne       = (*with)(nil)
	_ dataset.FilterCommuter = (*with)(nil)
)

func (*with) Name() string { return "with" }

// Params holds the canonical text, so that spelling does not change a plan's fingerprint.
func (w *with) Params() any { return WithParams{w.column, w.expr.String()} }

// Columns implements dataset.Columner.
func (w *with) Columns(_ *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := []string{}
	for _, c := range want {
		if c != w.column {
			need = append(need, c)
		}
	}
	return needed(need, w.expr.Columns()...)
}

// RowsOneToOne implements dataset.OneToOne.
func (*with) RowsOneToOne() bool { return true }

// CommutesWithFilter implements dataset.FilterCommuter.
func (w *with) CommutesWithFilter(columns []string) bool {
	for _, c := range columns {
		if c == w.column {
			return false
		}
	}
	return true
}

func (w *with) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	prog, err := expr.Compile(w.expr, s)
	if err != nil {
		return nil, err
	}
	out, _ := w.output(s, prog.Type())
	return out, nil
}

// output returns the schema with the column set, and its place.
func (w *with) output(s *arrow.Schema, t arrow.DataType) (*arrow.Schema, int) {
	f := arrow.Field{Name: w.column, Type: t, Nullable: true}
	if c, ok := w.expr.Column(); ok {
		f.Metadata = s.Field(s.FieldIndices(c)[0]).Metadata
	}
	fields, at := s.Fields(), s.NumFields()
	if ix := s.FieldIndices(w.column); len(ix) > 0 {
		at = ix[0]
		fields[at] = f
	} else {
		fields = append(fields, f)
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), at
}

func (w *with) New(in []*arrow.Schema) (dataset.Operator, error) {
	prog, err := expr.Compile(w.expr, in[0])
	if err != nil {
		return nil, err
	}
	out, at := w.output(in[0], prog.Type())
	return &stateless{process: func(_ context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		col, failed, err := prog.Eval(rt.Allocator(), b.Record())
		if err != nil {
			return err
		}
		defer col.Release()
		cols := make([]arrow.Array, out.NumFields())
		copy(cols, b.Record().Columns())
		cols[at] = col
		full := b.Replace(block.FromColumns(out, cols, b.NumRows()))
		if len(failed) == 0 {
			return emit(full)
		}
		defer full.Release()
		rows := make([]int, len(failed))
		for i, f := range failed {
			rows[i] = f.Row
			if err := rt.Fail(b, f.Row, fmt.Errorf("compute %q: %w", w.column, f.Err)); err != nil {
				return err
			}
		}
		return emitWithout(rt, full, rows, emit)
	}}, nil
}

// emitWithout emits the rows of b but those at the given ascending places. b is borrowed.
func emitWithout(rt dataset.Runtime, b *block.Block, gone []int, emit dataset.Emit) error {
	keep := make([]uint32, 0, b.NumRows()-len(gone))
	for i := range b.NumRows() {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			continue
		}
		keep = append(keep, uint32(i))
	}
	if len(keep) == 0 {
		return nil
	}
	out, err := block.Take(rt.Allocator(), b, keep)
	if err != nil {
		return err
	}
	return emit(out)
}
