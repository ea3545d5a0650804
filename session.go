package sluice

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/connectors/all"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
	"github.com/sluice-data/sluice/executor/commit"
	"github.com/sluice-data/sluice/operators"
	"github.com/sluice-data/sluice/operators/infer"
	"github.com/sluice-data/sluice/operators/isolate"
	"github.com/sluice-data/sluice/operators/media"
	"github.com/sluice-data/sluice/operators/python"
	"github.com/sluice-data/sluice/operators/relational"
)

// Session is what datasets run on: a registry of everything known by name, and a runner. It is safe for concurrent use; each run may use the
// whole memory budget.
type Session struct {
	reg   *dataset.Registry
	local *executor.Local
	run   runConfig
	stats *stats
}

// Open opens a session on this machine. Close it when done.
func Open(_ context.Context, opts ...Option) (*Session, error) {
	var c config
	for _, o := range opts {
		o.open(&c)
	}
	if c.exec.MemoryBytes == 0 {
		c.exec.MemoryBytes = executor.DefaultMemory()
	}
	c.exec.Index, c.exec.Isolate = commit.UserIndex(), isolate.Wrap
	local, err := executor.New(c.exec)
	if err != nil {
		return nil, err
	}
	reg, err := registry()
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	return &Session{reg: reg, local: local, run: c.run, stats: newStats()}, nil
}

// registry makes everything that is known by name.
func registry() (*dataset.Registry, error) {
	reg := dataset.NewRegistry()
	return reg, errors.Join(operators.Register(reg), relational.Register(reg), media.Register(reg), python.Register(reg),
		infer.Register(reg, infer.Deps{Open: engines, Ready: ready}), all.Register(reg))
}

// A program that imports this package can be its own child process (WithIsolate): as one it does nothing else.
func init() { isolate.Serve(registry, isolable) }

// With returns a session with other options for runs, on the same machine and memory. Only the session that was opened is closed.
func (s *Session) With(opts ...RunOption) *Session {
	t := *s
	t.run = s.run.with(opts)
	return &t
}

// Close frees what the session holds. Runs must have ended.
func (s *Session) Close() error { return s.local.Close() }

// Registry returns everything the session knows by name. What is added to it, before the session is used, is found by Step, Read, Write
// and pipeline strings.
func (s *Session) Registry() *dataset.Registry { return s.reg }

// Runner returns what datasets of this session run on.
func (s *Session) Runner() dataset.Runner { return s.local }

// Options returns the options that runs start from.
func (s *Session) Options() dataset.Options { return s.run.Options }

// Run runs several outputs at once, with the options of the session. Steps they share run once.
func (s *Session) Run(ctx context.Context, outs ...Output) (*dataset.Report, error) {
	inner := make([]dataset.Output, len(outs))
	for i, o := range outs {
		if o.s != nil && o.s.local != s.local {
			return nil, dataset.Usagef("run outputs: output %d was made by another session; open one session for all of them", i+1)
		}
		inner[i] = o.out
	}
	return s.drain(ctx, s.run, inner...)
}

func (s *Session) drain(ctx context.Context, c runConfig, outs ...dataset.Output) (*dataset.Report, error) {
	p, err := dataset.NewPlan(c.Options, outs...)
	if err != nil {
		return nil, err
	}
	defer s.keep(c, p)
	return p.Report, dataset.Drain(ctx, s.local, p)
}

// keep copies the report to where the caller wants it, and remembers it for Stats.
func (s *Session) keep(r runConfig, p *dataset.Plan) {
	s.stats.keep(p)
	if r.report != nil {
		*r.report = *p.Report
	}
}

// Explain prints the logical plan of outputs and the stages they are compiled to.
func (s *Session) Explain(ctx context.Context, outs ...dataset.Output) (string, error) {
	e, err := s.Describe(ctx, outs...)
	if err != nil {
		return "", err
	}
	return e.Text(), nil
}

// Describe is Explain as a value, which is printed as text or drawn as Mermaid, and to which the report of a run can be added.
func (s *Session) Describe(ctx context.Context, outs ...dataset.Output) (*executor.Explanation, error) {
	p, err := dataset.NewPlan(s.run.Options, outs...)
	if err != nil {
		return nil, err
	}
	return s.local.Describe(ctx, p)
}

// analyze runs a plan and explains it.
func (s *Session) analyze(ctx context.Context, c runConfig, out dataset.Output) (string, error) {
	p, err := dataset.NewPlan(c.Options, out)
	if err != nil {
		return "", err
	}
	defer s.keep(c, p)
	e, err := s.local.Analyze(ctx, p)
	if e == nil {
		return "", err
	}
	return e.Text(), err
}
