package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
)

// explainFlags are those of explain.
type explainFlags struct{ analyze, mermaid bool }

// explain shows what a pipeline would do, or runs it and shows what it did.
func (a *app) explain(ctx context.Context, arg string, how explainFlags) (err error) {
	parse := a.parseText(arg)
	if isJob(arg) {
		parse = a.parseJob(arg)
	}
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, "explain "+arg, parse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	out, note := j.built.Output(), ""
	if how.analyze {
		out, note = j.analyzed()
	}
	e, err := j.session.Describe(ctx, out)
	if err != nil {
		return err
	}
	if how.analyze {
		if err := j.analyze(ctx, e, out, note); err != nil {
			return err
		}
	} else {
		j.warnings()
	}
	text := e.Text()
	if how.mermaid {
		text = e.Mermaid()
	}
	_, err = fmt.Fprintln(a.Stdout, strings.TrimRight(text, "\n"))
	return err
}

// analyzed is the output that --analyze runs, and a word on where its rows go: not between the lines of the plan.
func (j *job) analyzed() (dataset.Output, string) {
	if j.toStdout() {
		return j.built.Dataset.To(nil), "rows were counted and dropped: the pipeline has no result beside standard output"
	}
	note := "the result was written"
	if t, ok := j.built.Sink.(dataset.Target); ok {
		note += " to " + t.Locator()
	}
	return j.built.Output(), note
}

// analyze runs the plan under a profile and puts what was measured beside it.
func (j *job) analyze(ctx context.Context, e *executor.Explanation, out dataset.Output, note string) error {
	plan, err := dataset.NewPlan(j.settings.Options, out)
	if err != nil {
		return err
	}
	j.elsewhere = !j.toStdout()
	live, stop, err := j.watch(ctx, out.Sink)
	if err != nil {
		return err
	}
	cpu, err := j.profiled(ctx, plan, live)
	stop(plan.Report, err)
	if err != nil {
		j.problems(plan.Report)
		return err
	}
	e.Measured(*plan.Report, cpu, note)
	if !plan.Report.Complete && deadLetters(plan.Report) > 0 {
		j.code = exitDeadLetters
	}
	if !j.flags.quiet {
		fmt.Fprint(j.Stderr, noteText(plan.Report)+failureText(plan.Report)+warningText(plan.Report))
	}
	j.warnings()
	return nil
}

func (j *job) profiled(ctx context.Context, plan *dataset.Plan, live display) (*executor.CPU, error) {
	prof, err := executor.StartCPU()
	if err != nil {
		return nil, err
	}
	err = j.drain(ctx, plan, nil, live)
	cpu, perr := prof.Stop()
	return cpu, errors.Join(err, perr)
}
