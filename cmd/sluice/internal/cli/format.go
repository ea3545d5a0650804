package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/cmd/sluice/internal/gocode"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// The forms of a pipeline.
const (
	formText = "pipeline"
	formJob  = "yaml"
	formGo   = "go"
)

func (a *app) fmtCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fmt 'PIPELINE' | JOB.yaml",
		Short: "Write a pipeline as a job file, or a job file as a pipeline, or either as a Go program",
		Long: `Write a pipeline string as a job file, or a job file as a pipeline string, without loss: both make the same plan. --to yaml,
--to pipeline and --to go choose the form. What is as by default is left out; comments are not kept. Placeholders of a job file are filled from --set.

A Go program is one way: it does the same through the Go API, and can be compiled as it is.

  sluice fmt 'events.jsonl | where score > 0.9 | out.parquet' > job.yaml
  sluice fmt job.yaml
  sluice fmt --to go job.yaml > main.go`,
		Args: exactly(1, "one pipeline in quotes, or a job file"),
		RunE: func(c *cobra.Command, args []string) error { return a.format(c.Context(), args[0]) },
	}
}

// format prints a pipeline in another form.
func (a *app) format(ctx context.Context, arg string) (err error) {
	parse, to := a.parseText(arg), formJob
	if isJob(arg) {
		parse, to = a.parseJob(arg), formText
	}
	switch form := a.flags.to; form {
	case "":
	case formText, formJob, formGo:
		to = form
	default:
		return dataset.Usagef("fmt: --to is %q, want yaml, pipeline or go%s", form, dataset.DidYouMean(form, []string{formText, formJob, formGo}))
	}
	s, err := a.Open(ctx, Settings{MemoryBytes: a.DefaultMemory()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	names := pipeline.NamesOf(s.Registry())
	parsed, err := parse(names)
	if err != nil {
		return err
	}
	env := pipeline.Env{Registry: s.Registry(), Runner: s.Runner(), From: a.flags.from}
	canonical, err := env.Canonical(ctx, parsed)
	if err != nil {
		return err
	}
	out, err := formatted(canonical, names, to)
	if err != nil {
		return err
	}
	for _, w := range parsed.Warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", printable(w))
	}
	_, err = a.Stdout.Write(out)
	return err
}

func formatted(p *pipeline.Pipeline, names pipeline.Names, to string) ([]byte, error) {
	if to == formJob {
		return p.Job()
	}
	text, err := p.Text(names)
	if err != nil {
		return nil, err
	}
	if to == formGo {
		return gocode.Program(p, text)
	}
	return []byte(text + "\n"), nil
}
