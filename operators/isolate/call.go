package isolate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// call is the work on one block. Rows come out in order, so those before next are done.
type call struct {
	op     *op
	b      *block.Block
	in     child.Place
	emit   dataset.Emit
	rows   int
	next   int
	failed map[int]bool  // rows that were reported as failed
	bad    map[int]error // rows that killed a child, twice or for good
	// suspect is a row that a child died of once; -1: none. It is tried again alone.
	suspect int
}

// run works on all rows, in as many stretches as it takes.
func (c *call) run(ctx context.Context) error {
	for c.next < c.rows {
		if err, dead := c.bad[c.next]; dead {
			if err := c.fail(c.next, err); err != nil {
				return err
			}
			c.next++
			continue
		}
		from, to := c.next, c.stretch()
		err := c.ask(ctx, from, to)
		switch {
		case err == nil:
			c.next = to
			if c.suspect < to {
				c.suspect = -1
			}
		case child.IsDied(err) && ctx.Err() == nil:
			if err := c.died(err, from, to); err != nil {
				return err
			}
		default:
			c.op.end() // it may be in the middle of something
			return err
		}
	}
	return nil
}

// stretch is where the rows end that are asked for at once, beginning at next: before a row that is bad or suspected, which is asked for alone.
func (c *call) stretch() int {
	if c.next == c.suspect {
		return c.next + 1
	}
	to := c.rows
	if c.suspect > c.next {
		to = c.suspect
	}
	for r := range c.bad {
		if r > c.next && r < to {
			to = r
		}
	}
	return to
}

// died finds the row to blame for the death of a child that worked on rows [from, to).
func (c *call) died(err error, from, to int) error {
	d, _ := errors.AsType[*child.Died](err)
	row := c.op.working()
	if row < c.next || row >= to {
		row = c.next // it died before it began with one
	}
	log := c.op.rt.Logger()
	log.Error("isolated step died", "step", c.op.spec.Name(), "cause", d.Text, "row", place(c.b, row), "rows before", c.op.recent.before(c.b, row))
	c.op.end()
	if d.Final || to-from == 1 {
		c.bad[row] = d
		if c.suspect == row {
			c.suspect = -1
		}
		return nil
	}
	c.suspect = row
	return nil
}

func (c *call) fail(row int, err error) error {
	if c.failed[row] {
		return nil
	}
	c.failed[row] = true
	return c.op.rt.Fail(c.b, row, err)
}

// ask has the child work on rows [from, to).
func (c *call) ask(ctx context.Context, from, to int) error {
	o := c.op
	p, err := o.running(ctx)
	if err != nil {
		return err
	}
	o.unmark()
	if err := tell(p, order{Op: orderRows, In: &c.in, From: from, To: to}); err != nil {
		return err
	}
	watch := &watch{op: o, limit: o.spec.timeout}
	for {
		watch.reset()
		var r report
		if err := hear(ctx, p, watch.look, &r); err != nil {
			return err
		}
		done, err := c.handle(ctx, &r)
		if done || err != nil {
			return err
		}
	}
}

// handle takes one report; done says that it was the last.
func (c *call) handle(ctx context.Context, r *report) (done bool, err error) {
	o := c.op
	switch r.Op {
	case reportEnded:
		o.settle()
		return true, r.Fault.err()
	case reportFailed:
		if r.Row < c.next || r.Row >= c.rows {
			return false, c.odd(fmt.Sprintf("it failed row %d of %d", r.Row, c.rows))
		}
		return false, c.fail(r.Row, r.Fault.err())
	case reportRoom:
		o.room.Return()
		o.room = nil
		room, err := o.slabs.Get(int(r.Len))
		if err != nil {
			return false, errors.Join(tell(o.proc, order{Op: orderRoom, Fault: faultOf(err)}), err)
		}
		o.room = room
		return false, tell(o.proc, order{Op: orderRoom, Out: &room.Place})
	case reportResults:
		return false, c.take(r)
	}
	return false, o.answer(ctx, r)
}

// odd ends a child that does not keep to what was agreed.
func (c *call) odd(text string) error {
	return c.op.proc.Stop(&child.Died{Text: "the process does not keep to its protocol: " + text, Kind: "process"})
}

// take emits results that lie in the room.
func (c *call) take(r *report) error {
	o := c.op
	if o.room == nil || r.Len < 0 || r.Len > o.room.Place.N || len(r.Rows) == 0 {
		return c.odd("results that are not in the room it was given")
	}
	next := c.next
	for _, row := range r.Rows {
		if int(row) < next || int(row) >= c.rows {
			return c.odd(fmt.Sprintf("row %d of %d comes after row %d", row, c.rows, next-1))
		}
		next = int(row) + 1
	}
	room := o.room
	o.room = nil
	buf := room.Buffer(int(r.Len))
	rec, err := o.dec.ViewStream(o.rt.Allocator(), buf, codec.StreamAt)
	buf.Release()
	if err != nil {
		return c.odd(err.Error())
	}
	if int(rec.NumRows()) != len(r.Rows) {
		rec.Release()
		return c.odd(fmt.Sprintf("%d rows were announced, there are %d", len(r.Rows), rec.NumRows()))
	}
	c.next = next
	if len(r.Rows) == c.b.NumRows() {
		return c.emit(c.b.Replace(rec))
	}
	return c.emit(c.b.Select(rec, r.Rows))
}

// watch ends a child that works on one row for too long.
type watch struct {
	op    *op
	limit time.Duration
	row   int
	since time.Time
}

// reset begins anew: something was heard of the child.
func (w *watch) reset() { w.row, w.since = w.op.working(), time.Now() }

// look is called from time to time.
func (w *watch) look() error {
	if row := w.op.working(); row != w.row {
		w.row, w.since = row, time.Now()
	}
	if time.Since(w.since) < w.limit {
		return nil
	}
	return w.op.proc.Stop(&child.Died{
		Text: fmt.Sprintf("it took longer than %v; its process was killed (--isolate-timeout)", w.limit), Kind: "timeout", Final: true,
	})
}
