package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// Env is what a pipeline is built with.
type Env struct {
	Registry *dataset.Registry
	Runner   dataset.Runner
	From, To string // reader and writer, whatever the pipeline says
	// Names lists the files of a folder or pattern, any order; nil lists local ones. It is asked only where the path alone does not tell
	// the reader, and is left after maxNames.
	Names func(ctx context.Context, p dataset.Pattern) iter.Seq2[string, error]
	// Stdin returns the first bytes of standard input and leaves them there; nil or no bytes mean that nothing is known.
	Stdin func(ctx context.Context) ([]byte, error)
}

// Built is a pipeline that can run.
type Built struct {
	Dataset  dataset.Dataset
	Sink     dataset.Sink // nil if the pipeline has none
	Reader   string       // name of the source that was chosen
	Writer   string       // name of the sink that was chosen
	Warnings []string

	places map[*dataset.Node]place
	sink   Pos
}

// place is where a node was written.
type place struct {
	pos  Pos
	args Pos
	expr int // where in the arguments the expression begins; -1 if that is not known
	name string
}

// Output binds the dataset to the sink.
func (b *Built) Output() dataset.Output { return b.Dataset.To(b.Sink) }

// Build turns a parsed pipeline into a dataset. Mistakes are *Error.
func (e Env) Build(ctx context.Context, p *Pipeline) (*Built, error) {
	b := &Built{Warnings: slices.Clone(p.Warnings), places: map[*dataset.Node]place{}}
	src, err := e.source(ctx, &p.Source, b)
	if err != nil {
		return nil, err
	}
	b.Dataset = dataset.From(src, e.Runner)
	b.places[b.Dataset.Node()] = place{pos: p.Source.Pos, args: p.Source.Pos, expr: -1}
	for i := range p.Steps {
		if err := e.step(&p.Steps[i], b); err != nil {
			return nil, err
		}
	}
	if p.Sink != nil {
		if b.Sink, err = e.sink(p.Sink, b); err != nil {
			return nil, err
		}
		b.sink = p.Sink.Pos
	}
	return b, nil
}

// step appends one operator.
func (e Env) step(s *Step, b *Built) error {
	def, err := e.Registry.Operator(s.Name)
	if err != nil {
		return &Error{s.Pos, err}
	}
	params, err := stepParams(def, s)
	if err != nil {
		return err
	}
	pl := place{pos: s.Pos, args: s.ArgsPos, expr: exprOffset(params, s.Args), name: s.Name}
	spec, err := def.New(params)
	if err != nil {
		return pl.located(err)
	}
	b.Dataset = b.Dataset.Via(spec)
	if err := b.Dataset.Err(); err != nil {
		return pl.located(err)
	}
	b.places[b.Dataset.Node()] = pl
	return nil
}

// stepParams fills the parameters of a step.
func stepParams(def dataset.Def, s *Step) (any, error) {
	if s.Params == nil && def.Parse != nil {
		params, err := def.Parse(s.Args)
		if err != nil {
			return nil, atPos(s.ArgsPos, s.Name, err)
		}
		return params, nil
	}
	if def.Zero == nil {
		if s.Args != "" || len(s.Params) > 0 {
			return nil, usage(s.ArgsPos, "%s takes no arguments", s.Name)
		}
		return nil, nil
	}
	params := def.Zero()
	if s.Params != nil {
		if err := dataset.ParamsFromMap(s.Params, params); err != nil {
			return nil, atPos(s.places.of(err, s.ArgsPos), s.Name, err)
		}
		return params, nil
	}
	if err := dataset.ParseArgs(s.Args, params); err != nil {
		return nil, atPos(s.ArgsPos, s.Name, err)
	}
	return params, nil
}

// located places an error of making or checking a step: at the step, or within its expression if the error knows where.
func (p place) located(err error) *Error {
	if se, ok := errors.AsType[*expr.SyntaxError](err); ok {
		return p.within(se.Offset, se.Msg, err)
	}
	if te, ok := errors.AsType[*expr.TypeError](err); ok {
		return p.within(te.Offset, te.Msg, err)
	}
	if u, ok := errors.AsType[*dataset.UsageError](err); ok { // the name of the step is already there
		return &Error{p.pos, u}
	}
	return atPos(p.pos, p.name, err)
}

func (p place) within(offset int, msg string, err error) *Error {
	pos := p.args
	if p.expr >= 0 {
		pos = pos.plus(p.expr + offset)
	}
	return &Error{pos, &dataset.UsageError{Err: &messageError{p.name + ": " + msg, err}}}
}

// exprOffset finds where in args the parameter begins that holds the text up to the end, which is where expressions stand; -1 if
// there is none.
func exprOffset(params any, args string) int {
	data, err := json.Marshal(params)
	var m map[string]any
	if err != nil || json.Unmarshal(data, &m) != nil {
		return -1
	}
	best := -1
	for _, v := range m {
		if s, ok := v.(string); ok && s != "" && strings.HasSuffix(args, s) && (best < 0 || len(args)-len(s) < best) {
			best = len(args) - len(s)
		}
	}
	return best
}

// Check computes the schema of every step and asks the sink, so that mistakes of the plan are found before anything runs, each with its
// place. Sources may read their sample.
func (b *Built) Check(ctx context.Context) error {
	if err := b.Dataset.Err(); err != nil {
		return err
	}
	schemas := dataset.NewSchemas()
	var first error
	dataset.Walk(func(n *dataset.Node) {
		if first != nil {
			return
		}
		if _, err := schemas.Of(ctx, n); err != nil {
			if u, ok := errors.AsType[*dataset.UsageError](err); ok {
				first = b.places[n].located(u)
			} else {
				first = err
			}
		}
	}, b.Dataset.Node())
	if first != nil || b.Sink == nil {
		return first
	}
	schema, err := schemas.Of(ctx, b.Dataset.Node())
	if err != nil {
		return err
	}
	if err := b.Sink.Check(schema); err != nil {
		return &Error{b.sink, &dataset.UsageError{Err: fmt.Errorf("%s: %w", b.Writer, err)}}
	}
	return nil
}

// fill sets the parameters of a source or sink.
func fill(what string, zero func() any, options []Option, params map[string]any, at places, pos Pos) (any, error) {
	var out any
	if zero != nil {
		out = zero()
	}
	if out == nil {
		if len(options)+len(params) > 0 {
			return nil, usage(pos, "%s takes no options", what)
		}
		return nil, nil
	}
	for _, o := range options {
		if err := dataset.SetOption(out, o.Name, o.Value); err != nil {
			if errors.Is(err, dataset.ErrUnknownOption) {
				o.Pos.Offset -= len(o.Name) + 1 // the name is before the value
			}
			return nil, atPos(o.Pos, what, err)
		}
	}
	if err := dataset.ParamsFromMap(params, out); err != nil {
		return nil, atPos(at.of(err, pos), what, err)
	}
	return out, nil
}
