package python

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// op is the instance. Process starts calls, which run beside it; what becomes of them is delivered on its goroutine.
type op struct {
	spec   *spec
	lay    *layout
	batch  int // most rows of a call, 0: any
	random bool
	python string
	env    []string
	limit  int64
	load   request

	rt    dataset.Runtime
	log   *slog.Logger
	mem   memory.Allocator
	slabs *child.Slabs
	pool  *pool

	ctx    context.Context
	cancel context.CancelFunc

	encoders sync.Pool
	mu       sync.Mutex
	decoders map[string]*codec.Decoder
	flights  map[*flight]struct{} // not delivered
	wg       sync.WaitGroup
}

// flight is one batch and what became of it.
type flight struct {
	b      *block.Block
	pieces []*block.Block
	fails  []failedRow
	err    error
}

type failedRow struct {
	row int
	err error
}

func newOp(s *spec, l *layout) (*op, error) {
	a, err := s.about()
	if err != nil {
		return nil, err
	}
	o := &op{spec: s, lay: l, batch: s.p.Batch, random: s.Nondeterministic(), decoders: map[string]*codec.Decoder{}, flights: map[*flight]struct{}{}}
	if o.batch == 0 {
		o.batch = a.Batch
	}
	if o.python, err = interpreter(s.p.Venv); err != nil {
		return nil, err
	}
	o.load = request{Op: "load", Target: s.p.Target, Path: s.path(), Args: s.p.Args, Takes: s.p.Takes, Concurrency: s.p.Concurrency}
	if o.load.Give, err = schemaText(l.give); err == nil {
		o.load.Get, err = schemaText(l.returned())
	}
	return o, err
}

var _ dataset.Operator = (*op)(nil)

// Open implements dataset.Operator. No process is started before there is a batch.
func (o *op) Open(ctx context.Context, rt dataset.Runtime) (err error) {
	o.rt, o.log, o.mem = rt, rt.Logger(), rt.Allocator()
	if o.slabs, err = child.OpenSlabs(o.mem, 0); err != nil {
		return err
	}
	o.ctx, o.cancel = context.WithCancel(ctx)
	most := o.spec.p.Processes
	if most == 0 {
		most = rt.Parallel()
	}
	threads := max(rt.Parallel()/most, 1)
	o.load.Threads = threads
	o.env = threadVariables(threads)
	o.limit = int64(o.spec.p.Memory)
	if a, ok := o.mem.(*block.Allocator); ok && o.limit == 0 {
		o.limit = a.Budget()
	}
	o.pool = newPool(o, most)
	return nil
}

// threadVariables keep the libraries that Python code calls from starting as many threads in each process as there are CPUs; what the user has set
// stands.
func threadVariables(n int) []string {
	var env []string
	for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		if _, ok := os.LookupEnv(name); !ok {
			env = append(env, fmt.Sprintf("%s=%d", name, n))
		}
	}
	return env
}

// Process implements dataset.Operator.
func (o *op) Process(_ context.Context, _ int, b *block.Block, _ dataset.Emit) error {
	n := b.NumRows()
	step := n
	if o.batch > 0 {
		step = min(o.batch, n)
	}
	for at := 0; at < n; at += step {
		if err := o.begin(b.Slice(at, min(step, n-at))); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the call on a batch, which it takes over.
func (o *op) begin(b *block.Block) error {
	f := &flight{b: b}
	o.mu.Lock()
	o.flights[f] = struct{}{}
	o.mu.Unlock()
	o.wg.Add(1)
	o.pool.wanting.Add(1)
	o.pool.admit(o.rt)
	err := o.rt.Async(func(context.Context) func(dataset.Emit) error {
		defer o.wg.Done()
		o.try(o.ctx, b, 0, f, false)
		o.pool.wanting.Add(-1)
		return func(emit dataset.Emit) error { return o.deliver(f, emit) }
	})
	if err != nil { // it was not started
		o.wg.Done()
		o.pool.wanting.Add(-1)
		o.forget(f)
	}
	return err
}

// deliver reports the rows that failed and emits the others.
func (o *op) deliver(f *flight, emit dataset.Emit) error {
	defer o.forget(f)
	o.pool.admit(o.rt)
	for _, r := range f.fails {
		if err := o.rt.Fail(f.b, r.row, r.err); err != nil {
			return err
		}
	}
	for len(f.pieces) > 0 {
		p := f.pieces[0]
		f.pieces = f.pieces[1:]
		if err := o.emit(p, emit); err != nil {
			return err
		}
	}
	if f.err != nil && o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return f.err
}

// emit hands a block on, in parts if it is far above the size of blocks.
func (o *op) emit(b *block.Block, emit dataset.Emit) error {
	n, parts := b.NumRows(), 1
	if size := b.Bytes(); size > 2*o.rt.BlockBytes() {
		parts = int(size / o.rt.BlockBytes())
	}
	step := max(n/parts, 1)
	if step = min(step, o.rt.BlockRows()); step >= n {
		return emit(b)
	}
	defer b.Release()
	for at := 0; at < n; at += step {
		if err := emit(b.Slice(at, min(step, n-at))); err != nil {
			return err
		}
	}
	return nil
}

// forget releases what a flight holds.
func (o *op) forget(f *flight) {
	o.mu.Lock()
	_, ok := o.flights[f]
	delete(o.flights, f)
	o.mu.Unlock()
	if !ok {
		return
	}
	f.b.Release()
	for _, p := range f.pieces {
		p.Release()
	}
	f.pieces = nil
}

// Flush implements dataset.Operator: nothing is held back.
func (*op) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator. It waits for calls in flight, whose processes it has killed unless the calls have ended.
func (o *op) Close() error {
	if o.slabs == nil {
		return nil
	}
	if o.pool != nil {
		o.cancel()
		o.wg.Wait()
		for f := range o.flights {
			o.forget(f)
		}
		o.pool.close()
	}
	return o.slabs.Close()
}
