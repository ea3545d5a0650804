package cli

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) cleanCommand() *cobra.Command {
	var unfinished bool
	c := &cobra.Command{
		Use:   "clean [PATH…]",
		Short: "Remove what killed runs left: staged files, logs of runs without rows, spilled data",
		Long: `Remove what killed runs left beside the results at the given paths (or URLs), or beside all results that this user has written on this
machine, and spill files in --temp-dir or the system's folder for temporary files. A run on the same target does the same by itself.

Nothing is touched where a process is at work. An unfinished run keeps what it has committed, so that it can go on; --unfinished gives
those up too. Published rows are never removed.`,
		RunE: func(c *cobra.Command, args []string) error {
			removed := 0
			err := a.eachResult(c.Context(), args, func(p string, res *result) error {
				cleaned, err := commit.Clean(c.Context(), res.store, unfinished)
				if held, ok := errors.AsType[*dataset.LockedError](err); ok {
					fmt.Fprintf(a.Stderr, "%s is in use and was left alone: %s\n", printable(p), printable(held.Owner))
					return nil
				}
				for _, r := range cleaned {
					removed++
					fmt.Fprintf(a.Stdout, "%s: removed %s of run %s (%s)\n", printable(p), plural(int64(r.Files), "file"), r.Run, r.State)
				}
				return err
			})
			dirs := []string{a.flags.tempDir, ""}
			for _, dir := range slices.Compact(dirs) {
				n, serr := executor.SweepSpill(dir)
				if n > 0 {
					removed++
					fmt.Fprintf(a.Stdout, "removed %s of spilled data\n", plural(int64(n), "file"))
				}
				if dir != "" { // in the system's folder there may be those of others
					err = errors.Join(err, serr)
				}
			}
			if err == nil && removed == 0 && !a.flags.quiet {
				fmt.Fprintln(a.Stderr, "nothing to clean")
			}
			return err
		},
	}
	c.Flags().BoolVar(&unfinished, "unfinished", false, "give up unfinished and damaged runs too: their rows must be read again")
	return c
}
