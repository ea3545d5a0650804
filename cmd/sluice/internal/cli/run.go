package cli

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strings"

	"golang.org/x/term"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// memoryHeadroom is what the process may use besides the budget: the runtime, the code, goroutine stacks.
const memoryHeadroom = 100_000_000

// gcPercent makes the collector run when half as much again is allocated, not twice as much: nearly all of the heap are buffers without pointers,
// so that a collection costs next to nothing, while the peak of the process is a tenth lower.
const gcPercent = 50

// writerTable is the name that --to has for a table on standard output.
const writerTable = "table"

// runPipeline is the default command.
func (a *app) runPipeline(ctx context.Context, args []string) error {
	if len(args) > 1 {
		return dataset.Usagef("the pipeline must be one argument; put it in quotes: sluice '%s'", strings.Join(args, " "))
	}
	return a.executeOrTrace(ctx, args[0], a.parseText(args[0]))
}

// executeOrTrace runs the pipeline, or shows what it would do with a few rows.
func (a *app) executeOrTrace(ctx context.Context, command string, parse parser) error {
	see := &a.flags.see
	switch {
	case see.trace:
		return a.traced(ctx, command, parse)
	case see.given("sample"):
		return dataset.Usagef("--sample is for --trace: sluice --sample 3 --trace '…'; the step sample keeps a random part of the rows")
	}
	return a.execute(ctx, command, parse)
}

// runJob runs a job file.
func (a *app) runJob(ctx context.Context, name string) error {
	return a.executeOrTrace(ctx, "run "+name, a.parseJob(name))
}

// parser makes the tree once the registry is known.
type parser func(pipeline.Names) (*pipeline.Pipeline, error)

func (a *app) parseText(text string) parser {
	return func(names pipeline.Names) (*pipeline.Pipeline, error) {
		if len(a.flags.set) > 0 {
			return nil, dataset.Usagef("--set is for job files; write the value into the pipeline")
		}
		a.text = strings.TrimPrefix(text, " ") // see protectStdin
		return pipeline.Parse(a.text, names)
	}
}

func (a *app) parseJob(name string) parser {
	return func(pipeline.Names) (*pipeline.Pipeline, error) {
		a.file = name
		values, err := a.flags.values()
		if err != nil {
			return nil, err
		}
		data, err := readJob(name)
		if err != nil {
			return nil, err
		}
		a.jobText = string(data)
		return pipeline.LoadJob(data, values)
	}
}

// execute parses, builds, checks and runs.
func (a *app) execute(ctx context.Context, command string, parse parser) (err error) {
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
	return j.run(ctx)
}

// job is a pipeline that is ready to run.
type job struct {
	*app
	session  Session
	settings Settings
	env      pipeline.Env
	parsed   *pipeline.Pipeline
	built    *pipeline.Built
	look     *lookout
	tracer
}

// open makes the session and builds the pipeline on it.
func (a *app) open(ctx context.Context, command string, parse parser) (*job, error) {
	j := &job{app: a, look: &lookout{}}
	var err error
	if j.settings, err = a.flags.settings(command); err != nil {
		return nil, err
	}
	if j.settings.MemoryBytes == 0 {
		j.settings.MemoryBytes = a.DefaultMemory()
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := j.settings.MemoryBytes + memoryHeadroom
		debug.SetMemoryLimit(limit)
		j.look.offHeap = func(n int64) { debug.SetMemoryLimit(max(limit-n, memoryHeadroom)) } // it limits Go's heap only
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	j.settings.Watch = j.look.set
	if j.flags.see.otlp != "" {
		j.settings.Slow = j.slow
	}
	if j.session, err = a.openSession(ctx, j.settings); err != nil {
		return nil, err
	}
	if err := j.build(ctx, parse); err != nil {
		return nil, errors.Join(err, j.session.Close())
	}
	return j, nil
}

func (j *job) build(ctx context.Context, parse parser) (err error) {
	reg := j.session.Registry()
	if j.parsed, err = parse(pipeline.NamesOf(reg)); err != nil {
		return err
	}
	to := j.flags.to
	if to == writerTable {
		to = ""
	}
	j.env = pipeline.Env{Registry: reg, Runner: j.session.Runner(), From: j.flags.from, To: to, Stdin: j.peekStdin}
	j.settings.Options.Command = j.canonical()
	if j.built, err = j.env.Build(ctx, j.parsed); err != nil {
		return j.mistyped(err)
	}
	return nil
}

// mistyped adds that a lone word may be a command.
func (j *job) mistyped(err error) error {
	if j.file != "" || len(j.parsed.Steps) > 0 || j.parsed.Sink != nil || strings.ContainsAny(j.text, "./*") {
		return err
	}
	near := dataset.DidYouMean(strings.TrimSpace(j.text), []string{"run", "explain", "ops", "version", "schema", "head", "count", "runs", "resume", "clean", "errors", "retry", "inspect",
		"fmt", "lint", "diff", "help", "completion"})
	if near == "" {
		return err
	}
	return dataset.Usagef("there is no command or source %q%s", strings.TrimSpace(j.text), near)
}

// peekStdin gives the first bytes of standard input without consuming them.
func (j *job) peekStdin(ctx context.Context) ([]byte, error) {
	return peek(ctx, j.Stdin, pipeline.SniffBytes)
}

// showsTable says whether the rows go to a table for people.
func (j *job) showsTable() bool {
	if j.flags.to != "" || !j.toStdout() {
		return j.flags.to == writerTable && j.toStdout()
	}
	return j.parsed.Sink == nil && isTerminal(j.Stdout)
}

// toStdout says whether the rows go to standard output.
func (j *job) toStdout() bool {
	s := j.parsed.Sink
	return s == nil || s.Path == "-" && !s.Literal
}

// run runs the pipeline and shows what there is to show.
func (j *job) run(ctx context.Context) error {
	if j.flags.to == writerTable && !j.showsTable() {
		return dataset.Usagef("--to table prints to the terminal; leave the sink out or make it -")
	}
	j.elsewhere = !j.toStdout()
	var show *table
	sink := j.built.Sink
	if j.showsTable() {
		schema, err := j.built.Dataset.Schema(ctx)
		if err != nil {
			return err
		}
		sink, show = nil, newTable(schema, j.Stdout)
		j.settings.Options.Ordered = true // as everything else on standard output
	} else if sink == nil {
		var err error
		if sink, err = j.env.Stdout(); err != nil {
			return err
		}
	}
	plan, err := dataset.NewPlan(j.settings.Options, j.built.Dataset.To(sink))
	if err != nil {
		return err
	}
	live, stop, err := j.watch(ctx, sink)
	if err != nil {
		return err
	}
	err = j.drain(ctx, plan, show, live)
	stop(plan.Report, err)
	if err != nil {
		j.problems(plan.Report)
		return err
	}
	if !plan.Report.Complete && deadLetters(plan.Report) > 0 {
		j.code = exitDeadLetters
	}
	j.summary(plan.Report, show)
	return nil
}

// drain runs the plan to its end and gives blocks to the table, if there is one.
func (j *job) drain(ctx context.Context, plan *dataset.Plan, show *table, live display) error {
	for b, err := range j.session.Runner().Run(ctx, plan) {
		if err != nil {
			return err
		}
		if show == nil {
			continue
		}
		if err := show.add(b, live.stop); err != nil {
			return err
		}
	}
	if show == nil {
		return nil
	}
	live.stop()
	return show.finish()
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
