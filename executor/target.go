package executor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// target is one sink of a run and the manager that makes its rows count once.
type target struct {
	stage   *stage
	manager *commit.Manager // nil where the target was complete before: its rows are dropped
	report  dataset.TargetReport
	ended   bool
}

// openTargets locks and looks at every target. done means that all of them are complete already.
func (r *run) openTargets() (done bool, err error) {
	var sinks []*stage
	for _, s := range r.stages {
		if s.Sink != nil {
			sinks = append(sinks, s)
		}
	}
	if err := checkDeadLetters(r.plan); err != nil {
		return false, err
	}
	id, complete := commit.NewRunID(r.start), 0
	for i, s := range sinks {
		t := &target{stage: s}
		s.target = t
		r.targets = append(r.targets, t)
		if err := r.openTarget(t, i, id); err != nil {
			r.abortTargets()
			return false, err
		}
		if t.manager == nil {
			complete++
		}
	}
	r.route()
	if len(sinks) == 0 || complete < len(sinks) || len(sinks) < len(r.plan.Outputs) {
		r.plan.Report.Run = id
		return false, nil
	}
	rep := r.plan.Report
	rep.Complete = true
	for _, t := range r.targets {
		rep.Targets = append(rep.Targets, t.report)
	}
	return true, nil
}

func (r *run) openTarget(t *target, index int, id string) error {
	out := r.plan.Outputs[t.stage.Output]
	plan, err := commit.Plan(r.ctx, out, dataset.NewSchemas(), r.plan.Options)
	if err != nil {
		return err
	}
	opts := r.plan.Options
	opts.Ordered = t.stage.InOrder
	var again *commit.Retry
	if r.retry != nil {
		again = &commit.Retry{Run: r.retry.left.Root.Run, At: r.retry.left.Last}
	}
	m, d, err := commit.Prepare(r.ctx, commit.Config{
		Retry: again, NoRetry: notRetriable(out.Node),
		Sink: t.stage.Sink, Schema: t.stage.In[0], Plan: plan, Options: opts, Run: id, Index: index,
		Lanes: max(1, t.stage.Sched.MaxWorkers), Inputs: r.inputsOf(t.stage), Deferred: r.deferredFor(t.stage),
		Logger: r.cfg.Logger, Failed: r.fail, Scratch: r.scratch.file,
	})
	if err != nil {
		return err
	}
	r.plan.Report.Notes = append(r.plan.Report.Notes, d.Notes...)
	if m == nil {
		if tg, ok := t.stage.Sink.(dataset.Target); ok {
			t.report = d.Report(tg)
		}
		return nil
	}
	t.manager = m
	read, failed := m.Carried()
	r.failures.limits.read = max(r.failures.limits.read, read)
	r.failures.limits.failed = max(r.failures.limits.failed, failed)
	if p, ok := t.stage.Sink.(dataset.SpillPlace); ok && r.scratch.dir == "" {
		r.scratch.dir = p.SpillDir()
	}
	return nil
}

// inputsOf lists the files that a sink's rows are read from.
func (r *run) inputsOf(sink *stage) func() iter.Seq2[commit.Input, error] {
	var sources []commit.NumberedSource
	fed, _ := r.reach(sink)
	for i, s := range r.stages {
		if s.Source != nil && fed[i] {
			sources = append(sources, commit.NumberedSource{ID: s.Origin, Source: s.Source})
		}
	}
	return func() iter.Seq2[commit.Input, error] { return commit.ListNumbered(r.ctx, sources) }
}

// reach says for each stage whether the sink stage is fed by it, and whether only through a barrier.
func (r *run) reach(sink *stage) (fed, deferred map[int]bool) {
	fed, deferred = map[int]bool{}, map[int]bool{}
	var visit func(i int, behind bool)
	visit = func(i int, behind bool) {
		if fed[i] && (behind || !deferred[i]) {
			return
		}
		fed[i], deferred[i] = true, behind
		for _, from := range r.stages[i].Inputs {
			visit(from, behind || r.stages[i].Sched.Barrier)
		}
	}
	visit(int(sink.id), false)
	return fed, deferred
}

// deferredFor tells which identities must not commit before the end: those of barriers, and of sources seen only through one.
func (r *run) deferredFor(sink *stage) func(uint32) bool {
	fed, deferred := r.reach(sink)
	direct := map[uint32]bool{}
	for i, s := range r.stages {
		if s.Source != nil && fed[i] && !deferred[i] {
			direct[s.Origin] = true
		}
	}
	return func(source uint32) bool { return !direct[source] }
}

