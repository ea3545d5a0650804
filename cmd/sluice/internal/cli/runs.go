package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runs [PATH…]",
		Short: "List the runs on results: state, rows, failed rows",
		Long: `List the runs on the results at the given paths (or URLs), or on all results that this user has written on this machine.

States are finished, replaced (by a later --overwrite), running, unfinished (the same command goes on with it, and so does sluice resume),
decided (the next command publishes it), orphan (it has committed nothing; sluice clean removes it) and damaged.`,
		RunE: func(c *cobra.Command, args []string) error {
			lines := [][]string{{"RUN", "BEGUN", "STATE", "ROWS", "FAILED", "RESULT"}}
			err := a.eachResult(c.Context(), args, func(p string, res *result) error {
				runs, err := commit.Runs(c.Context(), res.store)
				if err != nil {
					return fmt.Errorf("read runs of %s: %w", p, err)
				}
				for _, r := range runs {
					if res.run == "" || res.run == r.Run {
						lines = append(lines, []string{r.Run, begunAt(r), stateOf(r), count(r.Rows), failedText(r), printable(p)})
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if len(lines) == 1 {
				_, err := fmt.Fprintln(a.Stderr, "no runs are known; give the paths of results")
				return err
			}
			stamp := func(run string) string { // ids of one second do not say which run was first; the order of a result does
				s, _, _ := strings.Cut(run, "-")
				return s
			}
			slices.SortStableFunc(lines[1:], func(x, y []string) int { return strings.Compare(stamp(x[0]), stamp(y[0])) })
			_, err = fmt.Fprint(a.Stdout, aligned(lines, ""))
			return err
		},
	}
}

// eachResult calls f with the results at the given paths, or with all that this user has written. Of those, one that cannot be looked at
// is a line on standard error, and one that is gone is forgotten.
func (a *app) eachResult(ctx context.Context, paths []string, f func(path string, res *result) error) error {
	if len(paths) > 0 {
		for _, p := range paths {
			res, err := a.findResult(ctx, p)
			if err != nil {
				return err
			}
			if err := f(p, res); err != nil {
				return err
			}
		}
		return nil
	}
	index := commit.UserIndex()
	for _, p := range index.Known() {
		res, err := a.resultAt(ctx, p)
		if err == nil && res == nil {
			index.Forget(p)
			continue
		}
		if err == nil {
			err = f(p, res)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			fmt.Fprintf(a.Stderr, "%s: %v\n", printable(p), err)
		}
	}
	return nil
}

func stateOf(r *commit.RunSummary) string {
	if r.Replaced {
		return "replaced"
	}
	return string(r.State)
}

// failedText is the number of failed rows, and what became of them.
func failedText(r *commit.RunSummary) string {
	switch n := r.DeadRows(); {
	case r.Failed == 0 && n == 0:
		return "0"
	case n == 0:
		return count(r.Failed) + " (skipped)"
	case r.RetriedBy != "":
		return count(n) + " (tried again)"
	default:
		return count(n) + " (set aside)"
	}
}

// begunAt is when a run began, which its id says.
func begunAt(r *commit.RunSummary) string {
	if r.Started.IsZero() {
		return "?"
	}
	return r.Started.Local().Format(time.DateTime)
}
