package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) runsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runs [PATH…]",
		Short: "List the runs on results: state, rows, failed rows",
		Long: `List the runs on the results at the given paths, or on all results that this user has written on this machine.

States are finished, replaced (by a later --overwrite), running, and unfinished (it was killed or failed; the same command goes on or
begins anew).`,
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
				owner, err := res.store.Read(c.Context(), "lock")
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("read runs of %s: %w", p, err)
				}
				for _, r := range runs {
					if res.run == "" || res.run == r.Run {
						lines = append(lines, []string{r.Run, begunAt(r.Run), stateOf(r, string(owner)), count(r.Rows), failedText(r), printable(p)})
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

func stateOf(r *commit.RunSummary, owner string) string {
	switch {
	case r.Replaced:
		return "replaced"
	case r.Finished:
		return "finished"
	case strings.Contains(owner, "(run "+r.Run+")") && alive(owner):
		return "running"
	}
	return "unfinished"
}

// alive tells whether the process that a lock names runs on this machine.
func alive(owner string) bool {
	var pid int
	var host string
	if _, err := fmt.Sscanf(owner, "process %d on %s ", &pid, &host); err != nil {
		return false
	}
	if here, err := os.Hostname(); err != nil || here != host || pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
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
