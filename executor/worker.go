package executor

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// worker is one instance of a stage: a goroutine, the stage's operators, and their memory.
type worker struct {
	stage   *stage
	run     *run
	id      sched.WorkerID
	work    chan *task // at most one is on its way
	closing bool       // guarded by run.mu

	task  *task // the task in hand, nil between tasks; used by the worker's own goroutine only
	ops   []*chainOp
	mem   memory.Allocator
	async asyncCalls

	opened   bool
	out      []sched.Item // handed over at the next flush
	outBytes int64
	outSince time.Time // of the last handing over

	at   int          // operator that runs now, for attributing panics
	cur  *block.Block // its input, borrowed
	emit func(*block.Block) error
	part partIdentity
	read *readState

	labels context.Context // of the goroutine, for profiles
	last   handled         // noted only where slow blocks are told of
}

func newWorker(s *stage, id sched.WorkerID) *worker {
	w := &worker{stage: s, run: s.run, id: id, work: make(chan *task, 1)}
	// A sink's parts are finished by the committer's goroutine, with the memory that the worker began them with.
	forced := s.Sink != nil || len(s.Ops) > 0 && (s.Ops[0].Spec.Needs().NoCPU || s.Ops[0].Spec.Needs().Window > 0)
	w.mem = block.NewAllocator(s.run.pool, &workerMemory{stageMemory: s.memory, worker: w, forced: forced})
	w.emit = w.put
	return w
}

// loop runs tasks until the worker is closed.
func (w *worker) loop() {
	w.relabel(w.stage.stageLabels())
	for t := range w.work {
		for t != nil {
			t = w.do(t)
		}
	}
	w.close()
}

// do runs one task and returns the next if the machine gave this worker one at once.
func (w *worker) do(t *task) *task {
	w.task = t
	t.begun, t.waited = time.Now(), 0
	err := w.guard(func() error { return w.perform(t) })
	if err == nil {
		err = w.payDebt()
	}
	stop := errors.Is(err, dataset.ErrStop)
	if err != nil && !stop {
		w.run.fail(w.attribute(err))
	}
	w.cur, w.part.active = nil, false
	busy := time.Since(t.begun) - t.waited
	w.stage.count.busy.Add(int64(busy))
	for i := range t.items {
		release(t.items[i])
	}
	n := 0
	if t.kind == sched.TaskMerge {
		n = len(w.stage.partitions)
	}
	w.run.notePeak()
	ev := sched.Event{Kind: sched.EvTaskDone, Task: t.id, Stage: w.stage.id, Worker: w.id, Items: w.out, BusyNs: int64(busy), Return: w.stage.memory.settle(), Stop: stop, N: n}
	w.task = nil
	next := w.run.sendFrom(ev, w).next
	w.forget()
	return next
}

// forget empties the list of blocks that were handed over.
func (w *worker) forget() {
	clear(w.out)
	w.out, w.outBytes, w.outSince = w.out[:0], 0, time.Now()
}

func (w *worker) perform(t *task) error {
	if !w.opened {
		w.opened = true
		w.stage.memory.used.Add(w.stage.Sched.OffHeap) // the scheduler has charged it
		if err := w.open(); err != nil {
			return err
		}
	}
	switch t.kind {
	case sched.TaskRead:
		return w.readSplit(t.items[0].Block.(*dataset.Split))
	case sched.TaskProcess:
		return w.processItems(t)
	case sched.TaskDeliver:
		return w.deliver()
	case sched.TaskFlush:
		return w.flushOps()
	case sched.TaskMerge:
		return w.merge()
	case sched.TaskPartition:
		return w.partition(t.n)
	}
	return nil
}

// guard runs f and turns a panic into an error.
func (w *worker) guard(f func() error) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if e, ok := v.(error); ok {
			if me, ok := errors.AsType[*MemoryError](e); ok {
				err = me
				return
			}
			if w.run.ctx.Err() != nil && errors.Is(e, w.run.cause()) {
				err = e
				return
			}
		}
		err = &dataset.PanicError{Op: w.opName(), Where: w.where(), Value: v, Stack: debug.Stack()}
	}()
	return f()
}

// put is the emit of the stage's last operator: it queues a block for handing over.
func (w *worker) put(b *block.Block) error {
	if b.NumRows() == 0 {
		b.Release()
		return nil
	}
	if w.stage.stopped.Load() {
		b.Release()
		return dataset.ErrStop
	}
	if w.run.ctx.Err() != nil {
		b.Release()
		return w.run.cause()
	}
	if w.part.active {
		b = w.part.name(w.run, w.stage, b)
	}
	if w.stage.consumers == 0 {
		b.Release()
		return nil
	}
	bytes, rows := b.Bytes(), int64(b.NumRows())
	w.stage.count.out(rows, bytes)
	w.stage.retainForConsumers(b)
	w.out = append(w.out, sched.Item{Bytes: bytes, Rows: rows, Block: b})
	w.outBytes += bytes
	if w.outBytes >= w.run.blockBytes/2 || len(w.out) >= 64 || time.Since(w.outSince) > time.Millisecond {
		return w.handOver()
	}
	return nil
}

