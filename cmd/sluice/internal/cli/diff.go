package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/cmd/sluice/internal/diff"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// diffRows is how many differing rows are printed unless told.
const diffRows = 20

func (a *app) diffCommand() *cobra.Command {
	var key []string
	most := int64(diffRows)
	c := &cobra.Command{
		Use:   "diff A B --key COLUMN[,COLUMN…]",
		Short: "Compare two datasets: their schemas, and their rows by a key",
		Long: `Compare two datasets of any size. A and B are files, folders, patterns or pipelines without a sink; results of Sluice are folders like any other.

Rows with the same key are compared column by column; columns that both sides have in different types are compared as numbers or as text. Without
--key, rows are the same if all their columns are. Rows are sorted on disk where memory does not hold them.

  - only in A     + only in B     ~ in both, with the columns that differ

The exit code is 0 if they are the same, 1 if they differ, and 2 if they cannot be compared, as of diff(1).`,
		Args: exactly(2, "two datasets"),
		RunE: func(c *cobra.Command, args []string) error {
			if most < 0 {
				return dataset.Usagef("diff: --most is %d, want 0 or more", most)
			}
			same, err := a.diff(c.Context(), args[0], args[1], key, most)
			switch {
			case err != nil:
				return &troubleError{err}
			case !same:
				a.code = exitFailed
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&key, "key", nil, "the `COLUMNS` that name a row")
	c.Flags().Int64Var(&most, "most", diffRows, "print at most `N` differing rows; all are counted")
	return c
}

// troubleError is a failure of diff, whose exit code 1 has a meaning of its own.
type troubleError struct{ err error }

func (e *troubleError) Error() string { return e.err.Error() }
func (e *troubleError) Unwrap() error { return e.err }

// diff compares and prints.
func (a *app) diff(ctx context.Context, left, right string, key []string, most int64) (same bool, err error) {
	a.flags.ordered = false
	var other dataset.Dataset
	parse := func(names pipeline.Names) (*pipeline.Pipeline, error) { return sourceOnly(a.parseText(left), names) }
	err = a.lookAt(ctx, "diff "+left, parse, func(j *job, ctx context.Context) error {
		a.text = right
		parsed, err := sourceOnly(a.parseText(right), pipeline.NamesOf(j.session.Registry()))
		if err != nil {
			return err
		}
		built, err := j.env.Build(ctx, parsed)
		if err != nil {
			return err
		}
		if err := built.Check(ctx); err != nil {
			return err
		}
		other = built.Dataset
		c, err := diff.New(ctx, j.built.Dataset, other, key, j.step)
		if err != nil {
			return fmt.Errorf("diff: %w", err)
		}
		same, err = j.compare(ctx, c, most)
		return err
	})
	return same, err
}

// sourceOnly parses a pipeline that must not have a sink.
func sourceOnly(parse parser, names pipeline.Names) (*pipeline.Pipeline, error) {
	p, err := parse(names)
	if err == nil && p.Sink != nil {
		err = &pipeline.Error{Pos: p.Sink.Pos, Err: dataset.Usagef("diff reads both of its arguments; leave the sink out")}
	}
	return p, err
}

// step makes an operator from its name and its arguments as typed.
func (j *job) step(name, args string) (dataset.Spec, error) {
	def, err := j.session.Registry().Operator(name)
	if err != nil {
		return nil, err
	}
	var params any
	switch {
	case def.Parse != nil:
		params, err = def.Parse(args)
	case def.Zero != nil:
		params = def.Zero()
		err = dataset.ParseArgs(args, params)
	}
	if err != nil {
		return nil, err
	}
	return def.New(params)
}

// compare runs the comparison and prints what differs.
func (j *job) compare(ctx context.Context, c *diff.Comparison, most int64) (bool, error) {
	if _, err := fmt.Fprint(j.Stdout, diffSchemaText(c.Columns)); err != nil {
		return false, err
	}
	live, stop, err := j.watch(ctx, nil)
	if err != nil {
		return false, err
	}
	printed := int64(0)
	counts, report, err := c.Run(ctx, j.session.Runner(), j.settings.Options, func(r diff.Row) error {
		if printed++; printed > most {
			return nil
		}
		live.stop()
		_, err := fmt.Fprintln(j.Stdout, j.diffLine(c, r))
		return err
	})
	stop(report, err)
	if err != nil {
		return false, err
	}
	if !j.flags.quiet {
		fmt.Fprint(j.Stderr, noteText(report)+failureText(report)+warningText(report))
	}
	_, err = fmt.Fprint(j.Stdout, diffSummary(c, counts, printed-min(printed, most)))
	return counts.Same() && len(c.Columns) == 0, err
}

func diffSchemaText(columns []diff.Column) string {
	var lines [][]string
	for _, c := range columns {
		name := printable(clipRunes(c.Name, widestColumn))
		switch {
		case c.B == nil:
			lines = append(lines, []string{"-", name, c.A.String(), "only in A"})
		case c.A == nil:
			lines = append(lines, []string{"+", name, c.B.String(), "only in B"})
		case c.Compared:
			lines = append(lines, []string{"~", name, c.A.String() + " → " + c.B.String()})
		default:
			lines = append(lines, []string{"~", name, c.A.String() + " → " + c.B.String(), "not compared"})
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "columns\n" + aligned(lines, "  ") + "rows\n"
}

// diffLine is one row that differs.
func (j *job) diffLine(c *diff.Comparison, r diff.Row) string {
	name := func(x diff.Cells, columns int) string {
		var parts []string
		for i := range columns {
			parts = append(parts, printable(clipRunes(c.Names[i], widestColumn))+"="+clipRunes(cellText(x.Record.Column(i), x.Row), widestColumn))
		}
		return clipRunes(strings.Join(parts, "  "), 4*tableWidth)
	}
	switch r.Kind {
	case diff.Removed:
		return styled(j.Stdout, "31", "- "+name(r.A, len(c.Names)))
	case diff.Added:
		return styled(j.Stdout, "32", "+ "+name(r.B, len(c.Names)))
	}
	line := "~ " + name(r.A, len(c.Key))
	for _, i := range r.Columns {
		line += fmt.Sprintf("  %s: %s → %s", printable(clipRunes(c.Names[i], widestColumn)), changedText(r.A, i), changedText(r.B, i))
	}
	return styled(j.Stdout, "33", line)
}

// changedText is a value that differs; text is quoted, so that blanks can be told apart.
func changedText(x diff.Cells, i int) string {
	a := x.Record.Column(i)
	text := clipRunes(cellText(a, x.Row), widestColumn)
	if id := a.DataType().ID(); !a.IsNull(x.Row) && (id == arrow.STRING || id == arrow.LARGE_STRING) {
		return dataset.Quote(text)
	}
	return text
}

func diffSummary(c *diff.Comparison, n diff.Counts, hidden int64) string {
	text := ""
	if hidden > 0 {
		text = fmt.Sprintf("… and %s more; --most shows them\n", plural(hidden, "differing row"))
	}
	text += fmt.Sprintf("A has %s, B has %s: ", rows(n.A), rows(n.B))
	switch {
	case n.Same() && len(c.Columns) == 0:
		text += "they are the same"
	case n.Same():
		text += "the rows are the same in the columns that can be compared"
	default:
		text += fmt.Sprintf("%s removed, %s added, %s changed, %s the same", count(n.Removed), count(n.Added), count(n.Changed), count(n.Equal))
	}
	if n.Repeated > 0 && len(c.Key) < len(c.Names) {
		text += fmt.Sprintf("\n%s for more than one row; rows were paired as they are equal, then in their order", map[bool]string{true: "1 key stands",
			false: count(n.Repeated) + " keys stand"}[n.Repeated == 1])
	}
	return text + "\n"
}
