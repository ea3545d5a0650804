package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// run is one run of one plan.
type run struct {
	cfg    Config
	pool   *block.Pool
	plan   *dataset.Plan
	stages []*stage
	parent context.Context // the caller's
	ctx    context.Context // of everything in the run
	cancel context.CancelCauseFunc
	start  time.Time
	wg     sync.WaitGroup // workers, listers, asynchronous calls, timers

	memoryWaiters atomic.Int32
	draining      atomic.Bool
	surplus       int64 // credit above which a stage gives back at once
	blockBytes    int64

	targets  []*target
	retry    *retry // nil unless failed rows are tried again
	failures failures
	read     atomic.Int64 // rows that readers gave or could not read
	scratch  *scratch
	peak     atomic.Int64
	watch    watch
	yield    chan *block.Block
	done     chan struct{} // the machine has ended, or the run was cancelled and no task is left

	mu struct {
		sync.Mutex
		machine *sched.Machine
		effects []sched.Effect
		tasks   []*task
		running int
		closed  bool
		doneSet bool
	}
}

// task is one unit of work of one worker. Tasks are used again under their number.
type task struct {
	id      sched.TaskID
	kind    sched.TaskKind
	port    int
	n       int
	items   []sched.Item
	worker  *worker
	resume  chan struct{} // one token for each FxResume
	denied  int64
	begun   time.Time
	waited  time.Duration
	stopped bool
}

// maxBlockBytes bounds the block target: beyond it blocks only cost latency and cache misses.
const maxBlockBytes = 64 << 20

// minBlockBytes is the least block target.
const minBlockBytes = 256 << 10

// fewBlockBytes is the block target of plans that want few rows, and fewRows the largest limit that counts as such: the first block is all that
// many of these plans ever use, and its size is what the user waits for.
const (
	fewBlockBytes = 1 << 20
	fewRows       = 10_000
)

// blockTarget is the size that blocks of a plan should have under a budget.
func blockTarget(c *Physical, budget int64) int64 {
	if c.wantsFew() {
		return min(fewBlockBytes, max(budget/64, minBlockBytes))
	}
	workers := 0
	for _, s := range c.Stages {
		workers += max(1, s.Sched.MaxWorkers)
	}
	return min(max(budget/int64(4*(len(c.Stages)+workers)), minBlockBytes), maxBlockBytes)
}

// wantsFew says that a limit of few rows takes from a source with no barrier between them.
func (c *Physical) wantsFew() bool {
	var streams func(s *PhysicalStage) bool // from a source
	streams = func(s *PhysicalStage) bool {
		return s.Source != nil || !s.Sched.Barrier && slices.ContainsFunc(s.Inputs, func(i int) bool { return streams(c.Stages[i]) })
	}
	return slices.ContainsFunc(c.Stages, func(s *PhysicalStage) bool {
		return streams(s) && slices.ContainsFunc(s.Ops, func(n *dataset.Node) bool {
			l, ok := n.Spec.(dataset.Limiter)
			return ok && l.Limit() <= fewRows
		})
	})
}

func newRun(ctx context.Context, l *Local, p *dataset.Plan, c *Physical) (*run, error) {
	r := &run{
		cfg: l.cfg, pool: l.pool, plan: p, start: time.Now(),
		yield: make(chan *block.Block), done: make(chan struct{}),
	}
	r.blockBytes = blockTarget(c, l.cfg.MemoryBytes)
	r.surplus = 2 * r.blockBytes
	r.failures.policy, r.failures.limits, r.failures.read = p.Options.OnError, newCeilings(p.Options), &r.read
	cfg := sched.Config{Slots: l.cfg.Parallel, BudgetBytes: l.cfg.MemoryBytes, BlockBytes: r.blockBytes, Separate: p.Options.Batch.NoCoalesce}
	for i, s := range c.Stages {
		cfg.Stages = append(cfg.Stages, s.Sched)
		st := &stage{PhysicalStage: s, id: sched.StageID(i), run: r}
		st.memory = &stageMemory{run: r, stage: st}
		r.stages = append(r.stages, st)
	}
	for _, s := range r.stages {
		for _, from := range s.Inputs {
			r.stages[from].consumers++
		}
	}
	m, err := sched.New(cfg)
	if err != nil {
		return nil, &dataset.UsageError{Err: err}
	}
	r.mu.machine = m
	r.parent = ctx
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	r.scratch = newScratch(l.cfg)
	return r, nil
}

// abandon frees what newRun took, for a run that is not started.
func (r *run) abandon() {
	r.cancel(nil)
	r.scratch.close()
}

