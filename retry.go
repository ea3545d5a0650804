package sluice

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
)

// DeadLetter keeps failing rows beside the result, with their cause, to be looked at and tried again.
const DeadLetter = dataset.OnErrorDeadLetter

// WithMaxErrors ends a run in which more than n rows failed, under Skip and DeadLetter.
func WithMaxErrors(n int64) RunOption { return func(c *runConfig) { c.MaxErrors = n } }

// WithMaxErrorRate ends a run in which more than this share of the rows read failed (0.01: 1 %), looked at from row 1,000 on and at the end.
func WithMaxErrorRate(share float64) RunOption {
	return func(c *runConfig) { c.MaxErrorRate = share }
}

// Retry runs an output on those rows only that a run on its target set aside (DeadLetter), and adds what comes out of them to the result. run
// is the id of that run, from its report, or "" where the target has failed rows of one run. Steps may differ from those of the run; the
// sources and the columns of the result may not. Rows that fail again are set aside again; a plan in which rows depend on each other (limit,
// sort, batch functions) is refused, and so is a file that changed.
func (s *Session) Retry(ctx context.Context, run string, out Output) (*dataset.Report, error) {
	if out.s != nil && out.s.local != s.local {
		return nil, dataset.Usagef("retry: the output was made by another session")
	}
	p, err := dataset.NewPlan(s.run.Options, out.out)
	if err != nil {
		return nil, err
	}
	defer s.run.keep(p)
	return p.Report, s.local.Retry(ctx, p, run)
}
