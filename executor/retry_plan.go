package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

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
	if err := checkRetriable(out.Node); err != nil {
		return nil, err
	}
	opts, err := sameSources(ctx, out, root, p.Options)
	if err != nil {
		return nil, err
	}
	re := &retry{left: left}
	for _, in := range root.Inputs {
		re.origins = append(re.origins, in.Source)
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

// checkRetriable refuses plans in which a row's result depends on other rows.
func checkRetriable(root *dataset.Node) (err error) {
	dataset.Walk(func(n *dataset.Node) {
		if err == nil && n.Spec != nil {
			if why := dependsOnOthers(n.Spec); why != "" {
				err = dataset.Usagef("retry: %s: %s, so its rows cannot be tried again by themselves; run the command again with --overwrite", n.Name(), why)
			}
		}
	}, root)
	return err
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

// runPlan is what is compared of two canonical plans.
type runPlan struct {
	Steps []struct {
		Source  string          `json:"source"`
		Version int             `json:"version"`
		Params  json.RawMessage `json:"params"`
		Schema  json.RawMessage `json:"schema"`
	} `json:"steps"`
	Ordered bool    `json:"ordered"`
	Seed    *uint64 `json:"seed"`
}

// readPlan reads a canonical plan, however it was indented.
func readPlan(raw []byte) (p runPlan, err error) {
	var flat bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		return p, err
	}
	err = json.Unmarshal(flat.Bytes(), &p)
	return p, err
}

func (p *runPlan) sources() (out []string) {
	for _, s := range p.Steps {
		if s.Source != "" {
			out = append(out, fmt.Sprintf("%s (version %d) %s with the columns %s", s.Source, s.Version, s.Params, s.Schema))
		}
	}
	return out
}

// sameSources refuses a plan with other sources than the run had, and returns the options with the run's order and seed.
func sameSources(ctx context.Context, out dataset.Output, root *commit.Manifest, opts dataset.Options) (dataset.Options, error) {
	plan, err := commit.Plan(ctx, out, dataset.NewSchemas(), opts)
	if err != nil {
		return opts, err
	}
	was, err := readPlan(root.Plan)
	if err != nil {
		return opts, fmt.Errorf("retry: read plan of run %s: %w", root.Run, err)
	}
	is, err := readPlan(plan)
	if err != nil {
		return opts, fmt.Errorf("retry: read plan: %w", err)
	}
	old, now := was.sources(), is.sources()
	if len(old) != len(now) || len(old) != len(root.Inputs) {
		return opts, dataset.Usagef("retry: run %s read %d sources, the pipeline reads %d: operators may differ, sources may not", root.Run, len(old), len(now))
	}
	for i := range old {
		if old[i] != now[i] {
			return opts, dataset.Usagef("retry: run %s read %s, the pipeline reads %s: operators may differ, sources may not", root.Run, old[i], now[i])
		}
	}
	opts.Ordered, opts.SeedSet = was.Ordered, was.Seed != nil
	if was.Seed != nil {
		opts.Seed = *was.Seed
	}
	return opts, nil
}
