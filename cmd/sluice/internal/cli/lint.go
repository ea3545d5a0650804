package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/cmd/sluice/internal/lint"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

func (a *app) lintCommand() *cobra.Command {
	var rules strings.Builder
	for _, r := range lint.Rules() {
		fmt.Fprintf(&rules, "  %-18s%s\n", r.Name, r.Doc)
	}
	return &cobra.Command{
		Use:   "lint JOB.yaml | 'PIPELINE'",
		Short: "Look for mistakes and needless costs in a job, without running it",
		Long: `Look for mistakes and needless costs in a job file or pipeline, each with what to do about it. Flags that the job will be run with, such as
--memory and --on-error, are taken into account. Nothing is written; names of the source may be listed and some of its rows read.

What is looked for:
` + rules.String() + `
The exit code is 0 if nothing was found, 1 if something was, and 2 if the job is wrong.`,
		Args: exactly(1, "one job file, or a pipeline in quotes"),
		RunE: func(c *cobra.Command, args []string) error { return a.lint(c.Context(), args[0]) },
	}
}

// lint checks a job and prints what it finds.
func (a *app) lint(ctx context.Context, arg string) (err error) {
	parse := a.parseText(arg)
	if isJob(arg) {
		parse = a.parseJob(arg)
	}
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, "lint "+arg, parse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	found, err := lint.Check(ctx, &lint.Job{Parsed: j.parsed, Built: j.built, Runner: j.session.Runner(), Options: j.settings.Options,
		Memory: j.settings.MemoryBytes})
	if err != nil {
		return err
	}
	for _, f := range found {
		if _, err := fmt.Fprint(a.Stdout, a.findingText(f)); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		a.code = exitFailed
		return nil
	}
	if !a.flags.quiet {
		fmt.Fprintln(a.Stderr, "nothing found")
	}
	return nil
}

// findingText writes one finding: where, what, and what to do.
func (a *app) findingText(f lint.Finding) string {
	e := &pipeline.Error{Pos: f.Pos, Err: dataset.Usagef("%s: %s", f.Rule, f.Message)}
	return strings.TrimPrefix(a.message(e), "sluice: ") + "  remedy: " + printable(f.Remedy) + "\n"
}
