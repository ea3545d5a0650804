package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// headRows is how many rows head shows unless told.
const headRows = 10

// lookCommands are those that look at a source, or at what a pipeline without a sink gives.
func (a *app) lookCommands() []*cobra.Command {
	const use = " 'SOURCE [| STEP]…' | JOB.yaml"
	n := headRows
	schema := &cobra.Command{Use: "schema" + use, Short: "Show the columns and their types, without running anything"}
	head := &cobra.Command{Use: "head" + use, Short: "Show the first rows as a table"}
	count := &cobra.Command{Use: "count" + use, Short: "Count the rows and print the number"}
	head.Flags().IntVarP(&n, "rows", "n", headRows, "how many rows")
	for _, c := range []*cobra.Command{schema, head, count} {
		c.Args = exactly(1, "one source or pipeline in quotes, or a job file")
	}
	schema.RunE = func(c *cobra.Command, args []string) error {
		return a.look(c.Context(), "schema", args[0], nil, (*job).showSchema)
	}
	head.RunE = func(c *cobra.Command, args []string) error {
		if n < 1 {
			return dataset.Usagef("head: --rows is %d, want 1 or more", n)
		}
		return a.head(c.Context(), args[0], n)
	}
	count.RunE = func(c *cobra.Command, args []string) error {
		return a.look(c.Context(), "count", args[0], nil, (*job).showCount)
	}
	return []*cobra.Command{schema, head, count}
}

// look builds the pipeline without its sink and shows something of it. change may alter what was parsed.
func (a *app) look(ctx context.Context, name, arg string, change func(*pipeline.Pipeline), show func(*job, context.Context) error) (err error) {
	parse := a.parseText(arg)
	if isJob(arg) {
		parse = a.parseJob(arg)
	}
	return a.lookAt(ctx, name+" "+arg, func(names pipeline.Names) (*pipeline.Pipeline, error) {
		p, err := parse(names)
		if err != nil {
			return nil, err
		}
		if p.Sink != nil && a.file == "" {
			return nil, &pipeline.Error{Pos: p.Sink.Pos, Err: dataset.Usagef("%s shows what the pipeline gives; leave the sink out", name)}
		}
		p.Sink = nil
		if change != nil {
			change(p)
		}
		return p, nil
	}, show)
}

func (a *app) lookAt(ctx context.Context, command string, parse parser, show func(*job, context.Context) error) (err error) {
	ctx, sig := a.watchSignals(ctx)
	defer sig.stop()
	j, err := a.open(ctx, command, parse)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.session.Close()) }()
	if err := j.built.Check(ctx); err != nil {
		return err
	}
	return show(j, ctx)
}

// head shows the first rows in source order, as a table unless --to says otherwise, and nothing else.
func (a *app) head(ctx context.Context, arg string, n int) error {
	a.headFlags()
	return a.look(ctx, "head", arg, func(p *pipeline.Pipeline) { limit(p, n) }, (*job).run)
}

func (a *app) headFlags() {
	if a.flags.to == "" {
		a.flags.to = writerTable
	}
	a.flags.quiet, a.flags.ordered = true, true
}

func limit(p *pipeline.Pipeline, n int) {
	p.Steps = append(p.Steps, pipeline.Step{Name: "limit", Args: strconv.Itoa(n)})
}

// showSchema prints a line a column.
func (j *job) showSchema(ctx context.Context) error {
	schema, err := j.built.Dataset.Schema(ctx)
	if err != nil {
		return err
	}
	j.warnings()
	_, err = fmt.Fprint(j.Stdout, schemaText(schema, ""))
	return err
}

func schemaText(schema *arrow.Schema, indent string) string {
	lines := make([][]string, schema.NumFields())
	for i, f := range schema.Fields() {
		lines[i] = []string{printable(f.Name), f.Type.String()}
		if !f.Nullable {
			lines[i] = append(lines[i], "not null")
		}
	}
	return aligned(lines, indent)
}

// showCount runs the pipeline and prints how many rows it gave.
func (j *job) showCount(ctx context.Context) error {
	d, err := j.narrowed(ctx)
	if err != nil {
		return err
	}
	plan, err := dataset.NewPlan(j.settings.Options, d.To(nil))
	if err != nil {
		return err
	}
	var n int64
	_, stop, err := j.watch(ctx, nil)
	if err != nil {
		return err
	}
	for b, rerr := range j.session.Runner().Run(ctx, plan) {
		if err = rerr; err == nil {
			n += int64(b.NumRows())
		}
	}
	stop(plan.Report, err)
	if err != nil {
		j.problems(plan.Report)
		return err
	}
	if !j.flags.quiet {
		fmt.Fprint(j.Stderr, noteText(plan.Report)+failureText(plan.Report)+warningText(plan.Report))
	}
	j.warnings()
	_, err = fmt.Fprintln(j.Stdout, n)
	return err
}

// narrowed is the dataset to count. Of a bare Parquet source one column tells the number of rows; readers of text must see all of a row to
// know whether it is one.
func (j *job) narrowed(ctx context.Context) (dataset.Dataset, error) {
	d := j.built.Dataset
	src, ok := d.Node().Source.(dataset.Projectable)
	if !ok || j.built.Reader != "parquet" {
		return d, nil
	}
	schema, err := d.Schema(ctx)
	if err != nil || schema.NumFields() == 0 {
		return d, err
	}
	best := schema.Field(0).Name
	for _, f := range schema.Fields() {
		if _, ok := f.Type.(arrow.FixedWidthDataType); ok {
			best = f.Name
			break
		}
	}
	one, err := src.Project([]string{best})
	if err != nil {
		return d, err
	}
	return dataset.From(one, j.session.Runner()), nil
}
