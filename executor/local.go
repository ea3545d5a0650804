package executor

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// Config is what one machine gives to runs.
type Config struct {
	MemoryBytes int64  // budget for everything; required
	Parallel    int    // CPU slots; default GOMAXPROCS
	TempDir     string // for spilled data; default: beside a local target, else the system's
	TempLimit   int64  // bytes of spilled data; 0: no limit
	Logger      *slog.Logger
	// Watch, if set, is called once for each run with a function that fills a snapshot; see Watcher.
	Watch func(Watcher)
	// Slow, if set, is told of blocks and calls that took unusually long, on the goroutine that computed them; it must not wait.
	Slow func(SlowBlock)
	// Isolate makes a Spec whose instances run s in child processes, if s can; for plans that ask for it.
	Isolate func(s dataset.Spec, timeout time.Duration) dataset.Spec
	// Index is told the place of each result that a run begins on or finds complete. The zero value tells nobody.
	Index commit.Index
}

// minMemory is the least budget that any plan can run with.
const minMemory = 16 << 20

// Validate fills defaults in and refuses impossible values.
func (c *Config) Validate() error {
	if c.Parallel == 0 {
		c.Parallel = runtime.GOMAXPROCS(0)
	}
	if c.Parallel < 1 || c.Parallel > 4096 {
		return dataset.Usagef("open executor: --parallel is %d, want 1 to 4096", c.Parallel)
	}
	if c.MemoryBytes < minMemory {
		return dataset.Usagef("open executor: --memory is %d bytes, the least is %d MiB", c.MemoryBytes, minMemory>>20)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.TempDir != "" {
		if st, err := os.Stat(c.TempDir); err != nil || !st.IsDir() {
			return dataset.Usagef("open executor: --temp-dir %s is not a folder", c.TempDir)
		}
	}
	return nil
}

// Local is the Runner of one machine. It is safe for concurrent use; each run has the whole budget.
type Local struct {
	cfg  Config
	pool *block.Pool
}

var _ dataset.Runner = (*Local)(nil)

// New makes a Local.
func New(cfg Config) (*Local, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Local{cfg: cfg, pool: block.NewPool(cfg.MemoryBytes)}, nil
}

// Config returns the configuration with its defaults.
func (l *Local) Config() Config { return l.cfg }

// Close drops the idle memory.
func (l *Local) Close() error { l.pool.Trim(); return nil }

// Run implements dataset.Runner.
func (l *Local) Run(ctx context.Context, p *dataset.Plan) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		if p.Report == nil {
			p.Report = &dataset.Report{}
		}
		r, err := l.prepare(ctx, p, nil)
		if err != nil {
			yield(nil, err)
			return
		}
		if r == nil { // every target is complete
			return
		}
		gone := false
		if err := r.run(func(b *block.Block) bool {
			gone = !yield(b, nil)
			return !gone
		}); err != nil && !gone {
			yield(nil, err)
		}
	}
}

// prepare compiles the plan and opens its targets. A nil run means that nothing has to be done. again is set for a retry.
func (l *Local) prepare(ctx context.Context, p *dataset.Plan, again *retry) (*run, error) {
	c, err := Compile(ctx, p, &l.cfg)
	if err != nil {
		return nil, err
	}
	r, err := newRun(ctx, l, p, c)
	if err != nil {
		return nil, err
	}
	if r.retry = again; again != nil {
		again.number(r.stages)
	}
	done, err := r.openTargets()
	if err != nil {
		r.abandon()
		return nil, fmt.Errorf("%w", err)
	}
	if done {
		r.abandon()
		return nil, nil
	}
	return r, nil
}
