package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

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

// openTargets locks and looks at every target, and begins on those where something is to be done. done means that there is none.
func (r *run) openTargets() (done bool, err error) {
	for _, s := range r.stages {
		if s.Sink != nil {
			t := &target{stage: s}
			s.target = t
			r.targets = append(r.targets, t)
		}
	}
	if err := checkDeadLetters(r.plan); err != nil {
		return false, err
	}
	id, complete, err := r.beginTargets()
	if err != nil {
		return false, errors.Join(err, r.abortTargets())
	}
	r.route()
	if err := r.openFeeds(); err != nil {
		return false, errors.Join(err, r.abortTargets())
	}
	if len(r.targets) == 0 || complete < len(r.targets) || len(r.targets) < len(r.plan.Outputs) {
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

// beginTargets looks at all targets before it begins on any: a run that goes on for one of them gives its id to all.
func (r *run) beginTargets() (id string, complete int, err error) {
	looks := make([]*commit.Prospect, len(r.targets))
	defer func() {
		for _, l := range looks {
			if l != nil {
				err = errors.Join(err, l.Leave())
			}
		}
	}()
	id = commit.NewRunID(r.start)
	resumed := false
	for i, t := range r.targets {
		if looks[i], err = r.lookAt(t, i, id); err != nil {
			return "", 0, err
		}
		if tg, ok := t.stage.Sink.(dataset.Target); ok {
			r.cfg.Index.Remember(tg.Locator())
		}
		run := looks[i].Run()
		if run != "" && resumed && run != id {
			return "", 0, dataset.Usagef("write results: their unfinished runs %s and %s are different ones; finish each with the command that began it, or begin anew with --overwrite", id, run)
		}
		if run != "" {
			id, resumed = run, true
		}
	}
	for i, t := range r.targets {
		began, err := r.beginTarget(t, looks[i], id, resumed)
		if err != nil {
			return "", 0, err
		}
		if !began {
			complete++
		}
	}
	return id, complete, nil
}

func (r *run) lookAt(t *target, index int, id string) (*commit.Prospect, error) {
	out := r.plan.Outputs[t.stage.Output]
	plan, err := commit.Plan(r.ctx, out, dataset.NewSchemas(), r.plan.Options)
	if err != nil {
		return nil, err
	}
	opts := r.plan.Options
	opts.Ordered = t.stage.InOrder
	var again *commit.Retry
	if r.retry != nil {
		again = &commit.Retry{Run: r.retry.left.Root.Run, At: r.retry.left.Last}
	}
	sources, origins := r.sourcesOf(t.stage)
	return commit.Look(r.ctx, commit.Config{
		Retry: again, NoRetry: notRetriable(out.Node),
		Sink: t.stage.Sink, Schema: t.stage.In[0], Plan: plan, Options: opts, Run: id, Index: index,
		Lanes: max(1, t.stage.Sched.MaxWorkers), Sources: origins, Inputs: inputsOf(r.ctx, sources), Deferred: r.deferredFor(t.stage),
		Logger: r.cfg.Logger, Failed: r.fail, Scratch: r.scratch.file, Backends: backendsOf(out.Node),
		OpenParts: openParts(r.cfg.MemoryBytes, t.stage.In[0]),
	})
}

const (
	// mostOpenParts is how many files of a partitioned result are open at once, where memory does not forbid it.
	mostOpenParts = 64
	openShare     = 4        // the part of the budget that they may hold rows in, together
	partShare     = 256      // and each of them
	leastOfPart   = 1 << 20  // what each holds whatever the budget
	leastOfField  = 16 << 10 // and for each of its columns
)

// openParts is how many files of a partitioned result may be open at once under a memory budget.
func openParts(budget int64, s *arrow.Schema) int {
	each := max(budget/partShare, leastOfPart, int64(s.NumFields())*leastOfField)
	return int(min(max(budget/openShare/each, 1), mostOpenParts))
}

// backendsOf lists the libraries that the steps of a plan found on this machine.
func backendsOf(root *dataset.Node) string {
	var names []string
	dataset.Walk(func(n *dataset.Node) {
		if b, ok := n.Spec.(dataset.Backend); ok && !slices.Contains(names, b.Backend()) {
			names = append(names, b.Backend())
		}
	}, root)
	return strings.Join(names, ", ")
}

// beginTarget begins on a target, unless nothing is to be done there.
func (r *run) beginTarget(t *target, look *commit.Prospect, id string, resumed bool) (began bool, err error) {
	finished := false
	if resumed && look.Run() == "" && look.Kind != commit.Complete {
		if finished, err = look.Finished(r.ctx, id); err != nil {
			return false, err
		}
		if finished {
			look.Notes = append(look.Notes, fmt.Sprintf("run %s had finished with %s; what is new for it waits until the next run", id, place(t.stage.Sink)))
		}
	}
	if look.Kind == commit.Complete || finished {
		if tg, ok := t.stage.Sink.(dataset.Target); ok {
			t.report = look.Report(tg)
		}
		r.plan.Report.Notes = append(r.plan.Report.Notes, look.Notes...)
		return false, nil
	}
	if t.manager, err = look.Begin(r.ctx, id); err != nil {
		return false, err
	}
	r.plan.Report.Notes = append(r.plan.Report.Notes, look.Notes...)
	read, failed := t.manager.Carried()
	r.failures.limits.read = max(r.failures.limits.read, read)
	r.failures.limits.failed = max(r.failures.limits.failed, failed)
	if p, ok := t.stage.Sink.(dataset.SpillPlace); ok && r.scratch.dir == "" {
		r.scratch.dir = p.SpillDir()
	}
	return true, nil
}

func place(s dataset.Sink) string {
	if t, ok := s.(dataset.Target); ok {
		return t.Locator()
	}
	return s.Name()
}

// ticker calls Tick of all managers now and then; the result stops it and waits.
func (r *run) ticker() func() {
	if len(r.targets) == 0 {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		every := time.Second
		if e := r.plan.Options.CommitEvery; e > 0 {
			every = min(every, max(e/2, 10*time.Millisecond))
		}
		tick := time.NewTicker(every)
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
	r.noteResumed()
	r.noteSkipped()
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
