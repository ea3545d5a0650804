package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// inspectRows is how many rows inspect shows of a file.
const inspectRows = 5

// inspectFile prints what one file holds.
func (a *app) inspectFile(ctx context.Context, path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return dataset.Usagef("inspect %s: %w", path, cause(err))
	}
	if !st.Mode().IsRegular() {
		return dataset.Usagef("inspect %s: it is no file; sluice head and sluice schema look at folders and patterns", path)
	}
	format, err := formatOf(path)
	if err != nil {
		return fmt.Errorf("inspect %s: %w", path, cause(err))
	}
	title, sample := fmt.Sprintf("%s: %%s, %s\n", printable(path), size(st.Size())), true
	text := ""
	switch {
	case st.Size() == 0:
		title, sample = fmt.Sprintf("%s: %%s\n", printable(path)), false
		format = "an empty file"
	case format == "parquet":
		text, err = inspectParquet(path, st.Size())
		format = "Parquet"
	case slices.Contains(imageFormats, format):
		format, text, err = inspectImage(path)
		sample = false
	case format == "jsonl":
		text, sample, err = inspectLines(ctx, path)
		format = "JSON lines"
	}
	if err != nil {
		return fmt.Errorf("inspect %s: %w", path, err)
	}
	if _, err := fmt.Fprintf(a.Stdout, title+"%s", format, text); err != nil || !sample {
		return err
	}
	return a.sampleRows(ctx, path, text == "")
}

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// formatOf is the extension of a file without that of its compression, or, if it has none of note, what its first bytes show.
func formatOf(path string) (string, error) {
	f, err := os.Open(path) //nolint:gosec // the file that the user named
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	seen := file.Sniff(head[:n])
	name := strings.ToLower(filepath.Base(path))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	switch ext := strings.TrimPrefix(filepath.Ext(name), "."); ext {
	case "ndjson", "jsonlines", "jsonl":
		return "jsonl", nil
	case "":
		return seen, nil
	default:
		if seen != "jsonl" && seen != "gzip" && seen != "zstd" { // what the bytes say counts more than a wrong name
			return seen, nil
		}
		return ext, nil
	}
}

// sampleRows prints the first rows, and before them the schema unless that was shown.
func (a *app) sampleRows(ctx context.Context, path string, schema bool) error {
	a.headFlags()
	parse := func(pipeline.Names) (*pipeline.Pipeline, error) {
		p := &pipeline.Pipeline{Source: pipeline.Source{Paths: []pipeline.Path{{Text: path, Literal: true}}}}
		limit(p, inspectRows)
		return p, nil
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
		by := "no value: always null in the sample"
		if d.Line > 0 {
			by = fmt.Sprintf("line %s: %s", count(d.Line), printable(d.Text))
		}
		typ := "none: the values have no common type"
		if d.Err == nil {
			typ = d.Type.String()
		} else {
			fmt.Fprintf(&conflicts, "\n%s\n", printable(d.Err.Error()))
		}
		table = append(table, []string{printable(d.Column), clipRunes(typ, widestColumn), by})
	}
	text = fmt.Sprintf("\nColumns, from a sample of %s", plural(int64(lines), "line"))
	if broken > 0 {
		text += fmt.Sprintf(" (%s of it not JSON objects)", plural(int64(broken), "more line"))
	}
	return text + "\n" + aligned(table, "  ") + conflicts.String(), conflicts.Len() == 0, nil
}
