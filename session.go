package sluice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sluice-data/sluice/connectors/all"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
	"github.com/sluice-data/sluice/operators"
	"github.com/sluice-data/sluice/operators/media"
	"github.com/sluice-data/sluice/operators/relational"
)

// Session is what datasets run on: a registry of everything known by name, and a runner. It is safe for concurrent use.
type Session struct {
	reg   *dataset.Registry
	local *executor.Local
	opts  dataset.Options
}

// Option changes how a session is opened.
type Option func(*config)

type config struct {
	exec executor.Config
	opts dataset.Options
}

// WithMemory sets the memory budget in bytes. The default is 60 % of the smaller of the container's limit and the machine's memory.
func WithMemory(bytes int64) Option { return func(c *config) { c.exec.MemoryBytes = bytes } }

// WithParallel sets how many tasks compute at the same time. The default is GOMAXPROCS.
func WithParallel(n int) Option { return func(c *config) { c.exec.Parallel = n } }

// WithTempDir sets where data is spilled and how much of it there may be, in bytes (0: no limit).
func WithTempDir(dir string, limit int64) Option {
	return func(c *config) { c.exec.TempDir, c.exec.TempLimit = dir, limit }
}

// WithLogger sets where rare events are logged. The default is nowhere.
func WithLogger(l *slog.Logger) Option { return func(c *config) { c.exec.Logger = l } }

// WithOptions sets the options that runs of this session start from.
func WithOptions(o dataset.Options) Option { return func(c *config) { c.opts = o } }

// WithWatch has f called once for each run, with a look into it.
func WithWatch(f func(executor.Watcher)) Option { return func(c *config) { c.exec.Watch = f } }

// Open opens a session on this machine. Close it when done.
func Open(_ context.Context, opts ...Option) (*Session, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.exec.MemoryBytes == 0 {
		c.exec.MemoryBytes = executor.DefaultMemory()
	}
	local, err := executor.New(c.exec)
	if err != nil {
		return nil, err
	}
	reg := dataset.NewRegistry()
	if err := errors.Join(operators.Register(reg), relational.Register(reg), media.Register(reg), all.Register(reg)); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &Session{reg: reg, local: local, opts: c.opts}, nil
}

// Close frees what the session holds. Runs must have ended.
func (s *Session) Close() error { return s.local.Close() }

// Registry returns everything the session knows by name.
func (s *Session) Registry() *dataset.Registry { return s.reg }

// Runner returns what datasets of this session run on.
func (s *Session) Runner() dataset.Runner { return s.local }

// Options returns the options that runs start from.
func (s *Session) Options() dataset.Options { return s.opts }

// Explain prints the logical plan of outputs and the stages they are compiled to.
func (s *Session) Explain(ctx context.Context, outs ...dataset.Output) (string, error) {
	p, err := dataset.NewPlan(s.opts, outs...)
	if err != nil {
		return "", err
	}
	return s.local.Explain(ctx, p)
}

// Run runs several outputs at once. Steps they share run once.
func (s *Session) Run(ctx context.Context, outs ...Output) (*dataset.Report, error) {
	inner := make([]dataset.Output, len(outs))
	for i, o := range outs {
		inner[i] = o.out
	}
	p, err := dataset.NewPlan(s.opts, inner...)
	if err != nil {
		return nil, err
	}
	return p.Report, dataset.Drain(ctx, s.local, p)
}