// run drives the plan to its end. each gets the blocks of the output without a sink and says whether it wants more.
func (r *run) run(each func(*block.Block) bool) error {
	stopParent := afterEnd(r.parent, r.interrupt)
	stopWatch := afterEnd(r.ctx, func() { r.send(sched.Event{Kind: sched.EvCancel}) })
	stopTick := r.ticker()
	if r.cfg.Watch != nil {
		r.cfg.Watch(r)
	}
	for _, s := range r.stages {
		if s.Source != nil {
			s.list = newLister(r.ctx)
		}
	}
	r.send(sched.Event{Kind: sched.EvStart})
	for _, s := range r.stages {
		if s.Source != nil {
			s.startListing()
		}
	}
	wanted := true
	for more := true; more; {
		select {
		case b := <-r.yield:
			if wanted && !each(b) {
				wanted = false
				r.stop(errGone)
			}
			b.Release()
			r.yield <- nil
		case <-r.done:
			more = false
		}
	}
	stopParent()
	stopWatch()
	cause := context.Cause(r.ctx)
	for _, s := range r.stages {
		if s.list != nil {
			s.list.stop(nil)
		}
	}
	if cause == nil && r.draining.Load() {
		cause = r.checkpoint()
	}
	if cause != nil {
		r.freeze()
	}
	r.cancel(nil)
	r.closeWorkers()
	r.wg.Wait()
	stopTick()
	if e := r.releaseSources(); e != nil && cause == nil {
		cause = e
	}
	if e := r.mu.machine.Err(); e != nil && cause == nil {
		cause = fmt.Errorf("internal error in the scheduler: %w", e)
	}
	if cause == nil {
		cause = r.failures.atEnd()
	}
	r.watch.publish(r.clock())
	err := r.finish(cause)
	r.scratch.close()
	r.fillReport()
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// afterEnd calls f on a goroutine of its own once ctx has ended. stop keeps f from being called, or waits until it has returned:
// what f starts is counted before the run waits for it.
func afterEnd(ctx context.Context, f func()) (stop func()) {
	returned := make(chan struct{})
	unregister := context.AfterFunc(ctx, func() {
		defer close(returned)
		f()
	})
	return func() {
		if !unregister() {
			<-returned
		}
	}
}

// drainTime is how long an interrupted run may take to commit what it has read.
const drainTime = 10 * time.Second

// interrupt is called when the caller's context ends. An interrupt by a person lets what was read go through for a while.
func (r *run) interrupt() {
	cause := context.Cause(r.parent)
	if !errors.Is(cause, dataset.ErrCanceled) {
		r.stop(cause)
		return
	}
	r.draining.Store(true)
	r.send(sched.Event{Kind: sched.EvDrain})
	r.wg.Go(func() {
		late := time.NewTimer(drainTime)
		defer late.Stop()
		select {
		case <-late.C:
			r.stop(cause)
		case <-r.done:
		case <-r.ctx.Done():
		}
	})
}

// checkpoint commits what an interrupted run has brought to its end, and returns the reason of the interrupt.
func (r *run) checkpoint() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.parent), drainTime)
	defer cancel()
	for _, t := range r.targets {
		if t.manager != nil {
			if err := t.manager.Checkpoint(ctx); err != nil {
				return errors.Join(context.Cause(r.parent), err)
			}
		}
	}
	return context.Cause(r.parent)
}

// errGone ends a run whose consumer left the loop.
var errGone = errors.New("the consumer left")

// fail ends the run with err; the first error wins.
func (r *run) fail(err error) {
	if errors.Is(err, context.Canceled) && r.ctx.Err() != nil {
		return
	}
	r.stop(err)
}

// stop cancels the run. From before anybody can see that it is cancelled, and lets go of blocks that have not arrived, nothing is
// committed any more.
func (r *run) stop(cause error) {
	r.freeze()
	r.cancel(cause)
}

// freeze makes the managers commit nothing more: the run is going to fail, and blocks that are let go of from now on were not written.
func (r *run) freeze() {
	for _, t := range r.targets {
		if t.manager != nil {
			t.manager.Freeze()
		}
	}
}

// cause is why the run ends early, or nil.
func (r *run) cause() error {
	if r.ctx.Err() == nil {
		return nil
	}
	return context.Cause(r.ctx)
}

// answer is what an event means for the one who sent it.
type answer struct {
	parked bool
	reason sched.Reason
	next   *task // a task for the sending worker itself
}

// send tells the machine of an event and does what it answers.
func (r *run) send(ev sched.Event) answer { return r.sendFrom(ev, nil) }

