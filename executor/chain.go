package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// chainOp is one operator of a worker's chain.
type chainOp struct {
	name   string
	node   *dataset.Node // nil for sinks
	op     dataset.Operator
	rt     *opRuntime
	emit   dataset.Emit
	index  int
	opened bool
	rows   int  // most rows a call, 0: any
	holds  bool // nondeterministic: output is held back until Process returns
	sent   sentRows
	labels context.Context // while it runs
}

// open makes and opens the worker's operators.
func (w *worker) open() error {
	s := w.stage
	in := s.In
	for i, n := range s.Ops {
		op, err := n.Spec.New(in)
		if err != nil {
			return fmt.Errorf("open %s: %w", n.Name(), err)
		}
		c := &chainOp{name: n.Name(), node: n, op: op, index: i, rows: n.Hints.BatchRows}
		nd, ok := n.Spec.(dataset.Nondeterministic)
		c.holds = ok && nd.Nondeterministic()
		w.ops = append(w.ops, c)
		in = []*arrow.Schema{s.Schemas[i]}
	}
	switch {
	case s.Sink != nil:
		w.ops = append(w.ops, &chainOp{name: s.Sink.Name(), op: &sinkOp{worker: w}})
	case s.Yield:
		w.ops = append(w.ops, &chainOp{name: "hand over", op: &yieldOp{worker: w}})
	}
	for i, c := range w.ops {
		c.index = i
		c.rt = &opRuntime{worker: w, op: c}
		c.emit = w.emitOf(i)
		c.labels = s.labelsOf(c.name)
	}
	for _, c := range w.ops {
		c.opened = true
		w.at = c.index
		if err := c.op.Open(w.run.ctx, c.rt); err != nil {
			return fmt.Errorf("open %s: %w", c.name, err)
		}
	}
	return nil
}

// emitOf returns the emit of operator i: the call of the next one, or handing over.
func (w *worker) emitOf(i int) dataset.Emit {
	c := w.ops[i]
	next := w.put
	if i < len(w.ops)-1 {
		next = func(b *block.Block) error {
			defer b.Release()
			if b.NumRows() == 0 {
				return nil
			}
			return w.call(i+1, 0, b)
		}
	}
	return func(b *block.Block) error {
		if b, err := c.sent.pass(b, c.name); b == nil {
			return err
		}
		return next(b)
	}
}

// processItems runs the blocks of a task through the chain. Small blocks are joined first.
func (w *worker) processItems(t *task) error {
	mark := w.mark(t)
	for i := 0; i < len(t.items); {
		n := 1
		if !w.run.plan.Options.Batch.NoCoalesce && w.stage.Sink == nil && !w.stage.Yield {
			n = w.joinable(t.items[i:])
		}
		if err := w.processRun(t, i, n); err != nil {
			return err
		}
		mark = w.took(t, mark)
		i += n
	}
	return nil
}

// joinable returns how many of the first items should be joined into one block: only small ones, up to the block target.
func (w *worker) joinable(items []sched.Item) int {
	small := w.run.blockBytes / 16
	n, sum := 0, int64(0)
	for n < len(items) && items[n].Bytes <= small && sum+items[n].Bytes <= w.run.blockBytes/2 {
		sum += items[n].Bytes
		n++
	}
	return max(n, 1)
}

func (w *worker) processRun(t *task, i, n int) error {
	blocks := make([]*block.Block, 0, n)
	for j := i; j < i+n; j++ {
		b, err := w.load(t.port, t.items[j])
		if err != nil {
			for _, x := range blocks {
				x.Release()
			}
			t.items[j].Block = nil
			return err
		}
		t.items[j].Block = nil
		w.stage.count.in(int64(b.NumRows()), b.Bytes())
		blocks = append(blocks, b)
	}
	b := blocks[0]
	if n > 1 {
		joined, err := block.Merge(w.mem, blocks)
		for _, x := range blocks {
			x.Release()
		}
		if err != nil {
			return fmt.Errorf("join blocks for %s: %w", w.ops[0].name, err)
		}
		b = joined
	}
	defer b.Release()
	w.note(b)
	return w.call(0, t.port, b)
}

