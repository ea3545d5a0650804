package sluice

import (
	"log/slog"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
	"github.com/sluice-data/sluice/operators/rowfn"
)

// Option changes how a session is opened. Every RunOption is one too: it then holds for all runs of the session.
type Option interface{ open(*config) }

// RunOption changes one run, or all runs of a session that is opened or derived with it.
type RunOption func(*runConfig)

func (o RunOption) open(c *config) { o(&c.run) }

type config struct {
	exec executor.Config
	run  runConfig
}

// runConfig is what options say about runs.
type runConfig struct {
	dataset.Options
	report *dataset.Report
}

func (r runConfig) with(opts []RunOption) runConfig {
	for _, o := range opts {
		o(&r)
	}
	return r
}

type openOption func(*config)

func (o openOption) open(c *config) { o(c) }

// WithMemory sets the memory budget in bytes. The default is 60 % of the smaller of the container's limit and the machine's memory.
func WithMemory(bytes int64) Option {
	return openOption(func(c *config) { c.exec.MemoryBytes = bytes })
}

// WithParallel sets how many tasks compute at the same time. The default is GOMAXPROCS.
func WithParallel(n int) Option { return openOption(func(c *config) { c.exec.Parallel = n }) }

// WithTempDir sets where data is spilled and how much of it there may be, in bytes (0: no limit).
func WithTempDir(dir string, limit int64) Option {
	return openOption(func(c *config) { c.exec.TempDir, c.exec.TempLimit = dir, limit })
}

// WithLogger sets where rare events are logged. The default is nowhere.
func WithLogger(l *slog.Logger) Option { return openOption(func(c *config) { c.exec.Logger = l }) }

// WithWatch has f called once for each run, with a look into it.
func WithWatch(f func(executor.Watcher)) Option {
	return openOption(func(c *config) { c.exec.Watch = f })
}

// WithSlowBlocks has f told of blocks and calls that took much longer than others of their stage, on the goroutine that computed them; it must
// not wait.
func WithSlowBlocks(f func(executor.SlowBlock)) Option {
	return openOption(func(c *config) { c.exec.Slow = f })
}

// WithOptions sets all options of runs at once, those that have no function here too.
func WithOptions(o dataset.Options) RunOption { return func(c *runConfig) { c.Options = o } }

// ErrorPolicy says what a row that fails does to its run.
type ErrorPolicy = dataset.ErrorPolicy

// The error policies. Fail is the default.
const (
	Fail = dataset.OnErrorFail // the first failing row ends the run
	Skip = dataset.OnErrorSkip // failing rows are left out, counted and shown in the report
)

// WithOnError sets what a failing row does.
func WithOnError(p ErrorPolicy) RunOption { return func(c *runConfig) { c.OnError = p } }

// WithOrdered keeps the order of the source in every output. A single file keeps it anyway, a folder or a loop over blocks does not.
func WithOrdered() RunOption { return func(c *runConfig) { c.Ordered = true } }

// WithSeed sets the seed of Sample. Together with WithOrdered the files of a run are the same to the byte, whatever the parallelism.
func WithSeed(seed uint64) RunOption {
	return func(c *runConfig) { c.Seed, c.SeedSet = seed, true }
}

// WithOverwrite replaces what a target holds. Readers of ours see the old result or the new one.
func WithOverwrite() RunOption { return func(c *runConfig) { c.Target = dataset.TargetOverwrite } }

// WithAppend adds to what a target holds.
func WithAppend() RunOption { return func(c *runConfig) { c.Target = dataset.TargetAppend } }

// WithPartSize sets the size in bytes at which a file of a result is closed and another begun. The default is 512 MiB.
func WithPartSize(bytes int64) RunOption { return func(c *runConfig) { c.PartBytes = bytes } }

// WithCommitEvery sets how long finished rows may wait before they are committed. The default is a minute.
func WithCommitEvery(d time.Duration) RunOption {
	return func(c *runConfig) { c.CommitEvery = d }
}

// WithIsolate runs decoders, and models of this process, in child processes, copies of this program that do nothing else: a file that crashes one, or keeps
// a decoder busy for longer than timeout (0: a minute), is then a row that fails, with the signal in its error. It costs some memory for each process, and
// a few percent of time.
func WithIsolate(timeout time.Duration) RunOption {
	return func(c *runConfig) { c.Isolate, c.IsolateTimeout = true, timeout }
}

// WithReport copies the report of a run into r when the run ends: what terminals that return rows otherwise do not tell. One run at a
// time may write to r.
func WithReport(r *dataset.Report) RunOption { return func(c *runConfig) { c.report = r } }

// StepOption changes how one step runs. None but those that describe a function changes what comes out.
type StepOption func(*stepConfig)

type stepConfig struct {
	hints    []dataset.Option
	function []rowfn.Option
	onlyFunc string // an option that says something about a function
}

func stepOptions(opts []StepOption) (c stepConfig) {
	for _, o := range opts {
		o(&c)
	}
	return c
}

// Concurrency sets the least and the most instances of a step; equal numbers fix it. The step is then a stage of its own.
func Concurrency(least, most int) StepOption { return hint(dataset.Concurrency(least, most)) }

// BatchSize sets the most rows that a step receives at once.
func BatchSize(rows int) StepOption { return hint(dataset.BatchSize(rows)) }

// Separate keeps a step a stage of its own, not fused with its neighbours.
func Separate() StepOption { return hint(dataset.Separate()) }

func hint(o dataset.Option) StepOption {
	return func(c *stepConfig) { c.hints = append(c.hints, o) }
}

// FuncName gives a function a stable name, by which "the same command again" is recognised. Without it, it is the name in the program,
// which changes when code moves.
func FuncName(name string) StepOption { return function("FuncName", rowfn.Name(name)) }

// CodeVersion tells versions of a function of one name apart: raise it when the same row would give another result.
func CodeVersion(n int) StepOption { return function("CodeVersion", rowfn.CodeVersion(n)) }

// Nondeterministic says that a function may give other results for the same row.
func Nondeterministic() StepOption {
	return function("Nondeterministic", rowfn.Nondeterministic())
}

func function(name string, o rowfn.Option) StepOption {
	return func(c *stepConfig) { c.function, c.onlyFunc = append(c.function, o), name }
}
