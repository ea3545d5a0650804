package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

func (a *app) inspectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "inspect FILE|DIR|URL",
		Short: "Show what a file, folder or URL holds, and what a result of Sluice is made of",
		Long: `Show what a file, a folder or a URL holds: schema, sizes, compression, bounds and nulls by column for Parquet; types and the lines that
decided them for CSV and JSON lines; size, colours, EXIF and a small picture for images; formats and sizes for folders; and the first rows.

Of a result of Sluice it shows the manifests first: runs, files, rows, columns and ranges of input. Nothing is written.`,
		Args: exactly(1, "the path of a result, file or folder, or a URL"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withRegistry(c.Context(), func(reg *dataset.Registry) error { return a.inspect(c.Context(), reg, args[0]) })
		},
	}
}

// inspect shows the state of a result, if there is one, and then what is at the path.
func (a *app) inspect(ctx context.Context, reg *dataset.Registry, path string) error {
	res, err := a.findResult(ctx, path)
	st, serr := os.Stat(path)
	isFile := serr == nil && st.Mode().IsRegular()
	if err == nil {
		text, err := inspectText(ctx, res)
		if err != nil {
			return fmt.Errorf("inspect %s: %w", path, err)
		}
		if _, err = fmt.Fprint(a.Stdout, text); err != nil || res.run != "" {
			return err
		}
		if _, err := fmt.Fprintln(a.Stdout); err != nil {
			return err
		}
	}
	if name, _, ok := strings.Cut(path, ":"); ok && serr != nil {
		if def, err := reg.Source(name); err == nil { // a database
			if _, err := fmt.Fprintf(a.Stdout, "%s: %s\n", printable(path), def.Name); err != nil {
				return err
			}
			return a.sampleRows(ctx, path, true)
		}
	}
	switch {
	case isFile || file.IsURL(path) && !strings.HasSuffix(path, "/") && !strings.ContainsAny(path, "*?[{"):
		return a.inspectFile(ctx, path)
	case serr == nil && !st.IsDir():
		return dataset.Usagef("inspect %s: it is neither a file nor a folder", path)
	case serr == nil || file.IsURL(path) || strings.ContainsAny(path, "*?[{"):
		return a.inspectFolder(ctx, reg, path)
	case strings.ContainsAny(path, "./"):
		return dataset.Usagef("inspect %s: %w", path, cause(serr))
	}
	return err
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
