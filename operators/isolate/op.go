package isolate

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// op is one instance, with at most one child. Everything happens on the operator's goroutine.
type op struct {
	spec    *spec
	in, out *arrow.Schema
	steps   []step

	rt    dataset.Runtime
	slabs *child.Slabs
	enc   *codec.StreamEncoder
	dec   *codec.Decoder
	mark  *child.Slab // the row that the child works on, plus 1
	proc  *child.Proc // nil: none
	room  *child.Slab // for its next results

	held    map[int]reservation // of the child, by its numbers
	charged int64               // what it takes beside its base size and those
	calls   int
	recent  ring
}

// reservation is budget that a child holds.
type reservation struct {
	bytes   int64
	release func()
}

var _ dataset.Operator = (*op)(nil)

// Open implements dataset.Operator. The child is started when there is a block.
func (o *op) Open(_ context.Context, rt dataset.Runtime) (err error) {
	o.rt, o.held = rt, map[int]reservation{}
	if o.slabs, err = child.OpenSlabs(rt.Allocator(), idleShared); err != nil {
		return err
	}
	if o.mark, err = o.slabs.Get(8); err != nil {
		return err
	}
	o.enc = codec.NewStreamEncoder(o.in, rt.Allocator())
	o.dec, err = codec.NewDecoder(o.out, maxResult)
	return err
}

// idleShared is how much shared memory an instance keeps for its next blocks.
const idleShared = 8 << 20

// maxResult is the most bytes of one block of results.
const maxResult = 1 << 40

// working is the row that the child works on, -1 before the first.
func (o *op) working() int {
	return int(atomic.LoadUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(o.mark.Bytes))))) - 1
}

func (o *op) unmark() {
	atomic.StoreUint64((*uint64)(unsafe.Pointer(unsafe.SliceData(o.mark.Bytes))), 0)
}

// Process implements dataset.Operator.
func (o *op) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	in, n, err := o.encode(b)
	if err != nil {
		return err
	}
	defer in.Return()
	place := in.Place
	place.N = int64(n)
	c := &call{op: o, b: b, in: place, emit: emit, rows: b.NumRows(), failed: map[int]bool{}, bad: map[int]error{}, suspect: -1}
	err = c.run(ctx)
	o.recent.add(b)
	return err
}

// encode writes a block into shared memory; n bytes of it count.
func (o *op) encode(b *block.Block) (in *child.Slab, n int, err error) {
	rec := array.NewRecordBatch(o.in, b.Record().Columns(), int64(b.NumRows()))
	defer rec.Release()
	if in, err = o.slabs.Get(child.StreamBytes(rec.Columns())); err != nil {
		return nil, 0, err
	}
	p, err := o.enc.Append(in.Bytes[:0], rec)
	if err == nil && len(p) > cap(in.Bytes) { // it was more than expected
		in.Return()
		if in, err = o.slabs.Get(len(p)); err == nil {
			copy(in.Bytes[:len(p)], p)
		}
	}
	if err != nil {
		in.Return()
		return nil, 0, err
	}
	return in, len(p), nil
}

// running gives the child, a new one if there is none.
func (o *op) running(ctx context.Context) (*child.Proc, error) {
	if o.proc != nil {
		return o.proc, nil
	}
	limit := int64(0)
	if a, ok := o.rt.Allocator().(*block.Allocator); ok {
		limit = a.Budget()
	}
	p, err := startChild(o.spec.Name(), 0, &child.Launch{Log: o.rt.Logger(), Limit: limit, LimitBy: "--memory"})
	if err != nil {
		return nil, &dataset.FatalError{Err: err}
	}
	o.proc = p
	schema, err := codec.EncodeSchema(o.in)
	if err == nil {
		err = tell(p, order{
			Op: orderOpen, Steps: o.steps, Schema: schema, BlockBytes: o.rt.BlockBytes(), BlockRows: o.rt.BlockRows(), Parallel: o.rt.Parallel(), Mark: &o.mark.Place,
		})
	}
	var r report
	for err == nil && r.Op != reportEnded {
		if err = hear(ctx, p, nil, &r); err == nil && r.Op != reportEnded {
			err = o.answer(ctx, &r)
		}
	}
	if err == nil {
		err = r.Fault.err()
	}
	if err == nil {
		return p, nil
	}
	o.end()
	if child.IsDied(err) {
		err = &dataset.FatalError{Err: fmt.Errorf("open %s in a child process: %w", o.spec.Name(), err)}
	}
	return nil, err
}

// answer serves what a child wants of the engine, apart from results.
func (o *op) answer(ctx context.Context, r *report) error {
	switch r.Op {
	case reportReserve:
		release, err := o.rt.Reserve(ctx, r.Bytes)
		if err == nil {
			o.held[r.ID] = reservation{r.Bytes, release}
		}
		return tell(o.proc, order{Op: orderGranted, Fault: faultOf(err)})
	case reportRelease:
		if h, ok := o.held[r.ID]; ok {
			h.release()
			delete(o.held, r.ID)
		}
		return nil
	case reportWarn:
		o.rt.Warn(r.Class, r.Example)
		return nil
	}
	return o.proc.Stop(&child.Died{Text: fmt.Sprintf("the process said %q", r.Op), Kind: "process"})
}

// settle charges what the child takes beyond its base size and its reservations.
func (o *op) settle() {
	if o.calls++; o.calls&(o.calls-1) != 0 && o.calls&63 != 0 { // reading it costs some 20 µs
		return
	}
	n, ok := child.PrivateOf(o.proc.Pid)
	if !ok {
		return
	}
	base, _ := baseBytes()
	n -= base
	for _, h := range o.held {
		n -= h.bytes
	}
	o.charge(max(n, 0))
}

func (o *op) charge(n int64) {
	o.slabs.Charge(n - o.charged)
	o.charged = n
}

// end ends the child and frees what it held.
func (o *op) end() {
	if o.proc == nil {
		return
	}
	o.proc.End()
	o.proc = nil
	o.room.Return()
	o.room = nil
	for id, h := range o.held {
		h.release()
		delete(o.held, id)
	}
	o.charge(0)
}

// Flush implements dataset.Operator: nothing is held back.
func (*op) Flush(context.Context, dataset.Emit) error { return nil }

// closeTime is how long a child may take to close its step and end.
const closeTime = 10 * time.Second

// Close implements dataset.Operator.
func (o *op) Close() error {
	if o.slabs == nil {
		return nil
	}
	var err error
	if o.proc != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		err = o.proc.Finish(ctx)
		cancel()
		o.end()
	}
	o.mark.Return()
	return errors.Join(err, o.slabs.Close())
}
