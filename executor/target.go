package executor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
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

// openTargets locks and looks at every target, and begins on those where something is to be done. done means that there is none.
func (r *run) openTargets() (done bool, err error) {
	for _, s := range r.stages {
		if s.Sink != nil {
			t := &target{stage: s}
			s.target = t
			r.targets = append(r.targets, t)
		}
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
	opts.Ordered = t.stage.Sched.MaxWorkers == 1
	sources := r.sourcesOf(t.stage)
	return commit.Look(r.ctx, commit.Config{
		Sink: t.stage.Sink, Schema: t.stage.In[0], Plan: plan, Options: opts, Run: id, Index: index,
		Lanes: max(1, t.stage.Sched.MaxWorkers), Sources: sources, Inputs: r.inputsOf(sources), Deferred: r.deferredFor(t.stage),
		Failures: r.failures.total.Load, Logger: r.cfg.Logger, Failed: r.fail,
	})
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
	return true, nil
}

func place(s dataset.Sink) string {
	if t, ok := s.(dataset.Target); ok {
		return t.Locator()
	}
	return s.Name()
}

// sourcesOf lists the source stages that feed a sink, inputs from left to right: an order that depends on the sink's own plan alone.
func (r *run) sourcesOf(sink *stage) []uint32 {
	var out []uint32
	seen := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		for _, from := range r.stages[i].Inputs {
			visit(from)
		}
		if r.stages[i].Source != nil {
			out = append(out, uint32(i))
		}
	}
	visit(int(sink.id))
	return out
}

// inputsOf lists the files of source stages, numbered by their place in the list.
func (r *run) inputsOf(sources []uint32) func() iter.Seq2[commit.Input, error] {
	numbered := make([]commit.NumberedSource, len(sources))
	for i, s := range sources {
		numbered[i] = commit.NumberedSource{ID: uint32(i), Source: r.stages[s].Source}
	}
	return func() iter.Seq2[commit.Input, error] { return commit.ListNumbered(r.ctx, numbered) }
}

// reach is how the rows of stages come to a sink.
type reach struct {
	fed     map[int]bool // at all
	direct  map[int]bool // by a way without a barrier, so with their identities
	behind  map[int]bool // by a way through a barrier
	limited map[int]bool // directly, through a step that counts or compares rows: which ones arrive depends on those before
}

// reach follows the rows of a sink upstream.
func (r *run) reach(sink *stage) reach {
	out := reach{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}}
	type state struct {
		stage           int
		behind, limited bool
	}
	seen := map[state]bool{}
	var visit func(at state)
	visit = func(at state) {
		if seen[at] {
			return
		}
		seen[at] = true
		out.fed[at.stage] = true
		switch {
		case at.behind:
			out.behind[at.stage] = true
		default:
			out.direct[at.stage] = true
			out.limited[at.stage] = out.limited[at.stage] || at.limited
		}
		s := r.stages[at.stage]
		for _, from := range s.Inputs {
			visit(state{from, at.behind || s.Sched.Barrier, at.limited || s.startsOver()})
		}
	}
	visit(state{stage: int(sink.id)})
	return out
}

// startsOver tells whether a step of the stage keeps something from row to row, so that it must see all rows again after a crash.
func (s *stage) startsOver() bool {
	for _, n := range s.Ops {
		if rs, ok := n.Spec.(dataset.Resizer); ok && rs.ResizesBlocks() {
			continue
		}
		if _, ok := n.Spec.(dataset.Limiter); ok || n.Spec.Instances() != dataset.Any || wantsOrder(n.Spec) {
			return true
		}
	}
	return false
}

// deferredFor tells which identities must not commit before the end: those of barriers, of sources seen only through one, and of
// sources whose rows a limit or the like chooses.
func (r *run) deferredFor(sink *stage) func(uint32) bool {
	way := r.reach(sink)
	return func(source uint32) bool {
		return source >= barrierSource || !way.direct[int(source)] || way.limited[int(source)]
	}
}

// openFeeds makes the feed of every source that a target depends on.
func (r *run) openFeeds() error {
	var ways []reach
	for _, s := range r.stages {
		if s.Yield || s.target != nil && s.target.manager != nil && !s.target.manager.Ended() {
			way := r.reach(s)
			if s.Yield {
				way.behind = way.fed // a consumer that keeps no log wants every row
			}
			ways = append(ways, way)
		}
	}
	for i, s := range r.stages {
		if s.Source == nil || len(s.managers) == 0 {
			continue
		}
		reread := slices.ContainsFunc(ways, func(w reach) bool { return w.behind[i] })
		var err error
		if s.feed, err = commit.NewFeed(uint32(i), s.managers, reread); err != nil {
			return err
		}
	}
	return nil
}

// route finds, for every stage, the managers that its rows can reach, before the run begins.
func (r *run) route() {
	for _, t := range r.targets {
		if t.manager == nil {
			continue
		}
		way := r.reach(t.stage)
		for i, s := range r.stages {
			if way.fed[i] && s.Sink == nil {
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

// number gives the files of a split their identities, where no target does.
func (s *stage) number(sp *dataset.Split) {
	for i := range sp.Ranges {
		g := &sp.Ranges[i]
		if last := s.list.last; last != nil && last.Path == g.File.Path {
			g.ID = last
			continue
		}
		g.ID = &block.File{Source: uint32(s.id), Ordinal: s.list.files, Path: g.File.Path}
		s.list.last = g.ID
		s.list.files++
	}
}

// splits gives what is to be read of a source, in order.
func (s *stage) splits(ctx context.Context) iter.Seq2[dataset.Split, error] {
	if s.feed != nil {
		return s.feed.Splits(ctx, s.Source)
	}
	return func(yield func(dataset.Split, error) bool) {
		for sp, err := range s.Source.Splits(ctx, dataset.Cursor{}) {
			s.number(&sp)
			if !yield(sp, err) {
				return
			}
		}
	}
}

// noteResumed tells what earlier attempts had done.
func (r *run) noteResumed() {
	for _, t := range r.targets {
		if t.manager == nil {
			continue
		}
		was := t.manager.Resumed()
		switch {
		case t.manager.Ended():
			r.plan.Report.Notes = append(r.plan.Report.Notes, fmt.Sprintf("resumed run %s of %s: every row was committed before", was.Run, place(t.stage.Sink)))
		case was.Run != "":
			r.plan.Report.Notes = append(r.plan.Report.Notes, fmt.Sprintf("resumed run %s of %s: %d of %d ranges were committed before",
				was.Run, place(t.stage.Sink), was.Done, was.Ranges))
		}
	}
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
	return m.Write(ctx, o.rt, int(o.worker.id), b)
}

// Flush implements dataset.Operator.
func (*sinkOp) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (*sinkOp) Close() error { return nil }
