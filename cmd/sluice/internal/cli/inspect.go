package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect PATH",
		Short: "Show what a result of Sluice is made of (runs, files, rows, columns, ranges of input), or what one file holds",
		Args:  exactly(1, "the path of a result or of a file"),
		RunE: func(c *cobra.Command, args []string) error {
			res, err := a.findResult(c.Context(), args[0])
			st, serr := os.Stat(args[0])
			isFile := serr == nil && st.Mode().IsRegular()
			switch {
			case err != nil && (isFile || serr != nil && strings.Contains(args[0], ".")):
				return a.inspectFile(c.Context(), args[0]) // a file that is no result of ours
			case err != nil:
				return err
			}
			text, err := inspectText(c.Context(), res)
			if err != nil {
				return fmt.Errorf("inspect %s: %w", args[0], err)
			}
			if _, err = fmt.Fprint(a.Stdout, text); err != nil || !isFile {
				return err
			}
			fmt.Fprintln(a.Stdout)
			return a.inspectFile(c.Context(), args[0])
		},
	}
}

// Most lines of a kind that inspect shows.
const (
	mostFiles  = 20
	mostRanges = 10
)

func inspectText(ctx context.Context, res *result) (string, error) {
	chain, err := commit.ReadChain(ctx, res.store)
	if err != nil {
		return "", err
	}
	runs, err := commit.Summaries(ctx, res.store)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	var live, bytes int64
	for _, p := range chain.Live {
		live += p.Rows
		bytes += p.Bytes
	}
	fmt.Fprintf(&b, "%s: %s in %s, %s\n", printable(res.path), rows(live), plural(int64(len(chain.Live)), "file"), size(bytes))
	if last := chain.Last; last != nil {
		fmt.Fprintf(&b, "plan      %s\ncommand   %s\n", last.Fingerprint, printable(last.Command))
		b.WriteString("columns\n")
		for _, line := range last.Schema {
			fmt.Fprintf(&b, "  %s\n", printable(line))
		}
	}
	fileLines(&b, chain.Live)
	for _, r := range runs {
		if err := inspectRun(ctx, &b, res, r); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func fileLines(b *strings.Builder, live []dataset.Receipt) {
	b.WriteString("files\n")
	var lines [][]string
	for _, p := range live[:min(len(live), mostFiles)] {
		lines = append(lines, []string{printable(p.Name), rows(p.Rows), size(p.Bytes)})
	}
	b.WriteString(aligned(lines, "  "))
	if more := len(live) - mostFiles; more > 0 {
		fmt.Fprintf(b, "  … and %s more\n", count(int64(more)))
	}
}

func inspectRun(ctx context.Context, b *strings.Builder, res *result, r *commit.RunSummary) error {
	state := "unfinished"
	if r.Finished {
		state = fmt.Sprintf("manifest %d", r.Manifest.Number)
		if r.Manifest.Retries != "" {
			state += ", tried the failed rows of " + r.Manifest.Retries + " again"
		}
	}
	if r.Replaced {
		state += ", replaced"
	}
	fmt.Fprintf(b, "run %s (%s): %s", r.Run, state, rows(r.Rows))
	if r.Failed > 0 {
		fmt.Fprintf(b, ", %s failed: %s", rows(r.Failed), failedText(r))
	}
	b.WriteString("\n")
	if r.Finished && r.Manifest.Retries == "" {
		for _, in := range r.Manifest.Inputs {
			fmt.Fprintf(b, "  source %d: %s, %s, %s\n", in.Source, plural(in.Files, "file"), size(in.Bytes), in.Hash)
		}
	}
	ranges, err := commit.ReadRanges(ctx, res.store, r.Run)
	if err != nil {
		return err
	}
	for _, x := range ranges[:min(len(ranges), mostRanges)] {
		files := fmt.Sprintf("file %d", x.Ordinal)
		if x.Files > 1 {
			files = fmt.Sprintf("files %d to %d", x.Ordinal, x.Ordinal+x.Files-1)
		}
		fmt.Fprintf(b, "  source %d, %s: positions %d to %d\n", x.Source, files, x.First, x.End)
	}
	if more := len(ranges) - mostRanges; more > 0 {
		fmt.Fprintf(b, "  … and %s more ranges\n", count(int64(more)))
	}
	return nil
}