func (r *run) sendFrom(ev sched.Event, self *worker) (a answer) {
	var drops []dropped
	r.mu.Lock()
	if r.mu.closed { // a block that outlived the run
		r.mu.Unlock()
		return a
	}
	ev.Now = int64(time.Since(r.start))
	r.watch.saw(&ev)
	if ev.Kind == sched.EvTaskDone {
		r.mu.running--
	}
	r.mu.effects = r.mu.machine.Step(ev, r.mu.effects[:0])
	for i := range r.mu.effects {
		drops = r.apply(&ev, &r.mu.effects[i], self, &a, drops)
	}
	if !r.mu.doneSet && r.mu.running == 0 && r.ctx.Err() != nil {
		r.markDone()
	}
	r.mu.Unlock()
	for _, d := range drops {
		r.drop(d.stage, d.item)
	}
	return a
}

// dropped is an item that the machine does not want any more.
type dropped struct {
	stage sched.StageID
	item  sched.Item
}

func (r *run) markDone() {
	if !r.mu.doneSet {
		r.mu.doneSet = true
		close(r.done)
	}
}

// apply does one effect. It is called with the lock held and must not wait or release blocks.
func (r *run) apply(ev *sched.Event, fx *sched.Effect, self *worker, a *answer, drops []dropped) []dropped {
	switch fx.Kind {
	case sched.FxStart:
		r.watch.moved.Store(ev.Now)
		t := r.startTask(fx)
		if t.worker == self && a.next == nil {
			a.next = t
		} else {
			t.worker.work <- t
		}
	case sched.FxPark:
		a.parked, a.reason = true, fx.Reason
	case sched.FxResume:
		r.mu.tasks[fx.Task].wake()
	case sched.FxGrant:
		r.stages[fx.Stage].memory.credit.Add(fx.Bytes)
	case sched.FxDeny:
		r.mu.tasks[fx.Task].denied = fx.Bytes
	case sched.FxListMore:
		r.stages[fx.Stage].listMore(fx.N)
	case sched.FxStopSource:
		r.stages[fx.Stage].stop()
	case sched.FxStopStage:
		r.stages[fx.Stage].stopped.Store(true)
	case sched.FxDrop:
		for _, it := range fx.Items {
			drops = append(drops, dropped{fx.Stage, it})
		}
	case sched.FxSpill:
		r.stages[fx.Stage].spill(fx.Port, fx.Items)
	case sched.FxClose:
		r.stages[fx.Stage].closeWorker(fx.Worker)
	case sched.FxTimer:
		r.timer(fx.Bytes)
	case sched.FxDone:
		r.markDone()
	case sched.FxEnded:
	}
	return drops
}

// startTask fills in the task of an FxStart, and opens its worker if it is new.
func (r *run) startTask(fx *sched.Effect) *task {
	for int(fx.Task) >= len(r.mu.tasks) {
		r.mu.tasks = append(r.mu.tasks, nil)
	}
	t := r.mu.tasks[fx.Task]
	if t == nil {
		t = &task{id: fx.Task, resume: make(chan struct{}, 1)}
		r.mu.tasks[fx.Task] = t
	}
	select {
	case <-t.resume: // left over by a task that stopped waiting because the run was cancelled
	default:
	}
	s := r.stages[fx.Stage]
	s.memory.credit.Add(fx.Bytes)
	t.kind, t.port, t.n, t.items, t.denied, t.stopped = fx.TaskKind, fx.Port, fx.N, fx.Items, 0, false
	t.worker = s.worker(fx.Worker)
	r.mu.running++
	return t
}

// wake lets a parked task go on. A token that is there already is enough: its task gave up waiting when the run was cancelled.
func (t *task) wake() {
	select {
	case t.resume <- struct{}{}:
	default:
	}
}

// timer arranges for EvTimer at the given time of the machine's clock.
func (r *run) timer(at int64) {
	r.wg.Go(func() {
		t := time.NewTimer(time.Duration(at) - time.Since(r.start))
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.ctx.Done():
		}
		r.send(sched.Event{Kind: sched.EvTimer})
	})
}

// closeWorkers ends the workers that the machine did not close itself, after a cancel.
func (r *run) closeWorkers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.closed = true
	for _, s := range r.stages {
		for i := range s.workers {
			s.closeWorker(sched.WorkerID(i))
		}
	}
}

// release gives an item back that nobody wants.
func release(it sched.Item) {
	if b, ok := it.Block.(*block.Block); ok {
		b.Release()
	}
}
