package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// String writes the pipeline as a pipeline string. What Parse read, it reads back equal; the named values of a job file are written as
// key=value for people to read.
func (p *Pipeline) String() string {
	var b strings.Builder
	b.WriteString(p.Source.String())
	for _, s := range p.Steps {
		b.WriteString(" | " + s.String())
	}
	if s := p.Sink; s != nil {
		b.WriteString(" | " + s.String())
	}
	return b.String()
}

// String writes the source as typed.
func (s *Source) String() string {
	var b strings.Builder
	for i, x := range s.Paths {
		if i > 0 {
			b.WriteString(" + ")
		}
		b.WriteString(x.String())
	}
	if s.From != "" {
		b.WriteString(" from=" + dataset.QuoteWord(s.From))
	}
	writeOptions(&b, s.Options, s.Params)
	return b.String()
}

// String writes the step as typed.
func (s *Step) String() string {
	if s.Params == nil && s.Args == "" {
		return s.Name
	}
	if s.Params == nil {
		return s.Name + " " + s.Args
	}
	var b strings.Builder
	b.WriteString(s.Name)
	writeOptions(&b, nil, s.Params)
	return b.String()
}

// String writes the sink as typed.
func (s *Sink) String() string {
	var b strings.Builder
	if s.Literal || s.Path != "-" && !plainPath(s.Path) {
		b.WriteString(dataset.Quote(s.Path))
	} else {
		b.WriteString(s.Path)
	}
	if s.To != "" {
		b.WriteString(" to=" + dataset.QuoteWord(s.To))
	}
	writeOptions(&b, s.Options, s.Params)
	return b.String()
}

// String writes the path so that Parse reads it back equal.
func (p Path) String() string {
	switch {
	case p.Literal:
		return dataset.Quote(p.Text)
	case p.Text == "-" || plainPath(p.Text):
		return p.Text
	}
	return "glob(" + dataset.Quote(p.Text) + ")"
}

// plainPath says whether a path needs no quotes.
func plainPath(s string) bool {
	if s == "" || s == "-" || s == "+" || strings.HasPrefix(s, "glob(") || strings.ContainsAny(s, "\"'`|") {
		return false
	}
	words, err := dataset.Words(s)
	return err == nil && len(words) == 1 && words[0].Text == s
}

// writeOptions writes options; of those that are there in both forms, the text.
func writeOptions(b *strings.Builder, options []Option, params map[string]any) {
	for _, o := range options {
		fmt.Fprintf(b, " %s=%s", o.Name, o.Value)
	}
	if len(options) > 0 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(params)) {
		fmt.Fprintf(b, " %s=%s", k, paramText(params[k]))
	}
}

// paramText writes a value of a job file.
func paramText(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case string:
		if words, err := dataset.Words(x); err == nil && len(words) == 1 && !strings.ContainsAny(x, "\"'`|,\\") {
			return x
		}
		return dataset.Quote(x)
	case []any:
		items := make([]string, len(x))
		for i, it := range x {
			items[i] = paramText(it)
		}
		return strings.Join(items, ",")
	case map[string]any:
		items := make([]string, 0, len(x))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			items = append(items, k+":"+paramText(x[k]))
		}
		return "{" + strings.Join(items, ",") + "}"
	}
	return fmt.Sprint(v)
}
