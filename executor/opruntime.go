package executor

import (
	"context"
	"errors"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// opRuntime is the dataset.Runtime of one operator instance, or of a reader (op nil).
type opRuntime struct {
	worker *worker
	op     *chainOp
}

var _ dataset.Runtime = (*opRuntime)(nil)

func (rt *opRuntime) name() string {
	if rt.op == nil {
		return rt.worker.stage.Name
	}
	return rt.op.name
}

// Fail implements dataset.Runtime.
func (rt *opRuntime) Fail(b *block.Block, row int, err error) error {
	w := rt.worker
	if rt.op == nil && w.stage.resumes() {
		if _, all := w.stage.feed.Unread(b); !all { // it failed in the attempt that committed what is around it
			return nil
		}
	}
	w.stage.count.failed.Add(1)
	e := &dataset.RowError{Op: rt.name(), Class: dataset.ClassOf(err), Err: err}
	var step dataset.Stepped
	if errors.As(err, &step) {
		e.Op = step.Step()
	}
	if b.Identity().Len() > row {
		e.Row = b.Identity().At(row)
	}
	if err := rt.reject(b, row, e); err != nil {
		w.run.freeze()
		return err
	}
	return nil
}

// reject gives a failed row to where failed rows go.
func (rt *opRuntime) reject(b *block.Block, row int, e *dataset.RowError) error {
	w := rt.worker
	if rt.op == nil {
		if w.read == nil {
			return w.give(reject{err: e})
		}
		return w.read.reject(e)
	}
	return w.reject(rt.op, b, row, e)
}

// Async implements dataset.Runtime.
func (rt *opRuntime) Async(fn func(ctx context.Context) func(dataset.Emit) error) error {
	return rt.worker.startAsync(rt.op, fn)
}

// Blocking implements dataset.Runtime.
func (rt *opRuntime) Blocking(reason string, fn func() error) error {
	return rt.worker.blocking(reason, fn)
}

// Allocator implements dataset.Runtime.
func (rt *opRuntime) Allocator() memory.Allocator { return rt.worker.mem }

// Reserve implements dataset.Runtime.
func (rt *opRuntime) Reserve(ctx context.Context, n int64) (release func(), err error) {
	m := rt.worker.stage.memory
	for m.credit.Add(-n) < 0 {
		m.credit.Add(n)
		if rt.worker.task == nil {
			m.credit.Add(-n)
			break
		}
		if err := rt.worker.askMemory(n); err != nil {
			return nil, err
		}
	}
	m.used.Add(n)
	return func() { m.refund(n) }, nil
}

// TryReserve implements dataset.Runtime.
func (rt *opRuntime) TryReserve(n int64) (release func(), ok bool) {
	m := rt.worker.stage.memory
	if m.credit.Add(-n) < 0 {
		m.credit.Add(n)
		rt.worker.run.collect(rt.worker.stage)
		rt.worker.tryMemory(n)
		if m.credit.Add(-n) < 0 {
			m.credit.Add(n)
			return nil, false
		}
	}
	m.used.Add(n)
	return func() { m.refund(n) }, true
}

// Scratch implements dataset.Runtime.
func (rt *opRuntime) Scratch() (*dataset.ScratchFile, error) { return rt.worker.run.scratch.file() }

// BlockBytes implements dataset.Runtime.
func (rt *opRuntime) BlockBytes() int64 { return rt.worker.run.blockBytes }

// maxBlockRows caps the rows of a block, so that per-block vectors of row numbers stay small.
const maxBlockRows = 128 << 10

// BlockRows implements dataset.Runtime.
func (rt *opRuntime) BlockRows() int { return maxBlockRows }

// Parallel implements dataset.Runtime.
func (rt *opRuntime) Parallel() int { return rt.worker.run.cfg.Parallel }

// Logger implements dataset.Runtime.
func (rt *opRuntime) Logger() *slog.Logger {
	return rt.worker.run.cfg.Logger.With("operator", rt.name())
}

// Warn implements dataset.Runtime.
func (rt *opRuntime) Warn(class, example string) { rt.worker.run.failures.warn(class, example) }

// blocking runs fn with the CPU slot given back.
func (w *worker) blocking(reason string, fn func() error) error {
	if w.task == nil { // between tasks there is no slot to give back
		return fn()
	}
	if err := w.handOver(); err != nil {
		return err
	}
	w.run.send(sched.Event{Kind: sched.EvBlock, Task: w.task.id, Stage: w.stage.id, Reason: reason})
	err := fn()
	w.run.send(sched.Event{Kind: sched.EvUnblock, Task: w.task.id, Stage: w.stage.id})
	if e := w.wait(); e != nil && err == nil {
		err = e
	}
	return err
}