// call runs operator i on a block it borrows, in slices if the step asked for a batch size.
func (w *worker) call(i, port int, b *block.Block) error {
	c := w.ops[i]
	if c.rows == 0 || b.NumRows() <= c.rows {
		return w.try(c, port, b)
	}
	for off := 0; off < b.NumRows(); off += c.rows {
		part := b.Slice(off, min(c.rows, b.NumRows()-off))
		err := w.try(c, port, part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Transient errors are tried again so many times, with waits that double from firstWait.
const (
	maxAttempts = 6
	firstWait   = 100 * time.Millisecond
	maxWait     = 30 * time.Second
)

// try calls Process, and calls it again after transient errors. What a failed attempt had emitted already is skipped when the
// next one emits it again; a nondeterministic operator's output is held until it has returned.
func (w *worker) try(c *chainOp, port int, b *block.Block) error {
	wasAt, wasCur, wasLabels := w.at, w.cur, w.label(c)
	w.at, w.cur = c.index, b // left as they are by a panic, which is attributed by them
	c.sent.begin(c.holds)
	err := w.frozenUnless(func() error {
		err := c.op.Process(w.run.ctx, port, b, c.emit)
		if err != nil {
			if _, ok := errors.AsType[*dataset.TransientError](err); ok {
				err = w.retry(c, port, b, err)
			}
		}
		return err
	})
	if c.holds {
		err = w.letGo(c, err)
	}
	w.relabel(wasLabels)
	if err == nil {
		w.at, w.cur = wasAt, wasCur
	}
	return err
}

// frozenUnless runs f. If it fails or panics the run will fail, and nothing is committed from then on: who is told of it lets go of
// the blocks in hand, whose rows have not arrived.
func (w *worker) frozenUnless(f func() error) (err error) {
	ended := false
	defer func() {
		if !ended || err != nil && !errors.Is(err, dataset.ErrStop) {
			w.run.freeze()
		}
	}()
	err = f()
	ended = true
	return err
}

// flushOps flushes the chain from its head to its tail.
func (w *worker) flushOps() error {
	for _, c := range w.ops {
		w.at, w.cur = c.index, nil
		if err := w.frozenUnless(func() error { return c.op.Flush(w.run.ctx, c.emit) }); err != nil {
			return err
		}
		if err := w.deliverAll(); err != nil {
			return err
		}
	}
	return nil
}

// opName is the name of the operator that runs now.
func (w *worker) opName() string {
	if w.at < len(w.ops) {
		return w.ops[w.at].name
	}
	return w.stage.Name
}

// where names the file and row that the worker is at.
func (w *worker) where() string {
	if w.cur != nil && w.cur.Identity().Len() > 0 {
		id := w.cur.Identity().At(0)
		if id.File != nil {
			return fmt.Sprintf("%s, row %d", id.File.Path, id.Position)
		}
	}
	if w.read != nil {
		return w.read.where()
	}
	return "an unknown row"
}

// attribute adds the operator's name to an error, once, here at the stage boundary.
func (w *worker) attribute(err error) error {
	if _, ok := errors.AsType[*dataset.RowError](err); ok {
		return err
	}
	if p, ok := errors.AsType[*dataset.PanicError](err); ok {
		w.run.cfg.Logger.Error("panic", "operator", p.Op, "at", p.Where, "value", fmt.Sprint(p.Value), "stack", string(p.Stack))
		return err
	}
	if _, ok := errors.AsType[*MemoryError](err); ok || w.run.ctx.Err() != nil {
		return err
	}
	if w.stage.Source != nil {
		return err
	}
	return fmt.Errorf("%s: %w", w.opName(), err)
}
