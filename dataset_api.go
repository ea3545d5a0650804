package sluice

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Dataset is a lazy, immutable description of rows. Mistakes made while building are returned by the terminal.
type Dataset struct {
	s *Session
	d dataset.Dataset
}

// Output is a dataset bound to a sink.
type Output struct {
	s   *Session
	out dataset.Output
}

// Run runs the output to its end.
func (o Output) Run(ctx context.Context) (*dataset.Report, error) { return o.s.Run(ctx, o) }

// Plain returns the underlying dataset, for APIs of package dataset.
func (d Dataset) Plain() dataset.Dataset { return d.d }

// Via appends any operator. Further datasets are its inputs 1, 2, ….
func (d Dataset) Via(spec dataset.Spec, more ...Dataset) Dataset {
	return d.ViaWith(spec, nil, more...)
}

// ViaWith is Via with options.
func (d Dataset) ViaWith(spec dataset.Spec, opts []dataset.Option, more ...Dataset) Dataset {
	inner := make([]dataset.Dataset, len(more))
	for i, m := range more {
		inner[i] = m.d
	}
	return Dataset{d.s, d.d.ViaWith(spec, opts, inner...)}
}

// Step appends an operator by name, with its arguments written as in a pipeline string: Step("resize", "224x224 fill").
func (d Dataset) Step(name, args string, opts ...dataset.Option) Dataset {
	spec, err := d.s.spec(name, args)
	if err != nil {
		return d.failed(err)
	}
	return d.ViaWith(spec, opts)
}

func (d Dataset) failed(err error) Dataset {
	if d.d.Err() != nil {
		return d
	}
	return Dataset{d.s, dataset.Failed(err, d.s.local)}
}

func (s *Session) spec(name, args string) (dataset.Spec, error) {
	def, err := s.reg.Operator(name)
	if err != nil {
		return nil, err
	}
	params, err := parseArgs(def, args)
	if err != nil {
		return nil, &dataset.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	spec, err := def.New(params)
	if err != nil {
		return nil, &dataset.UsageError{Err: fmt.Errorf("%s: %w", name, err)}
	}
	return spec, nil
}

func parseArgs(def dataset.Def, args string) (any, error) {
	if def.Parse != nil {
		return def.Parse(args)
	}
	p := def.Zero()
	return p, dataset.ParseArgs(args, p)
}

// Filter keeps the rows for which the expression is true.
func (d Dataset) Filter(expr string) Dataset { return d.Step("where", expr) }

// Select keeps the named columns, in that order.
func (d Dataset) Select(columns ...string) Dataset { return d.Step("select", names(columns)) }

// Drop leaves the named columns out.
func (d Dataset) Drop(columns ...string) Dataset { return d.Step("drop", names(columns)) }

// Rename gives a column another name.
func (d Dataset) Rename(from, to string) Dataset { return d.Step("rename", quote(from)+" "+quote(to)) }

// With adds or replaces a column by an expression.
func (d Dataset) With(column, expr string) Dataset { return d.Step("with", quote(column)+" = "+expr) }

// Limit passes n rows on and stops the sources.
func (d Dataset) Limit(n int64) Dataset { return d.Step("limit", strconv.FormatInt(n, 10)) }

// Sample keeps each row with the given probability, decided by its identity and the run's seed.
func (d Dataset) Sample(fraction float64) Dataset {
	return d.Step("sample", strconv.FormatFloat(fraction, 'g', -1, 64))
}

// Sort orders the rows: "score desc", "id". It spills to disk when the rows exceed the budget.
func (d Dataset) Sort(keys ...string) Dataset { return d.Step("sort", strings.Join(keys, ", ")) }

// Union appends the rows of other datasets of the same schema.
func (d Dataset) Union(more ...Dataset) Dataset {
	spec, err := d.s.spec("union", "")
	if err != nil {
		return d.failed(err)
	}
	return d.Via(spec, more...)
}

// Repartition makes blocks of another size.
func (d Dataset) Repartition(n int) Dataset { return d.Step("repartition", strconv.Itoa(n)) }

// Unnest makes a row of each element of a list column, or columns of the fields of a struct column.
func (d Dataset) Unnest(column string) Dataset { return d.Step("unnest", quote(column)) }

// Download fetches the URLs of a column into the binary column "data". options are as in a pipeline string.
func (d Dataset) Download(column string, options ...string) Dataset {
	return d.Step("download", strings.Join(append([]string{quote(column)}, options...), " "))
}

// Decode decodes pictures and adds their upright width, height and format.
func (d Dataset) Decode(options ...string) Dataset {
	return d.Step("decode", strings.Join(options, " "))
}

// Resize resizes pictures to exactly width x height; Step("resize", …) has the other fits.
func (d Dataset) Resize(width, height int) Dataset {
	return d.Step("resize", fmt.Sprintf("%dx%d", width, height))
}

// Crop cuts width x height pixels out of the middle of pictures.
func (d Dataset) Crop(width, height int) Dataset {
	return d.Step("crop", fmt.Sprintf("%dx%d", width, height))
}

// Encode encodes pictures: Encode("jpeg", 75).
func (d Dataset) Encode(format string, quality int) Dataset {
	return d.Step("encode", fmt.Sprintf("%s %d", format, quality))
}

// PHash adds the perceptual hash of pictures.
func (d Dataset) PHash() Dataset { return d.Step("phash", "") }

// Score adds blur, brightness and entropy of pictures.
func (d Dataset) Score() Dataset { return d.Step("score", "") }

// MarkDuplicates adds duplicate_of: the path of the first picture whose hash is within the distance.
func (d Dataset) MarkDuplicates(hash string, distance int) Dataset {
	return d.Step("mark-duplicates", fmt.Sprintf("%s %d", hash, distance))
}

// Blocks runs the dataset and yields its blocks, each valid until the next iteration unless retained. Leaving the loop cancels the
// run and waits for it.
func (d Dataset) Blocks(ctx context.Context) iter.Seq2[*block.Block, error] {
	return d.d.Blocks(ctx, d.s.opts)
}

// Count runs the dataset and counts its rows.
func (d Dataset) Count(ctx context.Context) (int64, error) { return d.d.Count(ctx, d.s.opts) }

// Schema computes the schema without running the dataset.
func (d Dataset) Schema(ctx context.Context) (*arrow.Schema, error) { return d.d.Schema(ctx) }

// Explain prints the plan.
func (d Dataset) Explain(ctx context.Context) (string, error) { return d.s.Explain(ctx, d.d.To(nil)) }

// names writes column names as a list of a pipeline string.
func names(columns []string) string {
	q := make([]string, len(columns))
	for i, c := range columns {
		q[i] = quote(c)
	}
	return strings.Join(q, ", ")
}

// quote writes a name as one word of a pipeline string.
func quote(s string) string {
	for _, r := range s {
		if r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}
