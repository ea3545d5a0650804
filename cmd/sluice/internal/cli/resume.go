package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) resumeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume RUN|PATH",
		Short: "Go on with an unfinished run, from its log",
		Long: `Go on with a run that was interrupted, killed or failed, as its own command would: the pipeline and the options come from the log of the run.

The run is the path (or URL) of its result, or its id. --memory, --parallel and --temp-dir may be others than before, and flags that are
given here take the place of those that the run was begun with. A run that is finished is left as it is (exit code 0).`,
		Args: exactly(1, "the path of a result or the id of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			given := func(flag string) bool { return c.Flags().Changed(flag) }
			for _, flag := range []string{"overwrite", "append", "incremental", "ordered", "seed", "from", "to", "set"} {
				if given(flag) {
					return dataset.Usagef("resume goes on with a run as it was begun; it takes no --%s", flag)
				}
			}
			return a.resume(c.Context(), args[0], given)
		},
	}
}

// resume runs the command of an unfinished run again.
func (a *app) resume(ctx context.Context, what string, given func(string) bool) (err error) {
	res, err := a.findResult(ctx, what)
	if err != nil {
		return err
	}
	run, err := a.unfinishedRun(ctx, what, res)
	if err != nil || run == nil {
		return err
	}
	begun, err := commit.ReadBegun(ctx, res.store, run.Run)
	if err != nil {
		return dataset.Usagef("resume run %s: %w; run its command again", run.Run, err)
	}
	if begun.Retries != "" {
		return dataset.Usagef("resume run %s: it tried failed rows again; run sluice retry %s", run.Run, begun.Retries)
	}
	if err := enter("resume run "+run.Run, begun); err != nil {
		return err
	}
	a.flags.as(begun, given)
	if !a.flags.quiet {
		a.say(fmt.Sprintf("resume run %s in %s: %s\n", run.Run, printable(cmp.Or(begun.Dir, ".")), printable(begun.Command)))
	}
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, begun.Command, func(names pipeline.Names) (*pipeline.Pipeline, error) {
		a.text = begun.Command
		p, err := pipeline.Parse(begun.Command, names)
		if err != nil || p.Sink == nil {
			return nil, dataset.Usagef("resume run %s: its log has no pipeline that could be run again (%q): run the program or command again that began it",
				run.Run, begun.Command)
		}
		return p, nil
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	if err := samePlan(ctx, j, run.Run, begun); err != nil {
		return err
	}
	return j.run(ctx)
}

// unfinishedRun is the run to go on with; nil if there is none, which it says.
func (a *app) unfinishedRun(ctx context.Context, what string, res *result) (*commit.RunSummary, error) {
	runs, err := commit.Summaries(ctx, res.store)
	if err != nil {
		return nil, fmt.Errorf("read runs of %s: %w", what, err)
	}
	var found *commit.RunSummary
	for _, r := range runs {
		if res.run == "" && !r.Finished || res.run == r.Run {
			found = r
		}
	}
	switch {
	case found == nil && len(runs) == 0:
		return nil, dataset.Usagef("resume %s: no run has got so far that it could go on; run its command again", what)
	case found == nil || found.Finished:
		if !a.flags.quiet {
			fmt.Fprintf(a.Stderr, "%s is already complete: nothing to do\n", printable(what))
		}
		return nil, nil
	case found.Damaged != nil:
		return nil, fmt.Errorf("resume run %s: %w", found.Run, found.Damaged)
	}
	return found, nil
}

// as makes the flags those of the run that goes on, apart from those that were given. The plan has the rest.
func (f *flags) as(begun *commit.Begun, given func(string) bool) {
	o := begun.Options
	f.overwrite, f.appendRows, f.incremental = o.Target == dataset.TargetOverwrite, o.Target == dataset.TargetAppend, o.Incremental
	if !given("on-error") && o.OnError != "" {
		f.onError = string(o.OnError)
	}
	if !given("max-errors") && f.onError == string(o.OnError) {
		f.maxErrors = o.MaxErrors
	}
	if !given("max-error-rate") && f.onError == string(o.OnError) {
		f.maxRate.share = o.MaxErrorRate
	}
	if !given("part-size") {
		f.partSize.bytes = dataset.ByteSize(o.PartBytes)
	}
	if !given("commit-every") {
		f.commitEvery = o.CommitEvery
	}
	if !given("isolate") {
		f.isolate = o.Isolate
		if !given("isolate-timeout") {
			f.isolateTime = o.IsolateTimeout
		}
	}
	if !given("changed") {
		f.changed = string(o.Changed)
	}
	if !given("grown") {
		f.grown = string(o.Grown)
	}
	if plan, err := commit.ReadPlan(begun.Plan); err == nil { // samePlan says what is wrong with it
		f.ordered, f.seed = plan.Ordered, seedFlag{value: plan.Seed, given: plan.SeedSet}
	}
}

// samePlan refuses when the command of a run gives another plan than it did: its rows would not fit those that are committed.
func samePlan(ctx context.Context, j *job, run string, begun *commit.Begun) error {
	was, err := commit.ReadPlan(begun.Plan)
	if err != nil {
		return fmt.Errorf("resume run %s: %w", run, err)
	}
	return j.refuseOther(ctx, was, "resume run "+run, "begin anew with the command itself and --overwrite")
}
