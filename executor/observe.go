package executor

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// watch is what a run keeps for those who look at it. The run writes a few words an event; the work is done by who looks.
type watch struct {
	moved     atomic.Int64 // when anything was begun, handed over or done, on the run's clock
	publishes atomic.Bool
	ended     atomic.Int64 // when the run ended; 0 before
	rates     rates

	mu    sync.Mutex // guards what follows; taken before run.mu
	snap  sched.Snapshot
	tasks []sched.TaskInfo
}

// clock is the time since the run began; it stands still when the run has ended.
func (r *run) clock() time.Duration {
	if at := r.watch.ended.Load(); at > 0 {
		return time.Duration(at)
	}
	return time.Since(r.start)
}

// saw notes that an event moved the run on.
func (w *watch) saw(ev *sched.Event) {
	switch ev.Kind {
	case sched.EvStart, sched.EvSplit, sched.EvListed, sched.EvEmit, sched.EvTaskDone, sched.EvAsyncReady, sched.EvSpilled:
		w.moved.Store(ev.Now)
	default:
	}
}

func (w *watch) publish(at time.Duration) { w.publishes.Store(true); w.moved.Store(int64(at)) }

func (w *watch) end(at time.Duration) { w.ended.Store(max(int64(at), 1)) }

func (r *run) state() string {
	switch {
	case r.watch.ended.Load() > 0:
		return dataset.RunEnded
	case r.watch.publishes.Load():
		return dataset.RunPublishing
	case r.draining.Load():
		return dataset.RunDraining
	}
	return dataset.RunRunning
}

// observe adds what the scheduler knows to a report that has the counters.
func (r *run) observe(rep *dataset.Report) {
	w := &r.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	r.mu.Lock()
	r.mu.machine.At(int64(r.clock()))
	r.mu.machine.Snapshot(&w.snap)
	w.tasks = r.mu.machine.Tasks(w.tasks[:0])
	r.mu.Unlock()
	rep.State, rep.Slots, rep.SlotsBusy = r.state(), w.snap.Slots, w.snap.SlotsBusy
	if rep.State != dataset.RunEnded {
		rep.Quiet = max(r.clock()-time.Duration(w.moved.Load()), 0)
	}
	rep.Input.Listed = true
	for i, s := range r.stages {
		s.flow(&rep.Stages[i], &w.snap.Stages[i])
		rep.UsedBytes += max(rep.Stages[i].HeldBytes, 0)
		if s.Source == nil {
			continue
		}
		rep.Input.ListedBytes += s.count.listed.Load()
		rep.Input.ReadBytes += s.count.read.Load()
		rep.Input.Listed = rep.Input.Listed && s.listedAll.Load()
	}
	rep.Bottleneck = bottleneck(&w.snap, w.tasks)
}

// flow adds what the scheduler knows of a stage.
func (s *stage) flow(rep *dataset.StageReport, st *sched.StageSnapshot) {
	q := s.count.took.quantiles(0.5, 0.99)
	rep.Flow = dataset.Flow{
		State: st.State, QueuedBlocks: st.QueuedItems, QueuedBytes: st.QueuedBytes, OnDisk: st.OnDiskItems,
		Running: st.Running, Tasks: st.Tasks, Allowed: st.MaxWorkers, InFlight: st.InFlight,
		HeldBytes: s.memory.used.Load(), PeakBytes: s.memory.peak.Load(), Spilled: st.SpilledBytes, Allocated: s.memory.total.Load(),
		Working: time.Duration(st.WorkingNs), Why: reason(st.Reason), P50: q[0], P99: q[1],
	}
	for _, wait := range st.Waits {
		addWait(&rep.Waits, wait.Policy, wait.TaskNs)
		addWait(&rep.Idle, wait.Policy, wait.IdleNs)
	}
}

func addWait(to *map[string]time.Duration, policy string, ns int64) {
	if ns <= 0 {
		return
	}
	if *to == nil {
		*to = map[string]time.Duration{}
	}
	(*to)[policy] += time.Duration(ns)
}

// mark is the time at which a block of the task begins, less what the task has waited so far.
func (w *worker) mark(t *task) time.Duration { return w.run.clock() - t.waited }

// took notes what a block cost since mark and returns the mark of the next. Stages with asynchronous calls note the calls instead.
func (w *worker) took(t *task, mark time.Duration) time.Duration {
	now := w.mark(t)
	if w.async.wake == nil {
		w.stage.count.took.add(int64(now - mark))
		w.slow(now - mark)
	}
	return now
}

// next reads a block and notes what it cost.
func (s *readState) next(ctx context.Context, rd dataset.Reader) (*block.Block, error) {
	t := s.worker.task
	mark := s.worker.mark(t)
	b, err := rd.Next(ctx)
	if err == nil {
		s.worker.note(b)
		s.worker.took(t, mark)
	}
	return b, err
}

// share counts how much of a split's bytes were read, by the share of its positions that blocks have reached.
type share struct {
	stage  *stage
	bytes  int64
	total  float64 // positions
	first  int     // ranges before it are in passed
	passed float64
	given  int64 // of bytes, counted already
}

func newShare(s *stage, split *dataset.Split) share {
	sh := share{stage: s, bytes: max(split.Bytes, 0)}
	for i := range split.Ranges {
		sh.total += float64(split.Ranges[i].End) - float64(split.Ranges[i].Start)
	}
	return sh
}

// reached counts up to position pos of range cur.
func (s *share) reached(split *dataset.Split, cur int, pos uint64) {
	for ; s.first < min(cur, len(split.Ranges)); s.first++ {
		r := &split.Ranges[s.first]
		s.passed += float64(r.End) - float64(r.Start)
	}
	at := s.passed
	if cur < len(split.Ranges) {
		at += float64(pos) - float64(split.Ranges[cur].Start)
	}
	if s.total > 0 {
		s.count(int64(min(at/s.total, 1) * float64(s.bytes)))
	}
}

// end counts the rest.
func (s *share) end() { s.count(s.bytes) }

func (s *share) count(upTo int64) {
	if n := upTo - s.given; n > 0 {
		s.given = upTo
		s.stage.count.read.Add(n)
	}
}
