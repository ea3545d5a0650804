package pipeline

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/sluice-data/sluice/dataset"
)

// Pipeline is a parsed pipeline string or job file: a source, steps and perhaps a sink.
type Pipeline struct {
	Source Source
	Steps  []Step
	Sink   *Sink // nil: the result goes to who runs it
	// Warnings are about patterns that probably mean something else than was typed.
	Warnings []string
}

// Pos is a place: a byte of a pipeline string, or, if Line is not zero, a line and column of a job file, both from 1. Column 0 means that only
// the line is known.
type Pos struct {
	Offset int
	Line   int
	Column int

	// text is what follows the place on its line, where that is known of a job file.
	text string
}

func (p Pos) String() string {
	switch {
	case p.Column > 0:
		return fmt.Sprintf("line %d, column %d", p.Line, p.Column)
	case p.Line > 0:
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("at byte %d", p.Offset)
}

// plus is the place n bytes further. In a job file it stays where it is, unless it is within text on one line.
func (p Pos) plus(n int) Pos {
	if p.Line == 0 {
		p.Offset += n
	}
	if n > 0 && n <= len(p.text) {
		p.Column += utf8.RuneCountInString(p.text[:n])
		p.text = p.text[n:]
	}
	return p
}

// Source is where rows come from.
type Source struct {
	Paths   []Path
	From    string // name of the reader, if given by from=
	Options []Option
	Params  map[string]any // options of a job file
	Pos     Pos

	places places
}

// Path is one path of a source. "-", not literal, is standard input.
type Path struct {
	Text    string
	Literal bool // taken as it is, not as a pattern
	Pos     Pos
}

// Option is key=value as typed, the value with its quotes.
type Option struct {
	Name  string
	Value string
	Pos   Pos // of the value
}

// Step is one operator with its arguments, either as typed or, in a job file, as named values.
type Step struct {
	Name    string
	Args    string         // the text after the name
	Params  map[string]any // of a job file's mapping; then Args is empty
	Pos     Pos
	ArgsPos Pos

	places places
}

// Sink is where rows go. "-", not literal, is standard output.
type Sink struct {
	Path    string
	Literal bool
	To      string // name of the writer, if given by to=
	Options []Option
	Params  map[string]any
	Pos     Pos

	places places
}

// places are where the options of a job file are written.
type places map[string]Pos

// of is the place of the option that an error is about, or else pos.
func (p places) of(err error, pos Pos) Pos {
	if e, ok := errors.AsType[*dataset.ParamError](err); ok {
		key, _, _ := strings.Cut(e.Key, ".")
		if at, ok := p[key]; ok {
			return at
		}
	}
	return pos
}

// Error is a mistake at a place of a pipeline string or job file. It wraps a *dataset.UsageError, unless reading something failed.
type Error struct {
	Pos Pos
	Err error
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// usage makes an Error of usage.
func usage(pos Pos, format string, a ...any) *Error {
	return &Error{pos, dataset.Usagef(format, a...)}
}

// Equal says whether two pipelines say the same, wherever they say it.
func (p *Pipeline) Equal(q *Pipeline) bool { return reflect.DeepEqual(p.bare(), q.bare()) }

// bare is a copy without places and warnings.
func (p *Pipeline) bare() Pipeline {
	out := Pipeline{Source: p.Source}
	out.Source.Pos, out.Source.places = Pos{}, nil
	out.Source.Paths, out.Source.Options = nil, bareOptions(p.Source.Options)
	for _, x := range p.Source.Paths {
		out.Source.Paths = append(out.Source.Paths, Path{Text: x.Text, Literal: x.Literal})
	}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, Step{Name: s.Name, Args: s.Args, Params: s.Params})
	}
	if p.Sink != nil {
		s := *p.Sink
		s.Pos, s.places, s.Options = Pos{}, nil, bareOptions(s.Options)
		out.Sink = &s
	}
	return out
}

func bareOptions(in []Option) []Option {
	var out []Option
	for _, o := range in {
		out = append(out, Option{Name: o.Name, Value: o.Value})
	}
	return out
}
