package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// inspectRows is how many rows inspect shows of a file.
const inspectRows = 5

// inspectFile prints what one file holds.
func (a *app) inspectFile(ctx context.Context, name string) error {
	s, err := openSubject(ctx, name)
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, cause(err))
	}
	defer s.Close()
	format, err := s.format()
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, cause(err))
	}
	title, sample := fmt.Sprintf("%s: %%s, %s\n", printable(name), size(s.ref.Size)), true
	text := ""
	switch {
	case s.ref.Size == 0:
		title, sample = fmt.Sprintf("%s: %%s\n", printable(name)), false
		format = "an empty file"
	case format == "parquet":
		text, err = inspectParquet(s, s.ref.Size)
		format = "Parquet"
	case slices.Contains(imageFormats, format):
		format, text, err = inspectImage(s)
		sample = false
	case format == "jsonl":
		text, sample, err = inspectLines(ctx, name)
		format = "JSON lines"
	case format == "csv" || format == "tsv" || format == "tab":
		text, err = inspectCSV(ctx, name, format)
		format = strings.ToUpper(format)
	}
	if err != nil {
		return fmt.Errorf("inspect %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(a.Stdout, title+"%s", format, text); err != nil {
		return err
	}
	switch {
	case sample:
		return a.sampleRows(ctx, name, text == "")
	case text != "" && strings.HasSuffix(format, "image"):
		return a.inspectPixels(ctx, name)
	}
	return nil
}

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// literally is a parser for one path that is taken as it is.
func literally(path string) parser {
	return func(pipeline.Names) (*pipeline.Pipeline, error) {
		return &pipeline.Pipeline{Source: pipeline.Source{Paths: []pipeline.Path{{Text: path, Literal: true}}}}, nil
	}
}

// sampleRows prints the first rows, and before them the schema unless that was shown.
func (a *app) sampleRows(ctx context.Context, path string, schema bool) error {
	a.headFlags()
	parse := func(names pipeline.Names) (*pipeline.Pipeline, error) {
		p, err := literally(path)(names)
		if err == nil {
			limit(p, inspectRows)
		}
		return p, err
	}
	a.text = path
	return a.lookAt(ctx, "inspect "+path, parse, func(j *job, ctx context.Context) error {
		if schema {
			s, err := j.built.Dataset.Schema(ctx)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(a.Stdout, "\nColumns\n%s", schemaText(s, "  ")); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(a.Stdout, "\nFirst rows"); err != nil {
			return err
		}
		return j.run(ctx)
	})
}

// inspectLines says what types the columns of JSON lines get, and which line decided each.
func inspectLines(ctx context.Context, path string) (text string, readable bool, err error) {
	all, lines, broken, err := jsonl.Decide(ctx, path, jsonl.Options{})
	if err != nil {
		return "", false, err
	}
	table := [][]string{{"column", "type", "decided by"}}
	var conflicts strings.Builder
	for _, d := range all {
		typ := "none: the values have no common type"
		if d.Err == nil {
			typ = d.Type.String()
		} else {
			fmt.Fprintf(&conflicts, "\n%s\n", printable(d.Err.Error()))
		}
		table = append(table, decisionLine(d.Column, typ, d.Line, d.Text))
	}
	text = fmt.Sprintf("\nColumns, from a sample of %s", plural(int64(lines), "line"))
	if broken > 0 {
		text += fmt.Sprintf(" (%s of it not JSON objects)", plural(int64(broken), "more line"))
	}
	return text + "\n" + aligned(table, "  ") + conflicts.String(), conflicts.Len() == 0, nil
}

// inspectCSV says what types the columns get, and which line decided each.
func inspectCSV(ctx context.Context, path, format string) (string, error) {
	var opt csv.Options
	if format != "csv" {
		opt.Delim = "tab"
	}
	all, err := csv.Decide(ctx, path, opt)
	if err != nil {
		return "", err
	}
	table := [][]string{{"column", "type", "decided by"}}
	for _, d := range all {
		table = append(table, decisionLine(d.Column, d.Type.String(), d.Line, d.Text))
	}
	return "\nColumns, from a sample at the start\n" + aligned(table, "  "), nil
}

func decisionLine(column, typ string, line int64, text string) []string {
	by := "no value: always null in the sample"
	if line > 0 {
		by = fmt.Sprintf("line %s: %s", count(line), printable(text))
	}
	return []string{printable(clipRunes(column, widestColumn)), clipRunes(typ, widestColumn), by}
}
