package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/sched"
)

// defaultWindow is how many calls a worker keeps in flight unless its operator says.
const defaultWindow = 16

// startAsync runs fn beside the worker, after waiting for room in the window.
func (w *worker) startAsync(op *chainOp, fn func(ctx context.Context) func(dataset.Emit) error) error {
	if op == nil {
		return errors.New("start asynchronous call: a reader has none")
	}
	a := &w.async
	if a.wake == nil {
		a.wake = make(chan struct{}, 1)
		a.window = defaultWindow
		if n := op.node.Spec.Needs().Window; n > 0 {
			a.window = n
		}
	}
	for {
		if err := w.deliver(); err != nil {
			return err
		}
		a.mu.Lock()
		room := a.flying < a.window
		if room {
			a.flying++
		}
		a.mu.Unlock()
		if room {
			break
		}
		if err := w.blocking("async window", w.awaitReady); err != nil {
			return err
		}
	}
	call := &asyncCall{op: op}
	if w.stage.Sched.Ordered {
		a.mu.Lock()
		a.queue = append(a.queue, call)
		a.mu.Unlock()
	}
	w.run.send(sched.Event{Kind: sched.EvAsyncStart, Stage: w.stage.id, Worker: w.id})
	a.calls.Add(1)
	w.run.wg.Go(func() {
		defer a.calls.Done()
		begun := w.run.clock()
		deliver := w.protect(op, fn)
		took := w.run.clock() - begun
		w.stage.count.took.add(int64(took))
		w.slowCall(op.name, took)
		// The lock is held until the scheduler knows of it, so that the worker cannot deliver what it was not told to.
		a.mu.Lock()
		defer a.mu.Unlock()
		call.deliver, call.done = deliver, true
		fresh := 1 // calls that can be delivered now and could not before
		if w.stage.Sched.Ordered {
			fresh = a.announce()
		} else {
			a.ready = append(a.ready, call)
		}
		for range fresh {
			w.run.send(sched.Event{Kind: sched.EvAsyncReady, Stage: w.stage.id, Worker: w.id})
		}
		select {
		case a.wake <- struct{}{}:
		default:
		}
	})
	return nil
}

// protect runs fn and turns a panic into an error that the delivery returns.
func (w *worker) protect(op *chainOp, fn func(ctx context.Context) func(dataset.Emit) error) (deliver func(dataset.Emit) error) {
	defer func() {
		if v := recover(); v != nil {
			w.run.freeze()
			err := &dataset.PanicError{Op: op.name, Where: "an asynchronous call", Value: v, Stack: debug.Stack()}
			deliver = func(dataset.Emit) error { return err }
		}
	}()
	return fn(w.run.ctx)
}

// awaitReady waits for a call to end.
func (w *worker) awaitReady() error {
	w.async.mu.Lock()
	have := w.async.next(w.stage.Sched.Ordered) != nil
	w.async.mu.Unlock()
	if have {
		return nil
	}
	select {
	case <-w.async.wake:
		return nil
	case <-w.run.ctx.Done():
		return w.run.cause()
	}
}

// next is the call to be delivered next, or nil; called with the lock held. In ordered stages deliveries keep the order of starts.
func (a *asyncCalls) next(ordered bool) *asyncCall {
	list := a.ready
	if ordered {
		list = a.queue
	}
	if len(list) > 0 && list[0].done {
		return list[0]
	}
	return nil
}

// announce returns how many calls at the head of the queue are done and were not announced; called with the lock held.
func (a *asyncCalls) announce() int {
	n := a.announced
	for n < len(a.queue) && a.queue[n].done {
		n++
	}
	fresh := n - a.announced
	a.announced = n
	return fresh
}

// deliver hands on what is ready.
func (w *worker) deliver() error {
	a, ordered := &w.async, w.stage.Sched.Ordered
	for {
		a.mu.Lock()
		call := a.next(ordered)
		if call == nil {
			a.mu.Unlock()
			return nil
		}
		if ordered {
			a.queue = a.queue[1:]
			a.announced--
		} else {
			a.ready = a.ready[1:]
		}
		a.flying--
		a.mu.Unlock()
		w.run.send(sched.Event{Kind: sched.EvAsyncTaken, Stage: w.stage.id, Worker: w.id, N: 1})
		if call.deliver == nil {
			continue
		}
		w.at = call.op.index
		call.op.sent.begin(false)
		if err := w.frozenUnless(func() error { return call.deliver(call.op.emit) }); err != nil {
			return fmt.Errorf("%w", err)
		}
	}
}

// deliverAll waits until nothing is in flight and hands everything on.
func (w *worker) deliverAll() error {
	for {
		if err := w.deliver(); err != nil {
			return err
		}
		w.async.mu.Lock()
		left := w.async.flying
		w.async.mu.Unlock()
		if left == 0 {
			return nil
		}
		if err := w.blocking("async window", w.awaitReady); err != nil {
			return err
		}
	}
}
