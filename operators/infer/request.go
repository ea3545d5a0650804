package infer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/pool"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// answer is what became of one question: a row of a result, or an error.
type answer struct {
	q   *question
	res *result
	row int
	err error
}

// carry makes the asynchronous call for a batch.
func (o *operator) carry(b *batch, cost int64) func(ctx context.Context) func(dataset.Emit) error {
	return func(ctx context.Context) func(dataset.Emit) error {
		w := &work{operator: o}
		first := true
		err := o.gate.take(ctx, b.pos, cost)
		if err == nil {
			err = w.ask(ctx, b.questions, b.rows, func() {
				if first {
					first = false
					o.unassigned.Add(-1)
				}
			})
			o.gate.give(cost + w.over)
		}
		if first {
			o.unassigned.Add(-1)
		}
		if err == nil {
			err = w.keep()
		}
		return func(emit dataset.Emit) error {
			o.flying--
			return o.deliver(ctx, w, err, emit)
		}
	}
}

// deliver settles the answers of a request on the operator's goroutine.
func (o *operator) deliver(ctx context.Context, w *work, err error, emit dataset.Emit) error {
	for _, n := range o.pool.Notes() {
		o.rt.Warn(n.Class, n.Text)
	}
	for _, a := range w.answers {
		o.settle(a.q, a.res, a.row, a.err)
	}
	o.born.delivered(w.made)
	if err != nil {
		return err
	}
	if err := o.rate(false); err != nil {
		return err
	}
	if err := o.advance(emit); err != nil {
		return err
	}
	if probe := o.pool.Probe(); probe != nil {
		err := o.rt.Async(func(ctx context.Context) func(dataset.Emit) error {
			probe(ctx)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return o.refill(ctx)
}

// settle gives an answer to the rows that asked.
func (o *operator) settle(q *question, res *result, row int, err error) {
	if q.keyed && o.asked[q.key] == q {
		delete(o.asked, q.key)
	}
	for _, a := range q.askers {
		if res != nil {
			res.users++
		}
		a.p.rows[a.i] = outcome{done: true, from: res, row: row, err: err}
	}
	if err != nil {
		o.failed += int64(len(q.askers))
	}
}

// work is one request under way, on a goroutine of the engine's.
type work struct {
	*operator
	answers []answer
	made    []*result
	over    int64 // bytes of answers beyond what was planned, as taken from the gate
}

var requestID atomic.Int64

// ask has questions answered, in one request or, where one of them may be at fault, in parts.
func (w *work) ask(ctx context.Context, qs []*question, rows []prep.Row, assigned func()) error {
	before := len(w.answers)
	err := w.pool.Do(ctx, func(ctx context.Context, m gpu.Model, enter func(context.Context) error) error {
		assigned()
		w.answers = w.answers[:before]
		return w.try(ctx, m, enter, qs, rows)
	})
	fail, ok := errors.AsType[*pool.Failure](err)
	if !ok {
		return err
	}
	w.answers = w.answers[:before]
	if len(qs) == 1 || w.spec.params.Nondeterministic {
		for _, q := range qs {
			w.answers = append(w.answers, answer{q: q, err: w.failedRow(fail)})
		}
		return nil
	}
	part := child.Part(len(qs), fail)
	for from := 0; from < len(qs); from += part {
		to := min(from+part, len(qs))
		if err := w.ask(ctx, qs[from:to], rows[from:to], assigned); err != nil {
			return err
		}
	}
	return nil
}

// try makes the request ready, has the model work, and reads the answers.
func (w *work) try(ctx context.Context, m gpu.Model, enter func(context.Context) error, qs []*question, rows []prep.Row) error {
	set := w.loaders.get()
	defer w.loaders.put(set)
	req := &gpu.Request{ID: strconv.FormatInt(requestID.Add(1), 36), Outputs: w.bound.want, OutputBytes: int(w.answerBytes(len(rows)))}
	taken := false
	defer func() {
		if !taken {
			for _, t := range req.Inputs {
				if t.Data != nil {
					m.Free(t.Data[:cap(t.Data)])
				}
			}
		}
	}()
	asked, err := w.load(ctx, m, set, req, qs, rows)
	if err != nil || len(asked) == 0 {
		return err
	}
	if err := enter(ctx); err != nil {
		return err
	}
	taken = true
	resp, err := m.Infer(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Release()
	w.weigh(resp, len(asked))
	err = w.gate.compute(ctx, func() error { return w.read(resp, set, asked) })
	if err != nil && ctx.Err() != nil {
		return &pool.NotTheModel{Err: context.Cause(ctx)}
	}
	return err
}

// load fills the tensors of the request. Rows that cannot be loaded are answered with their errors; the others are returned.
func (w *work) load(ctx context.Context, m gpu.Model, set []prep.Loader, req *gpu.Request, qs []*question, rows []prep.Row) ([]*question, error) {
	from := make([]int, len(set)+1) // the first tensor of each loader
	err := w.gate.compute(ctx, func() error {
		for i, l := range set {
			t, err := l.Begin(rows)
			if err != nil {
				return err
			}
			req.Inputs = append(req.Inputs, t...)
			from[i+1] = len(req.Inputs)
		}
		return nil
	})
	if err != nil {
		return nil, &pool.NotTheModel{Err: err}
	}
	for i := range req.Inputs {
		t := &req.Inputs[i]
		if t.Type == gpu.Bytes {
			t.Strings = make([][]byte, t.Len())
			continue
		}
		if t.Data, err = m.Alloc(ctx, int(t.Len())*t.Type.Size()); err != nil {
			return nil, err
		}
	}
	var asked []*question
	err = w.gate.compute(ctx, func() error {
		for k, r := range rows {
			err := fill(ctx, set, from, len(asked), r, req.Inputs)
			if _, fatal := errors.AsType[*dataset.FatalError](err); fatal || err != nil && ctx.Err() != nil {
				return err
			}
			if err != nil {
				w.answers = append(w.answers, answer{q: qs[k], err: w.badInput(err)})
				continue
			}
			asked = append(asked, qs[k])
		}
		return nil
	})
	if err != nil {
		return nil, &pool.NotTheModel{Err: err}
	}
	if n := len(asked); n < len(rows) && n > 0 {
		for i := range req.Inputs {
			shorten(&req.Inputs[i], len(rows), n)
		}
	}
	return asked, nil
}

// fill loads one row into place slot of all tensors.
func fill(ctx context.Context, set []prep.Loader, from []int, slot int, r prep.Row, tensors []gpu.Tensor) error {
	for i, l := range set {
		if err := l.Fill(ctx, slot, r, tensors[from[i]:from[i+1]]); err != nil {
			return err
		}
	}
	return nil
}

// shorten leaves only the first n of rows rows of a tensor.
func shorten(t *gpu.Tensor, rows, n int) {
	if len(t.Shape) == 0 || t.Shape[0] != int64(rows) {
		return
	}
	t.Shape[0] = int64(n)
	t.Data = t.Data[:len(t.Data)/rows*n]
	t.Strings = t.Strings[:len(t.Strings)/rows*n]
}

// weigh counts the bytes of an answer, which may be more than planned.
func (w *work) weigh(resp *gpu.Response, rows int) {
	total := int64(0)
	for i := range resp.Outputs {
		total += int64(len(resp.Outputs[i].Data))
		for _, s := range resp.Outputs[i].Strings {
			total += int64(len(s)) + 24
		}
	}
	if more := total - w.answerBytes(rows) - w.over; more > 0 {
		w.gate.with(func() { w.gate.used += more })
		w.over += more
	}
	each := total / int64(max(rows, 1))
	for old := w.seen.Load(); each > old && !w.seen.CompareAndSwap(old, each); old = w.seen.Load() {
	}
}

// missing says that the answer lacks an output.
func missing(resp *gpu.Response, name string) error {
	have := make([]string, len(resp.Outputs))
	for i, t := range resp.Outputs {
		have[i] = t.Name
	}
	return fmt.Errorf("the answer has no output %q; it has %v", name, have)
}