// route finds, for every stage, the managers that its rows can reach, before the run begins.
func (r *run) route() {
	for _, t := range r.targets {
		if t.manager == nil {
			continue
		}
		fed, _ := r.reach(t.stage)
		for i, s := range r.stages {
			if fed[i] && s.Sink == nil {
				s.managers = append(s.managers, t.manager)
			}
		}
	}
	for _, s := range r.stages {
		managers := s.managers
		switch len(managers) {
		case 0:
		case 1:
			s.drained = managers[0].Drained
		default:
			s.drained = func(t *block.Token) {
				for _, m := range managers {
					m.Drained(t)
				}
			}
		}
	}
}

// newToken makes a token for rows that begin at stage s.
func (r *run) newToken(s *stage, ranges []block.Range) *block.Token {
	t := block.NewToken(ranges, s.drained)
	if len(s.managers) > 0 {
		t.State = commit.NewTokenState(len(r.targets))
	}
	return t
}

// journalSplit gives the files of a split their identities and tells every target of it.
func (r *run) journalSplit(ctx context.Context, s *stage, sp *dataset.Split) error {
	for _, m := range s.managers {
		if err := m.Split(ctx, s.Origin, sp); err != nil {
			return err
		}
	}
	if len(s.managers) > 0 {
		return nil
	}
	for i := range sp.Ranges {
		g := &sp.Ranges[i]
		if last := s.list.last; last != nil && last.Path == g.File.Path {
			g.ID = last
			continue
		}
		g.ID = &block.File{Source: s.Origin, Ordinal: s.list.files, Path: g.File.Path}
		s.list.last = g.ID
		s.list.files++
	}
	return nil
}

// listed tells the targets that a source has no more splits.
func (r *run) listed(s *stage) error {
	for _, m := range s.managers {
		if err := m.Listed(s.Origin); err != nil {
			return err
		}
	}
	return nil
}

// ticker calls Tick of all managers now and then; the result stops it and waits.
func (r *run) ticker() func() {
	if len(r.targets) == 0 {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				for _, t := range r.targets {
					if t.manager != nil {
						t.manager.Tick(now)
					}
				}
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop); <-done }
}

// finish publishes every target, or leaves all of them as they were.
func (r *run) finish(cause error) error {
	if cause != nil {
		return errors.Join(cause, r.abortTargets())
	}
	ctx := context.WithoutCancel(r.parent)
	for _, t := range r.targets {
		if t.manager == nil {
			r.plan.Report.Targets = append(r.plan.Report.Targets, t.report)
			continue
		}
		w := newWorker(t.stage, -1)
		rep, err := t.manager.Finish(ctx, &opRuntime{worker: w, op: &chainOp{name: t.stage.Sink.Name()}})
		if err != nil {
			return errors.Join(err, r.abortTargets())
		}
		t.ended = true
		r.plan.Report.Targets = append(r.plan.Report.Targets, rep)
		r.plan.Report.BytesWritten += rep.Bytes
	}
	return nil
}

func (r *run) abortTargets() error {
	var errs []error
	for _, t := range r.targets {
		if t.manager != nil && !t.ended {
			errs = append(errs, t.manager.Abort(context.WithoutCancel(r.parent)))
			t.ended = true
		}
	}
	return errors.Join(errs...)
}

// sinkOp is the operator of a sink stage: each worker is a lane of the target's manager.
type sinkOp struct {
	worker *worker
	rt     dataset.Runtime
}

var _ dataset.Operator = (*sinkOp)(nil)

// Open implements dataset.Operator.
func (o *sinkOp) Open(_ context.Context, rt dataset.Runtime) error {
	o.rt = rt
	if o.worker.stage.target == nil {
		return fmt.Errorf("open sink %s: it has no target", o.worker.stage.Sink.Name())
	}
	return nil
}

// Process implements dataset.Operator.
func (o *sinkOp) Process(ctx context.Context, _ int, b *block.Block, _ dataset.Emit) error {
	m := o.worker.stage.target.manager
	if m == nil {
		return nil
	}
	if re := o.worker.run.retry; re != nil && re.children {
		return re.write(b, o.rt, func(b *block.Block) error { return m.Write(ctx, o.rt, int(o.worker.id), b) })
	}
	return m.Write(ctx, o.rt, int(o.worker.id), b)
}

// Flush implements dataset.Operator.
func (*sinkOp) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (*sinkOp) Close() error { return nil }
