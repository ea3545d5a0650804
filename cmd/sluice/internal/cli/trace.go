package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/cmd/sluice/internal/trace"
	"github.com/sluice-data/sluice/dataset"
)

// traceRows is how many rows --trace follows unless told, and mostTraced how many it may.
const (
	traceRows  = 3
	mostTraced = 100
)

// traced runs a few rows through the pipeline and shows what every step does with them. Nothing is written.
func (a *app) traced(ctx context.Context, command string, parse parser) (err error) {
	n := a.flags.see.sample
	if n < 1 || n > mostTraced {
		return dataset.Usagef("--sample is %d, want 1 to %d", n, mostTraced)
	}
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, command, parse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	t, err := trace.Run(ctx, j.session.Runner(), j.built.Dataset.Node(), n, j.settings.Options)
	if err != nil {
		return err
	}
	defer t.Release()
	p := &tracePrinter{job: j, shown: n, mode: a.pictures()}
	if err := p.print(ctx, t); err != nil {
		return err
	}
	j.warnings()
	return nil
}

// tracePrinter shows a trace.
type tracePrinter struct {
	*job
	shown int // rows of each step
	mode  pictureMode
}

func (p *tracePrinter) print(ctx context.Context, t *trace.Trace) error {
	for i, s := range t.Stages {
		if err := p.stage(ctx, t, i, s); err != nil {
			return err
		}
	}
	if p.parsed.Sink == nil {
		return nil
	}
	_, err := fmt.Fprintf(p.Stdout, "%s\n%s\n", p.heading(p.parsed.Sink.String()), dim(p.Stdout, "a trace writes nothing"))
	return err
}

// stage shows one stage: what it is, what it did to the columns, its rows, and the rows that it dropped.
func (p *tracePrinter) stage(ctx context.Context, t *trace.Trace, i int, s *trace.Stage) error {
	name := p.parsed.Source.String()
	var before *trace.Stage
	if i > 0 {
		name, before = p.parsed.Steps[i-1].String(), t.Stages[i-1]
	}
	text := p.heading(name) + "\n" + dim(p.Stdout, p.wrapped(p.sentence(t, s, before))) + "\n"
	if _, err := fmt.Fprint(p.Stdout, text); err != nil {
		return err
	}
	if s.Rows.Len() > 0 {
		if err := p.rows(ctx, s.Rows, before); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(p.Stdout, p.wrapped(p.lost(s))+"\n")
	return err
}

// wrapped breaks lines between words, as a terminal would not.
func (p *tracePrinter) wrapped(text string) string { return wrap(text, outputWidth(p.Stdout)) }

// heading is the line above a step.
func (p *tracePrinter) heading(name string) string {
	return bold(p.Stdout, "── "+printable(clipRunes(name, outputWidth(p.Stdout)-3)))
}

// sentence says what went in and came out.
func (p *tracePrinter) sentence(t *trace.Trace, s, before *trace.Stage) string {
	out := int64(s.Rows.Len())
	if before == nil {
		text := "read " + rows(out)
		if t.Ended {
			text += ", which are all"
		}
		if s.Rows.Len() > p.shown {
			text += fmt.Sprintf(": the first %s gave no row at the end", count(int64(p.shown)))
		}
		return text
	}
	text := fmt.Sprintf("%s in, %s out", rows(int64(s.In)), count(out))
	if s.More {
		text += " and more"
	}
	if s.Mixed {
		text += "; in a run it sees all rows, here only these"
	}
	if change := columnChange(before.Rows.Schema, s.Rows.Schema); change != "" {
		text += "; " + change
	}
	return text
}

// lost names the rows that a step dropped, and those that failed with their error.
func (p *tracePrinter) lost(s *trace.Stage) string {
	text := ""
	if n := len(s.Dropped); n > 0 {
		text += fmt.Sprintf("dropped %s\n", labelList(s.Dropped))
	}
	for i, f := range s.Failed {
		switch {
		case i == maxExamples:
			return text + fmt.Sprintf("… and %s more failed\n", count(int64(len(s.Failed)-i)))
		case f.Cause == "":
			text += fmt.Sprintf("failed %s more: %s\n", count(f.Count), printable(f.Class))
		default:
			text += fmt.Sprintf("failed %s: %s\n", printable(f.Label), printable(firstLine(f.Cause)))
		}
	}
	return text
}

// labelList names rows: row 2, rows 1 to 3 and 7.
func labelList(labels []string) string {
	const most = 12
	if len(labels) == 1 {
		return "row " + labels[0]
	}
	text := "rows "
	for i, l := range labels {
		if i == most {
			return text + fmt.Sprintf(" and %s more", count(int64(len(labels)-most)))
		}
		if i > 0 {
			text += ", "
		}
		text += l
	}
	return text
}
