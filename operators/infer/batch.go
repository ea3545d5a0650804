package infer

import (
	"context"
	"maps"
	"slices"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/infer/internal/cache"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
)

// asker is a row that waits for an answer.
type asker struct {
	p *pending
	i int
}

// question is what one place of a request asks: for one row, and for those with equal inputs that came since.
type question struct {
	key    cache.Key
	keyed  bool
	askers []asker
}

// batch is the rows of one request.
type batch struct {
	questions []*question
	rows      []prep.Row
	bytes     int64 // of tensors
	largest   int64 // of a row
	scratch   int64
	pos       int64 // input bytes before its first row
}

// most is how many rows a request may have.
func (o *operator) most() int {
	n := o.spec.params.Batch
	if n == 0 {
		n = o.spec.plan.batch
	}
	if n == 0 {
		n = 16
	}
	return max(1, min(n, o.about.MaxBatch))
}

// join adds a question to the batch of its key, and sends that when it is full.
func (o *operator) join(ctx context.Context, q *question, r prep.Row, size prep.Size, key string, pos int64) error {
	b := o.open[key]
	if b != nil {
		// Texts are padded to the longest of the request: all rows count as the largest.
		if widest := max(b.largest, size.Bytes); widest*int64(len(b.rows)+1) > o.batchBytes {
			if err := o.launch(ctx, key); err != nil {
				return err
			}
			b = o.open[key]
		}
	}
	if b == nil {
		b = &batch{pos: pos}
		o.open[key] = b
	}
	b.questions, b.rows = append(b.questions, q), append(b.rows, r)
	b.largest, b.scratch = max(b.largest, size.Bytes), max(b.scratch, size.Scratch)
	b.bytes = b.largest * int64(len(b.rows))
	if len(b.rows) < o.most() {
		return nil
	}
	return o.launch(ctx, key)
}

// refill sends what is gathered as long as a replica would otherwise idle: a request that is not full is better than none, and one that waits
// for more rows better than many small ones.
func (o *operator) refill(ctx context.Context) error {
	for len(o.open) > 0 && o.flying < o.spec.params.Window && o.pool.Room() > o.waiting() {
		oldest := ""
		for k, b := range o.open {
			if have := o.open[oldest]; have == nil || b.pos < have.pos {
				oldest = k
			}
		}
		if err := o.launch(ctx, oldest); err != nil {
			return err
		}
	}
	return nil
}

// waiting is how many requests were started and have no replica yet.
func (o *operator) waiting() int { return int(o.unassigned.Load()) }

// launch starts the request of the batch of a key.
func (o *operator) launch(ctx context.Context, key string) error {
	b := o.open[key]
	if b == nil { // a delivery in between has sent it
		return nil
	}
	delete(o.open, key)
	// Requests may not run far ahead of the oldest row that is not complete: what holds such rows must be under way before those that would wait for them.
	for _, k := range sortedKeys(o.open) {
		if old := o.open[k]; old != nil && old.pos < b.pos-o.gate.ahead {
			if err := o.launch(ctx, k); err != nil {
				return err
			}
		}
	}
	cost := b.bytes + b.scratch + o.answerBytes(len(b.rows)) + o.weight.workOf(b.bytes)
	if err := o.makeRoom(ctx, cost); err != nil {
		if _, row := err.(dataset.Classed); !row { //nolint // asked of the error itself, as given by Reserve
			return err
		}
		for _, q := range b.questions {
			o.settle(q, nil, 0, &rowError{model: o.spec.address.model, class: "too large", err: err})
		}
		return nil
	}
	o.tellGate()
	o.flying++
	o.unassigned.Add(1)
	return o.rt.Async(o.carry(b, cost))
}

// tellGate moves the gate on to the oldest row that is not complete. Rows that need no request (nulls, known answers, bad inputs) complete within a block, and
// the requests behind them may fill the window before the block's end.
func (o *operator) tellGate() {
	for _, p := range o.queue {
		for p.seen < len(p.rows) && p.rows[p.seen].done {
			p.seen++
		}
		if p.seen < len(p.rows) {
			o.gate.leave(p.pos + int64(p.seen)*p.each())
			return
		}
	}
}

// makeRoom sees that a request of n bytes can ever be let in.
func (o *operator) makeRoom(ctx context.Context, n int64) error {
	more := n - o.gate.room // room changes on this goroutine only
	if more <= 0 {
		return nil
	}
	give, err := o.rt.Reserve(ctx, more)
	if err != nil {
		return err
	}
	o.give = append(o.give, give)
	o.gate.grow(more)
	return nil
}

// answerBytes is how many bytes the answers of n rows take: what shapes promise, or what was seen.
func (o *operator) answerBytes(n int) int64 {
	return int64(n) * max(o.promised, o.seen.Load())
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
