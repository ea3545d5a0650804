package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) errorsCommand() *cobra.Command {
	var raw bool
	c := &cobra.Command{
		Use:   "errors RUN|PATH",
		Short: "Show the failed rows that were set aside, by step and kind",
		Long: `Show the rows that a run with --on-error dead-letter set aside: how many failed in which step with what kind of error, with samples.

Of a path, the rows are those of all runs on that result that still wait to be tried again; of a run, its own. --json prints each of them
as a line of JSON: identity, path, operator, class, message, attempts, and the row itself where it is small.`,
		Args: exactly(1, "the path of a result or the id of a run"),
		RunE: func(c *cobra.Command, args []string) error {
			res, err := a.findResult(c.Context(), args[0])
			if err != nil {
				return err
			}
			runs, err := commit.Summaries(c.Context(), res.store)
			if err != nil {
				return fmt.Errorf("read runs of %s: %w", args[0], err)
			}
			runs = slices.DeleteFunc(runs, func(r *commit.RunSummary) bool {
				if res.run != "" {
					return r.Run != res.run
				}
				return r.Replaced || r.RetriedBy != ""
			})
			if raw {
				return a.printLetters(c.Context(), res, runs)
			}
			return a.printErrors(c.Context(), res, runs)
		},
	}
	c.Flags().BoolVar(&raw, "json", false, "print each failed row as a line of JSON")
	return c
}

func (a *app) printLetters(ctx context.Context, res *result, runs []*commit.RunSummary) error {
	enc := json.NewEncoder(a.Stdout)
	enc.SetEscapeHTML(false)
	for _, r := range runs {
		for l, err := range commit.ReadDead(ctx, res.store, r.Dead) {
			if err != nil {
				return err
			}
			if err := enc.Encode(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// samples is how many rows are shown of a group.
const samples = 3

func (a *app) printErrors(ctx context.Context, res *result, runs []*commit.RunSummary) error {
	total := int64(0)
	for _, r := range runs {
		if r.DeadRows() == 0 {
			if r.Failed > 0 {
				total += r.Failed
				fmt.Fprintf(a.Stdout, "run %s: %s failed and %s left out; --on-error skip keeps none of them\n", r.Run, rows(r.Failed), wasWere(r.Failed))
			}
			continue
		}
		total += r.DeadRows()
		groups, err := groupErrors(ctx, res, r)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "run %s: %s set aside%s\n%s", r.Run, rows(r.DeadRows()), errorState(r), groupText(groups))
	}
	if total == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no failed rows")
		return err
	}
	return nil
}

// errorState says what became of a run's failed rows, or what can be done about them.
func errorState(r *commit.RunSummary) string {
	switch {
	case r.Replaced:
		return "; a later run replaced its result"
	case r.RetriedBy != "":
		return "; run " + r.RetriedBy + " tried them again"
	case !r.Finished:
		return "; the run has not finished"
	}
	return "; try them again with: sluice retry " + r.Run
}

func groupErrors(ctx context.Context, res *result, r *commit.RunSummary) ([]*dataset.Failure, error) {
	byKey := map[[2]string]*dataset.Failure{}
	var out []*dataset.Failure
	for l, err := range commit.ReadDead(ctx, res.store, r.Dead) {
		if err != nil {
			return nil, err
		}
		key := [2]string{l.Operator, l.Class}
		g := byKey[key]
		if g == nil {
			g = &dataset.Failure{Op: l.Operator, Class: l.Class}
			byKey[key] = g
			out = append(out, g)
		}
		if g.Count++; len(g.Examples) < samples {
			g.Examples = append(g.Examples, dataset.FailureExample{Where: l.Where(), Cause: l.Message})
		}
	}
	slices.SortStableFunc(out, func(x, y *dataset.Failure) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), strings.Compare(x.Op+x.Class, y.Op+y.Class))
	})
	return out, nil
}

func groupText(groups []*dataset.Failure) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "  %s: %s: %s\n", printable(g.Op), printable(g.Class), rows(g.Count))
		for _, x := range g.Examples {
			fmt.Fprintf(&b, "    %s: %s\n", printable(x.Where), printable(firstLine(x.Cause)))
		}
		if more := g.Count - int64(len(g.Examples)); more > 0 {
			fmt.Fprintf(&b, "    … and %s more\n", count(more))
		}
	}
	return b.String()
}

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
