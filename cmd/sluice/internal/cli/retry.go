package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
	"github.com/sluice-data/sluice/executor/commit"
)

// retrier is a Runner that can run a plan on failed rows only.
type retrier interface {
	Retry(ctx context.Context, p *dataset.Plan, run string) error
}

func (a *app) retryCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "retry RUN|PATH ['PIPELINE']",
		Short: "Try the failed rows of a run again and add those that pass to its result",
		Long: `Try the rows that a run with --on-error dead-letter set aside again, and only those, and add what comes out of them to the same result.

The pipeline is that of the run unless another one is given: steps and their options may differ, the source and the columns of the result
may not. Rows that fail again stay set aside (exit code 3). A file that changed since it was read is refused: the row that failed is not
there any more.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return dataset.Usagef("%s takes a run or a result, and perhaps one pipeline in quotes; it got %d arguments", c.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.retry(c.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
}

func (a *app) retry(ctx context.Context, what, text string) (err error) {
	if a.flags.overwrite || a.flags.appendRows {
		return dataset.Usagef("retry adds to the result of its run; it takes neither --overwrite nor --append")
	}
	res, err := a.findResult(ctx, what)
	if err != nil {
		return err
	}
	left, err := commit.FindLeftover(ctx, res.store, res.run)
	if err != nil {
		return err
	}
	if left == nil {
		if !a.flags.quiet {
			fmt.Fprintf(a.Stderr, "no failed row of %s waits to be tried again\n", printable(what))
		}
		return nil
	}
	begun, err := commit.ReadBegun(ctx, res.store, left.Root.Run)
	if err != nil {
		return err
	}
	if err := enter("retry run "+left.Root.Run, begun); err != nil {
		return err
	}
	a.flags.onError = string(dataset.OnErrorDeadLetter)
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, "retry "+left.Root.Run, a.parseRetry(begun, text))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	return j.runRetry(ctx, res, left, begun, text == "")
}

// parseRetry reads the pipeline that was given, ending it in the sink of the run, or that of the run.
func (a *app) parseRetry(begun *commit.Begun, text string) parser {
	return func(names pipeline.Names) (*pipeline.Pipeline, error) {
		was, err := pipeline.Parse(begun.Command, names)
		if err != nil && text == "" {
			return nil, dataset.Usagef("the log of the run has no pipeline that could be run again (%s); give the pipeline: sluice retry RUN 'SOURCE | STEP | …'", begun.Command)
		}
		a.text = begun.Command
		if text == "" {
			return was, nil
		}
		a.text = strings.TrimPrefix(text, " ")
		p, perr := pipeline.Parse(a.text, names)
		if perr == nil && p.Sink == nil && err == nil {
			p.Sink = was.Sink
		}
		return p, perr
	}
}

// runRetry checks that the pipeline ends where the run did, and runs it on the failed rows.
func (j *job) runRetry(ctx context.Context, res *result, left *commit.Leftover, begun *commit.Begun, own bool) error {
	runner, ok := j.session.Runner().(retrier)
	if !ok {
		return dataset.Usagef("retry: this engine cannot try single rows again")
	}
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	t, ok := j.built.Sink.(dataset.Target)
	if !ok || strings.TrimSuffix(commit.Absolute(t.Locator()), "/") != strings.TrimSuffix(res.path, "/") {
		return dataset.Usagef("retry run %s: its rows go to %s; end the pipeline there, or leave its sink out", left.Root.Run, res.path)
	}
	if own {
		was, err := commit.ReadPlan(left.Root.Manifest.Plan)
		if err != nil {
			return err
		}
		if err := j.refuseOther(ctx, was, "retry run "+left.Root.Run, "give the pipeline to run its failed rows on another one"); err != nil {
			return err
		}
	}
	plan, err := dataset.NewPlan(j.settings.Options, j.built.Output())
	if err != nil {
		return err
	}
	j.elsewhere = true
	_, stop, err := j.watch(ctx, j.built.Sink)
	if err != nil {
		return err
	}
	err = runner.Retry(ctx, plan, left.Root.Run)
	stop(plan.Report, err)
	if err != nil {
		j.problems(plan.Report)
		return err
	}
	if deadLetters(plan.Report) > 0 {
		j.code = exitDeadLetters
	}
	j.summary(plan.Report, nil)
	return nil
}

// refuseOther refuses when the pipeline does not give the plan that a run had.
func (j *job) refuseOther(ctx context.Context, was *commit.StoredPlan, what, remedy string) error {
	diff, err := was.Changed(ctx, j.built.Output())
	if err != nil || len(diff) == 0 {
		return err
	}
	return dataset.Usagef("%s: its command does not give the plan that it ran any more:\n  %s\n%s", what, strings.Join(diff, "\n  "), remedy)
}

// canonical is the command that is kept in the log of a run: the pipeline, with what flags say of its ends.
func (j *job) canonical() string {
	p := *j.parsed
	if j.env.From != "" {
		p.Source.From = j.env.From
	}
	if p.Sink != nil && j.env.To != "" {
		sink := *p.Sink
		sink.To = j.env.To
		p.Sink = &sink
	}
	return p.String()
}
