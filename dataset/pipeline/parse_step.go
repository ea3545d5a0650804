package pipeline

import (
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// parseStep reads one part after the source: an operator, or, if it is the last and looks like one, the sink.
func (p *Pipeline) parseStep(part dataset.Word, last bool, names Names) error {
	pos := Pos{Offset: part.Offset}
	end, err := dataset.Scan(part.Text, 0, func(c byte, _ int) bool { return strings.IndexByte(" \t\r\n", c) >= 0 })
	if err != nil {
		return atPos(pos, "", err)
	}
	first := dataset.Word{Text: part.Text[:end], Offset: part.Offset}
	if isSink(first, names) {
		if !last {
			return usage(pos, "%s looks like a sink, and a sink can only be the last step", first.Text)
		}
		return p.parseSink(part, first)
	}
	if ext := extension(first.Text); last && ext != "" && !names.IsOperator(first.Text) {
		return usage(pos, "%s is no step, and .%s is no known extension of a file to write; name the format with --to and quote the path", first.Text, ext)
	}
	if i := strings.IndexAny(first.Text, "\"'`()[]{}|=,"); i >= 0 {
		return usage(pos, "%s is no step; a step starts with its name", first.Text)
	}
	args := trim(part.Text, end, len(part.Text))
	p.Steps = append(p.Steps, Step{Name: first.Text, Args: args.Text, Pos: pos, ArgsPos: pos.plus(args.Offset)})
	return nil
}

// isSink applies the rules for the first word of the last step.
func isSink(w dataset.Word, names Names) bool {
	switch {
	case w.Quoted() || w.Text == "-":
		return true
	case names.IsOperator(w.Text):
		return false
	}
	return strings.ContainsAny(w.Text, "/:") || names.IsExtension(extension(w.Text))
}

func (p *Pipeline) parseSink(part, first dataset.Word) error {
	ws, err := words(part)
	if err != nil {
		return err
	}
	s := &Sink{Path: first.Text, Literal: first.Quoted(), Pos: Pos{Offset: part.Offset}}
	if s.Literal {
		if s.Path, err = first.Unquote(); err != nil {
			return atPos(Pos{}, "", err)
		}
		if s.Path == "" {
			return usage(s.Pos, "the path to write to is empty")
		}
	} else if i := strings.IndexAny(s.Path, "\"'`|"); i >= 0 {
		return usage(s.Pos.plus(i), "%q within a path; quote the whole path", s.Path[i])
	}
	if s.Options, err = parseOptions(ws[1:], "quote paths with spaces"); err != nil {
		return err
	}
	if s.To, s.Options, err = takeOption(s.Options, "to"); err != nil {
		return err
	}
	p.Sink = s
	return nil
}
