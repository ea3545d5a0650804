package executor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// Retry runs a plan of one output on those rows only that an earlier run on its target set aside, and adds what comes out of them to the
// result. run is that run's id, or "" where the target has failed rows of one run. Operators and parameters may differ from those of
// the run; the sources and the columns of the result may not. Rows that fail again are set aside again, by the retry. The order and the
// seed are those of the run. p.Report.Complete tells that no failed row was left.
func (l *Local) Retry(ctx context.Context, p *dataset.Plan, run string) error {
	if p.Report == nil {
		p.Report = &dataset.Report{}
	}
	err := l.retryOnce(ctx, p, run)
	if errors.Is(err, commit.ErrMovedOn) { // most likely a retry that was killed just before its result was published, which is done now
		err = l.retryOnce(ctx, p, run)
	}
	return err
}

func (l *Local) retryOnce(ctx context.Context, p *dataset.Plan, run string) error {
	again, err := l.planRetry(ctx, p, run)
	if err != nil {
		return err
	}
	if again == nil {
		p.Report.Complete = true
		p.Report.Notes = append(p.Report.Notes, "no failed row waits to be tried again")
		return nil
	}
	r, err := l.prepare(ctx, again.plan, again)
	if err != nil {
		return err
	}
	return r.run(nil)
}

// planRetry finds the rows and restricts the plan to them. Nil means that there are none.
func (l *Local) planRetry(ctx context.Context, p *dataset.Plan, run string) (*retry, error) {
	if len(p.Outputs) != 1 {
		return nil, dataset.Usagef("retry: the plan has %d outputs, want the one whose failed rows are tried again", len(p.Outputs))
	}
	out := p.Outputs[0]
	target, ok := out.Sink.(dataset.Target)
	if !ok {
		return nil, dataset.Usagef("retry: the plan ends in no file or folder; failed rows are kept beside those only")
	}
	store, err := target.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("retry %s: %w", target.Locator(), err)
	}
	left, err := commit.FindLeftover(ctx, store, run)
	if err != nil || left == nil {
		return nil, wrapRetry(target.Locator(), err)
	}
	root := left.Root.Manifest
	begun, err := commit.ReadBegun(ctx, store, root.Run)
	if err != nil {
		return nil, wrapRetry(target.Locator(), err)
	}
	if why := cmp.Or(begun.NoRetry, notRetriable(out.Node)); why != "" {
		return nil, dataset.Usagef("retry run %s: %s, so rows cannot be tried again by themselves; run the command again with --overwrite", root.Run, why)
	}
	opts, err := sameSources(ctx, out, root, p.Options)
	if err != nil {
		return nil, err
	}
	re := &retry{left: left}
	for i := range root.Inputs {
		re.origins = append(re.origins, uint32(i))
		if i < len(begun.Sources) {
			re.origins[i] = begun.Sources[i]
		}
	}
	for letter, err := range commit.ReadDead(ctx, store, left.Held.Dead) {
		if err == nil {
			err = re.want(letter)
		}
		if err != nil {
			return nil, wrapRetry(target.Locator(), err)
		}
	}
	if err := commit.ReadJournal(ctx, store, left.Held.Run, re.locate); err != nil {
		return nil, wrapRetry(target.Locator(), err)
	}
	if err := re.complete(); err != nil {
		return nil, wrapRetry(target.Locator(), err)
	}
	out.Node, err = re.restrict(out.Node)
	opts.OnError, opts.Target = dataset.OnErrorDeadLetter, dataset.TargetDefault
	re.plan = &dataset.Plan{Outputs: []dataset.Output{out}, Options: opts, Report: p.Report}
	return re, err
}

func wrapRetry(locator string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("retry %s: %w", locator, err)
}

// notRetriable says why the rows of a plan cannot be tried again by themselves, or "": a row's result depends on other rows.
func notRetriable(root *dataset.Node) (why string) {
	dataset.Walk(func(n *dataset.Node) {
		if why == "" && n.Spec != nil {
			if w := dependsOnOthers(n.Spec); w != "" {
				why = n.Name() + ": " + w
			}
		}
	}, root)
	return why
}

func dependsOnOthers(s dataset.Spec) string {
	if _, ok := s.(dataset.Barrier); ok {
		return "it works on all rows together"
	}
	if _, ok := s.(dataset.Limiter); ok {
		return "which rows it passes on depends on the rows before them"
	}
	if b, ok := s.(dataset.Batched); ok && b.SeesBatch() {
		return "its function works on batches and need not give one row for one"
	}
	if s.Instances() != dataset.Any || wantsOrder(s) {
		return "its result for a row depends on other rows"
	}
	return ""
}

// sameSources refuses a plan with other sources than the run had, and returns the options with the run's order and seed.
func sameSources(ctx context.Context, out dataset.Output, root *commit.Manifest, opts dataset.Options) (dataset.Options, error) {
	plan, err := commit.Plan(ctx, out, dataset.NewSchemas(), opts)
	if err != nil {
		return opts, err
	}
	was, err := commit.ReadPlan(root.Plan)
	if err != nil {
		return opts, fmt.Errorf("retry run %s: %w", root.Run, err)
	}
	is, err := commit.ReadPlan(plan)
	if err != nil {
		return opts, fmt.Errorf("retry run %s: %w", root.Run, err)
	}
	if diff := was.DiffSources(is); len(diff) > 0 {
		return opts, dataset.Usagef("retry run %s: the pipeline reads something else than the run did:\n  %s\nsteps may differ, the source may not",
			root.Run, strings.Join(diff, "\n  "))
	}
	opts.Ordered, opts.Seed, opts.SeedSet = was.Ordered, was.Seed, was.SeedSet
	return opts, nil
}
