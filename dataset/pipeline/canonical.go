package pipeline

import (
	"context"
	"fmt"
	"reflect"

	"github.com/sluice-data/sluice/dataset"
)

// Canonical writes every argument of a pipeline in one way, whichever of the two it was read from: steps as the text that follows their name,
// options of source and sink as values both of pipeline strings and of job files. The result makes the plan that p makes. Opens nothing;
// names of a folder are listed where only they tell the reader of options.
func (e Env) Canonical(ctx context.Context, p *Pipeline) (*Pipeline, error) {
	out := &Pipeline{Source: p.Source, Warnings: p.Warnings}
	if e.From != "" {
		out.Source.From = e.From
	}
	if len(p.Source.Options)+len(p.Source.Params) > 0 {
		def, err := e.reader(ctx, &out.Source)
		if err != nil {
			return nil, err
		}
		if out.Source.Options, out.Source.Params, err = canonicalOptions(def.Name, def.Zero, p.Source.Options, p.Source.Params, p.Source.places, p.Source.Pos); err != nil {
			return nil, err
		}
	}
	for i := range p.Steps {
		s, err := e.canonicalStep(&p.Steps[i])
		if err != nil {
			return nil, err
		}
		out.Steps = append(out.Steps, s)
	}
	if p.Sink == nil {
		return out, nil
	}
	sink := *p.Sink
	if out.Sink = &sink; e.To != "" {
		sink.To = e.To
	}
	if len(sink.Options)+len(sink.Params) == 0 {
		return out, nil
	}
	def, err := e.writer(&sink)
	if err != nil {
		return nil, err
	}
	sink.Options, sink.Params, err = canonicalOptions(def.Name, def.Zero, p.Sink.Options, p.Sink.Params, p.Sink.places, p.Sink.Pos)
	return out, err
}

// canonicalStep writes the arguments of a step as text, or leaves named values that no text can say.
func (e Env) canonicalStep(s *Step) (Step, error) {
	out := Step{Name: s.Name, Pos: s.Pos, ArgsPos: s.ArgsPos}
	def, err := e.Registry.Operator(s.Name)
	if err != nil {
		return out, &Error{s.Pos, err}
	}
	params, err := stepParams(def, s)
	if err != nil || params == nil {
		return out, err
	}
	var zero any
	if def.Zero != nil {
		zero = def.Zero()
	}
	text, err := dataset.ArgsText(params, zero)
	if err == nil {
		again, rerr := stepParams(def, &Step{Name: s.Name, Args: text})
		if rerr == nil && sameParams(params, again) {
			out.Args = text
			return out, nil
		}
	}
	out.Args, out.Params = s.Args, s.Params // as it was written
	return out, nil
}

// canonicalOptions gives the options that differ from the defaults in both forms.
func canonicalOptions(what string, zero func() any, options []Option, params map[string]any, at places, pos Pos) ([]Option, map[string]any, error) {
	filled, err := fill(what, zero, options, params, at, pos)
	if err != nil {
		return nil, nil, err
	}
	texts, err := dataset.OptionTexts(filled, zero())
	if err != nil {
		return nil, nil, &Error{pos, fmt.Errorf("%s: %w", what, err)}
	}
	var opts []Option
	named := map[string]any{}
	for _, t := range texts {
		opts = append(opts, Option{Name: t.Name, Value: t.Text, Pos: pos})
		named[t.Name] = t.Any
	}
	byText, err := fill(what, zero, opts, nil, nil, pos)
	if err != nil || !sameParams(filled, byText) {
		return nil, nil, usage(pos, "%s: the options cannot be written as a pipeline string", what)
	}
	byName, err := fill(what, zero, nil, named, nil, pos)
	if err != nil || !sameParams(filled, byName) {
		return nil, nil, usage(pos, "%s: the options cannot be written as a job file", what)
	}
	if len(named) == 0 {
		named = nil
	}
	return opts, named, nil
}

// sameParams compares parameters by what they say, for which a list that is empty and one that is missing are the same.
func sameParams(a, b any) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, xerr := dataset.OptionTexts(a, nil)
	y, yerr := dataset.OptionTexts(b, nil)
	return xerr == nil && yerr == nil && reflect.DeepEqual(x, y)
}

// Text writes a pipeline that Env.Canonical made as a pipeline string that Parse reads back, or says what of it only a job file can hold.
func (p *Pipeline) Text(names Names) (string, error) {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Params != nil {
			return "", usage(s.Pos, "the values of %s cannot be written in a pipeline string; keep the job file", s.Name)
		}
	}
	text := p.String()
	again, err := Parse(text, names)
	if err != nil || !again.Equal(p.without(true)) {
		return "", usage(p.Source.Pos, "the job cannot be written as a pipeline string without changing it (%s); keep the job file", text)
	}
	return text, nil
}

// without is a copy that has its options in one form only.
func (p *Pipeline) without(params bool) *Pipeline {
	out := *p
	sink := Sink{}
	if p.Sink != nil {
		sink = *p.Sink
		out.Sink = &sink
	}
	if params {
		out.Source.Params, sink.Params = nil, nil
	} else {
		out.Source.Options, sink.Options = nil, nil
	}
	return &out
}
