package python

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// try calls the function on b, which begins at row at of the flight's batch, and on parts of it if it fails. again says that the process has died on
// the same rows before.
func (o *op) try(ctx context.Context, b *block.Block, at int, f *flight, again bool) {
	err := o.call(ctx, b, at, f)
	if err == nil {
		return
	}
	n := b.NumRows()
	d, crashed := errors.AsType[*child.Died](err)
	r, isRaised := errors.AsType[*raised](err)
	_, fatal := errors.AsType[*dataset.FatalError](err) // no process can be started: no row is to blame
	switch {
	case ctx.Err() != nil:
		f.err = context.Cause(ctx)
	case fatal || !crashed && !isRaised:
		if m, ok := errors.AsType[*mistake](err); ok && m.traceback != "" {
			o.log.Error("python", "error", m.text, "traceback", m.traceback)
		}
		f.err = err
	case crashed && !again && !d.Final && (n == 1 || o.random): // it may have been killed for reasons of its own
		o.log.Warn("python process died", "rows", n, "cause", d.Text)
		o.try(ctx, b, at, f, true)
	case n == 1 || o.random:
		if isRaised {
			o.log.Error("python", "error", r.text, "traceback", r.traceback)
		}
		for i := range n {
			f.fails = append(f.fails, failedRow{at + i, err})
		}
	default:
		if crashed {
			o.log.Warn("python process died", "rows", n, "cause", d.Text)
		}
		size := child.Part(n, err)
		for from := 0; from < n && f.err == nil; from += size {
			part := b.Slice(from, min(size, n-from))
			o.try(ctx, part, at+from, f, false)
			part.Release()
		}
	}
}

// call calls the function once.
func (o *op) call(ctx context.Context, b *block.Block, at int, f *flight) error {
	in, n, stream, err := o.encode(b)
	if err != nil {
		return err
	}
	defer func() { in.Return() }()
	p, err := o.pool.acquire(ctx)
	if err != nil {
		return err
	}
	limit := o.spec.p.Timeout
	tctx, cancel := context.WithTimeoutCause(ctx, limit,
		&child.Died{Text: fmt.Sprintf("the call took longer than timeout=%v (rows: %d); its process was killed", limit, b.NumRows()), Kind: "timeout", Final: true})
	defer cancel()
	where := in.Place
	where.N = int64(n)
	r, err := o.converse(tctx, p, callRequest{in: where, stream: stream})
	if r != nil && r.Kept {
		p.kept = append(p.kept, in)
		in = nil
	}
	switch {
	case err == nil:
	case child.IsDied(err) || ctx.Err() != nil:
		o.pool.bury(p)
		return err
	default:
		o.pool.put(p)
		return err
	}
	var room *child.Slab
	if r.written {
		room, p.room = p.room, nil
	}
	o.pool.put(p)
	return o.accept(b, at, r, room, f)
}

// converse has one call made, and gives the process room for what it returns: as much as the last call wrote, or what it asks for.
func (o *op) converse(ctx context.Context, p *proc, msg callRequest) (*reply, error) {
	if p.room == nil && p.wrote > 0 {
		p.room, _ = o.slabs.Get(p.wrote + p.wrote/8) // if there is none it asks, and is told
	}
	if p.room != nil {
		msg.out = p.room.Place
	}
	r := &reply{}
	err := p.exchange(ctx, &msg, r)
	for {
		if err != nil {
			return r, err
		}
		switch r.Op {
		case "done":
			if err := o.check(p, r); err != nil {
				return nil, err
			}
			p.wrote = int(r.Len)
			return r, nil
		case "tracebacks":
			for _, t := range r.Tracebacks {
				o.log.Error("python", "traceback", t)
			}
			r = &reply{}
			err = p.hear(ctx, r)
		case "room":
			send := o.giveRoom(p, int(r.Len+r.Len/8))
			r = &reply{}
			err = p.exchange(ctx, send, r)
		default:
			return nil, p.Stop(&child.Died{Text: fmt.Sprintf("the process answered %q", r.Op), Kind: "process"})
		}
	}
}

// check refuses an answer that says more than it may. A batch that came back as a whole is one whose columns were all passed on.
func (o *op) check(p *proc, r *reply) error {
	if r.whole {
		for i := range o.lay.get {
			r.passed = append(r.passed, [2]int{i, i})
		}
	}
	written := len(r.passed) < len(o.lay.get) || r.errors || r.parents
	if written != r.written || written && (p.room == nil || r.Len < 0 || r.Len > p.room.Place.N) {
		return p.Stop(&child.Died{Text: "the process wrote its result where it was not told to", Kind: "process"})
	}
	return nil
}

// giveRoom gives the process other room than it had.
func (o *op) giveRoom(p *proc, n int) roomReply {
	p.room.Return()
	p.room = nil
	room, err := o.slabs.Get(n)
	if err != nil {
		return roomReply{Full: err.Error()}
	}
	p.room = room
	return roomReply{Out: &room.Place}
}

// encode writes the columns that the function gets into shared memory. n is the length of the message, which begins at the slab's place.
func (o *op) encode(b *block.Block) (in *child.Slab, n int, stream bool, err error) {
	cols := make([]arrow.Array, len(o.lay.seen))
	for i, c := range o.lay.seen {
		cols[i] = b.Column(c)
	}
	rec := array.NewRecordBatch(o.lay.give, cols, int64(b.NumRows()))
	defer rec.Release()
	e, _ := o.encoders.Get().(*codec.StreamEncoder)
	if e == nil {
		e = codec.NewStreamEncoder(o.lay.give, o.mem)
	}
	defer o.encoders.Put(e)
	if in, err = o.slabs.Get(child.StreamBytes(cols)); err != nil {
		return nil, 0, false, err
	}
	out, err := e.Append(in.Bytes[:0], rec)
	if err == nil && len(out) > cap(in.Bytes) { // it was more than expected
		in.Return()
		if in, err = o.slabs.Get(len(out)); err == nil {
			copy(in.Bytes, out)
		}
	}
	if err != nil {
		in.Return()
		return nil, 0, false, err
	}
	in.Place.At += codec.StreamAt
	return in, len(out) - codec.StreamAt, e.HasSchema(), nil
}

// accept makes blocks and failed rows of an answer. It takes room over.
func (o *op) accept(b *block.Block, at int, r *reply, room *child.Slab, f *flight) error {
	res, err := o.read(b, r, room)
	if err != nil {
		return err
	}
	defer res.release()
	out, err := o.assemble(b, res)
	if err != nil {
		return err
	}
	for _, row := range slices.Sorted(maps.Keys(res.failed)) {
		f.fails = append(f.fails, failedRow{at + row, res.failed[row]})
	}
	if out != nil {
		f.pieces = append(f.pieces, out)
	}
	return nil
}

// rowError is what a function says of one row.
type rowError struct{ text string }

// Error implements error.
func (e rowError) Error() string { return e.text }

// Class implements dataset.Classed: the name of the exception, where the text begins with one.
func (e rowError) Class() string {
	if name, _, ok := strings.Cut(e.text, ":"); ok && !strings.ContainsAny(name, " \t\n") {
		return name
	}
	return "python"
}

var _ dataset.Classed = rowError{}
