package cli

import (
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
		Long: `List the runs on the results at the given paths, or on all results that this user has written on this machine.

States are finished, replaced (by a later --overwrite), running, unfinished (the same command goes on with it), decided (the next command
publishes it), orphan (it has committed nothing) and damaged.`,
		RunE: func(c *cobra.Command, args []string) error {
			paths := args
			if len(paths) == 0 {
				paths = knownResults()
			}
			lines := [][]string{{"RUN", "BEGUN", "STATE", "ROWS", "FAILED", "RESULT"}}
			for _, p := range paths {
				res, err := findResult(c.Context(), p)
				if err != nil {
					return err
				}
				runs, err := commit.Summaries(c.Context(), res.store)
				if err != nil {
					return fmt.Errorf("read runs of %s: %w", p, err)
				}
				states, err := commit.Runs(c.Context(), res.store)
				if err != nil {
					return fmt.Errorf("read runs of %s: %w", p, err)
				}
				for _, r := range runs {
					if res.run == "" || res.run == r.Run {
						lines = append(lines, []string{r.Run, begunAt(r.Run), stateOf(r, states), count(r.Rows), failedText(r), printable(p)})
					}
				}
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
			_, err := fmt.Fprint(a.Stdout, aligned(lines, ""))
			return err
		},
	}
}

func stateOf(r *commit.RunSummary, states []commit.RunInfo) string {
	if r.Replaced {
		return "replaced"
	}
	for _, s := range states {
		if s.Run == r.Run {
			return string(s.State)
		}
	}
	return string(commit.RunUnfinished)
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
func begunAt(run string) string {
	stamp, _, _ := strings.Cut(run, "-")
	t, err := time.Parse("20060102T150405", stamp)
	if err != nil {
		return "?"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