// handOver gives the queued blocks to the scheduler and waits if there is no room.
func (w *worker) handOver() error {
	if len(w.out) == 0 {
		return nil
	}
	a := w.run.send(sched.Event{Kind: sched.EvEmit, Task: w.task.id, Items: w.out, Stage: w.stage.id})
	w.forget()
	if a.parked {
		return w.wait()
	}
	return nil
}

// wait parks the worker until its task is resumed or the run ends.
func (w *worker) wait() error {
	t, begun := w.task, time.Now()
	defer func() { t.waited += time.Since(begun) }()
	select {
	case <-t.resume:
		return nil
	case <-w.run.ctx.Done():
		return w.run.cause()
	}
}

// askMemory asks for n bytes for the stage and waits for them.
func (w *worker) askMemory(n int64) error {
	r := w.run
	r.memoryWaiters.Add(1)
	defer r.memoryWaiters.Add(-1)
	if len(w.out) > 0 { // what is done already must not wait with us: downstream may need it to free memory
		if err := w.handOver(); err != nil {
			return err
		}
	}
	r.collect(w.stage)
	if a := r.send(sched.Event{Kind: sched.EvMemory, Task: w.task.id, Stage: w.stage.id, Bytes: n}); a.parked {
		if err := w.wait(); err != nil {
			return err
		}
	}
	if need := w.task.takeDenied(r); need > 0 {
		return &MemoryError{Stage: w.opName(), Bytes: n, Budget: r.cfg.MemoryBytes, Need: need, Held: r.held()}
	}
	return nil
}

// tryMemory asks for n bytes without waiting for them.
func (w *worker) tryMemory(n int64) {
	if w.task == nil {
		return
	}
	w.run.send(sched.Event{Kind: sched.EvMemory, Task: w.task.id, Stage: w.stage.id, Bytes: n, Try: true})
	w.task.takeDenied(w.run)
}

func (t *task) takeDenied(r *run) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := t.denied
	t.denied = 0
	return n
}

// collect makes all stages but one give back what they do not use, because someone is short of memory.
func (r *run) collect(but *stage) {
	for _, s := range r.stages {
		if s != but {
			s.memory.giveBack()
		}
	}
}

// payDebt settles what goroutines beside the worker took beyond the stage's credit.
func (w *worker) payDebt() error {
	for {
		debt := -w.stage.memory.credit.Load()
		if debt <= 0 || w.run.ctx.Err() != nil {
			return nil
		}
		ask := min(debt, w.run.cfg.MemoryBytes/8)
		if w.stage.Sink != nil {
			// A sink never waits: what it holds is bounded by its row groups, and its next task frees what others wait for.
			w.tryMemory(ask)
			return nil
		}
		if err := w.askMemory(ask); err != nil {
			return err
		}
	}
}

// settle takes the stage's surplus for return with the end of a task.
func (m *stageMemory) settle() int64 {
	n := m.credit.Load()
	if m.run.memoryWaiters.Load() > 0 || n > m.run.blockBytes {
		return m.take()
	}
	return 0
}

// notePeak updates the highest memory in use.
func (r *run) notePeak() {
	var sum int64
	for _, s := range r.stages {
		n := s.memory.used.Load()
		s.memory.notePeak(n)
		sum += n
	}
	for {
		old := r.peak.Load()
		if sum <= old || r.peak.CompareAndSwap(old, sum) {
			return
		}
	}
}

// notePeak updates the highest memory that the stage used.
func (m *stageMemory) notePeak(n int64) {
	for old := m.peak.Load(); n > old && !m.peak.CompareAndSwap(old, n); old = m.peak.Load() {
	}
}

// asyncCalls are the calls of a worker that run beside it.
type asyncCalls struct {
	mu     sync.Mutex
	flying int          // started and not delivered
	window int          // most that fly
	ready  []*asyncCall // done, in order of completion
	queue  []*asyncCall // in order of start, for ordered stages
	// announced calls at the head of queue are done, and the scheduler was told of them.
	announced int
	wake      chan struct{}
	calls     sync.WaitGroup
}

type asyncCall struct {
	deliver func(dataset.Emit) error
	op      *chainOp
	done    bool
}

// close closes the operators once no call of theirs is in flight: a call may read what Close frees.
func (w *worker) close() {
	w.async.calls.Wait()
	w.task = nil
	if w.opened {
		defer w.stage.memory.used.Add(-w.stage.Sched.OffHeap)
	}
	for i := len(w.ops) - 1; i >= 0; i-- {
		op := w.ops[i]
		if !op.opened {
			continue
		}
		if err := w.guard(op.op.Close); err != nil {
			w.run.fail(err)
		}
	}
	for _, p := range w.closePartitions() {
		if err := w.guard(p.Close); err != nil {
			w.run.fail(err)
		}
	}
}
