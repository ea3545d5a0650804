package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// maxText is the longest pipeline string; longer ones are no string that somebody typed.
const maxText = 1 << 20

// Names is what the grammar has to know: which first words are steps, and which extensions belong to a reader or writer.
type Names interface {
	IsOperator(name string) bool
	IsExtension(ext string) bool
}

// Parse reads a pipeline string. Mistakes are *Error with the byte offset.
func Parse(text string, names Names) (*Pipeline, error) {
	if len(text) > maxText {
		return nil, usage(Pos{}, "the pipeline has %d bytes, at most %d are read", len(text), maxText)
	}
	parts, err := split(text)
	if err != nil {
		return nil, atPos(Pos{}, "", err)
	}
	p := &Pipeline{}
	if err := p.parseSource(parts[0]); err != nil {
		return nil, err
	}
	for i, part := range parts[1:] {
		last := i == len(parts)-2
		if err := p.parseStep(part, last, names); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// split cuts the text at each single | outside quotes and brackets.
func split(text string) ([]dataset.Word, error) {
	var parts []dataset.Word
	for at := 0; ; {
		second := -1 // of a doubled |
		end, err := dataset.Scan(text, at, func(c byte, i int) bool {
			if c != '|' || i == second {
				return false
			}
			if i+1 < len(text) && text[i+1] == '|' {
				second = i + 1
				return false
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		w := trim(text, at, end)
		if w.Text == "" {
			return nil, &dataset.SyntaxError{Offset: w.Offset, Msg: emptyStep(len(parts) == 0, end == len(text))}
		}
		parts = append(parts, w)
		if end == len(text) {
			return parts, nil
		}
		at = end + 1
	}
}

func emptyStep(first, last bool) string {
	switch {
	case first && last:
		return "the pipeline is empty; it starts with a source, such as 'events.jsonl | limit 5'"
	case first:
		return "the source is missing before |"
	case last:
		return "a step is missing after |"
	}
	return "a step is missing between | and |"
}

// trim is text[from:to] without outer spaces.
func trim(text string, from, to int) dataset.Word {
	const space = " \t\r\n"
	t := strings.TrimLeft(text[from:to], space)
	return dataset.Word{Text: strings.TrimRight(t, space), Offset: to - len(t)}
}

// atPos makes an Error of err, which says where in its own text the mistake is, if it knows.
func atPos(pos Pos, what string, err error) *Error {
	if what != "" {
		what += ": "
	}
	if s, ok := errors.AsType[*dataset.SyntaxError](err); ok {
		return &Error{pos.plus(s.Offset), &dataset.UsageError{Err: &messageError{what + s.Msg, s}}}
	}
	return &Error{pos, &dataset.UsageError{Err: fmt.Errorf("%s%w", what, err)}}
}

// messageError replaces the text of an error whose place has been moved into an Error.
type messageError struct {
	msg string
	err error
}

func (e *messageError) Error() string { return e.msg }
func (e *messageError) Unwrap() error { return e.err }

// words splits a part and places its words in the whole text.
func words(part dataset.Word) ([]dataset.Word, error) {
	ws, err := dataset.Words(part.Text)
	if err != nil {
		return nil, atPos(Pos{Offset: part.Offset}, "", err)
	}
	for i := range ws {
		ws[i].Offset += part.Offset
	}
	return ws, nil
}

func (p *Pipeline) parseSource(part dataset.Word) error {
	ws, err := words(part)
	if err != nil {
		return err
	}
	p.Source.Pos = Pos{Offset: part.Offset}
	for len(ws) > 0 {
		path, err := parsePath(ws[0])
		if err != nil {
			return err
		}
		p.addPath(path)
		ws = ws[1:]
		if len(ws) == 0 || ws[0].Text != "+" {
			break
		}
		if len(ws) == 1 {
			return usage(Pos{Offset: ws[0].Offset}, "a path is missing after +")
		}
		ws = ws[1:]
	}
	for i, w := range ws {
		if w.Text == "+" && i > 0 {
			return usage(Pos{Offset: w.Offset}, "options follow the last path and hold for all of them")
		}
	}
	p.Source.Options, err = parseOptions(ws, "join paths with +, quote paths with spaces, divide steps with |")
	if err != nil {
		return err
	}
	p.Source.From, p.Source.Options, err = takeOption(p.Source.Options, "from")
	return err
}

func (p *Pipeline) addPath(x Path) {
	p.Source.Paths = append(p.Source.Paths, x)
	if x.Literal {
		return
	}
	for _, seg := range strings.Split(x.Text, "/") {
		if strings.Contains(seg, "**") && strings.Trim(seg, "*") != "" {
			good := strings.Replace(x.Text, seg, "**/"+strings.Replace(seg, "**", "*", 1), 1)
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %s does not look into folders; for that write %s", x.Text, seg, good))
		}
	}
}

// parsePath reads one path: quoted is literal, glob("…") is a pattern, anything else a pattern without quotes.
func parsePath(w dataset.Word) (Path, error) {
	pos := Pos{Offset: w.Offset}
	inner, forced := strings.CutPrefix(w.Text, "glob(")
	switch {
	case w.Quoted():
		s, err := w.Unquote()
		if err != nil {
			return Path{}, atPos(Pos{}, "", err)
		}
		if s == "" {
			return Path{}, usage(pos, "the path is empty")
		}
		return Path{Text: s, Literal: true, Pos: pos}, nil
	case forced:
		body, ok := strings.CutSuffix(inner, ")")
		b := trim(body, 0, len(body))
		if !ok || !b.Quoted() {
			return Path{}, usage(pos, `write a pattern as glob("…")`)
		}
		b.Offset += w.Offset + len("glob(")
		s, err := b.Unquote()
		if err != nil {
			return Path{}, atPos(Pos{}, "", err)
		}
		if s == "" || s == "-" {
			return Path{}, usage(pos, "the pattern %q matches nothing", s)
		}
		return Path{Text: s, Pos: pos}, nil
	case w.Text == "+":
		return Path{}, usage(pos, "a path is missing before +")
	}
	if i := strings.IndexAny(w.Text, "\"'`|"); i >= 0 {
		return Path{}, usage(pos.plus(i), "%q within a path; quote the whole path", w.Text[i])
	}
	return Path{Text: w.Text, Pos: pos}, nil
}

func parseOptions(ws []dataset.Word, hint string) ([]Option, error) {
	var out []Option
	for _, w := range ws {
		key, value, ok := w.Option()
		if !ok {
			return nil, usage(Pos{Offset: w.Offset}, "unexpected %s: only options key=value follow a path; %s", w.Text, hint)
		}
		if slices.ContainsFunc(out, func(o Option) bool { return o.Name == key }) {
			return nil, usage(Pos{Offset: w.Offset}, "%s is given twice", key)
		}
		out = append(out, Option{key, value.Text, Pos{Offset: value.Offset}})
	}
	return out, nil
}

// takeOption removes a reserved option and returns its value.
func takeOption(opts []Option, name string) (string, []Option, error) {
	i := slices.IndexFunc(opts, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return "", opts, nil
	}
	o := opts[i]
	v, err := dataset.Word{Text: o.Value, Offset: o.Pos.Offset}.Unquote()
	if err != nil {
		return "", nil, atPos(Pos{}, "", err)
	}
	if v == "" {
		return "", nil, usage(o.Pos, "%s is empty", name)
	}
	rest := slices.Delete(slices.Clone(opts), i, i+1)
	if len(rest) == 0 {
		rest = nil
	}
	return v, rest, nil
}
