package infer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/cache"
	"github.com/sluice-data/sluice/operators/infer/internal/pool"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
	"github.com/sluice-data/sluice/operators/media"
)

// operator is one instance. It keeps the blocks whose rows are under way, oldest first, and emits rows in their order. Everything is touched
// on the operator's goroutine only, but for what says otherwise.
type operator struct {
	spec    *spec
	in, out *arrow.Schema
	rt      dataset.Runtime
	models  []gpu.Model
	about   *gpu.Info
	bound   *bound
	pool    *pool.Pool
	gate    *gate
	loaders *loaders
	cache   *cache.Cache
	weight  weight   // of a model in this process; the scheduler has reserved it
	give    []func() // reservations
	// batchBytes is how many bytes of tensors a request may have; 0: not asked yet.
	batchBytes int64
	// elsewhere are decoders of pictures in child processes.
	elsewhere []*media.Elsewhere
	born      nursery

	queue  []*pending
	open   map[string]*batch // being filled, by the key of their sizes
	asked  map[cache.Key]*question
	flying int // requests
	// unassigned is how many of these have no replica yet; seen the most bytes a row of answers took. Requests' goroutines change them.
	unassigned, seen atomic.Int64
	promised         int64   // bytes a row of answers takes by the model's shapes
	pos              int64   // input bytes so far
	nulls            *result // for rows with null inputs
	recalled         *result // the last frame that the cache gave
	emitted          time.Time

	rows, failed int64
}

// pending is an input block and what became of its rows.
type pending struct {
	b     *block.Block
	pos   int64 // input bytes before it
	rows  []outcome
	at    int // rows before it have left
	ready int // rows before it are complete
	seen  int // as ready, as far as the gate was told
	bytes int64
}

// each is the mean bytes of a row, at least one.
func (p *pending) each() int64 { return max(1, p.b.Bytes()/int64(len(p.rows))) }

// outcome is what became of one row.
type outcome struct {
	done bool
	from *result
	row  int
	err  error
}

// result is the answers for some rows: columns of the outputs, shared by the rows that refer to it.
type result struct {
	rec   arrow.RecordBatch
	users int
	each  int64 // bytes a row
}

func (r *result) drop() {
	if r.users--; r.users == 0 {
		r.rec.Release()
	}
}

// openTime is how long the replicas may take to describe their model when the run begins.
const openTime = 60 * time.Second

// aheadBlocks is how many blocks' bytes of input may be answered before the oldest row is.
const aheadBlocks = 8

// Open implements dataset.Operator.
func (o *operator) Open(ctx context.Context, rt dataset.Runtime) error {
	o.rt = rt
	var err error
	opts := gpu.Options{Log: rt.Logger()}
	if mem, ok := rt.Allocator().(*block.Allocator); ok && o.spec.address.scheme == inProcessScheme {
		opts.Memory = block.NewAllocator(mem.Pool(), nil) // tensors are reserved here, request by request
		if o.spec.modelIsolated() {
			opts.Memory = mem
		}
		if o.weight, err = o.spec.weight(); err != nil {
			return err
		}
	}
	if o.models, err = o.spec.open(opts); err != nil {
		return err
	}
	down := make([]error, len(o.models))
	err = rt.Blocking("model "+o.spec.address.model, func() error {
		ask, cancel := context.WithTimeout(ctx, openTime)
		defer cancel()
		return o.describe(ask, down)
	})
	if err != nil {
		return err
	}
	var elsewhere func(*media.InputRule) (*media.Elsewhere, error)
	if o.spec.isolated {
		elsewhere = func(rule *media.InputRule) (*media.Elsewhere, error) {
			e, err := media.OpenElsewhere(ctx, rt, rule, o.spec.timeout)
			if err == nil {
				o.elsewhere = append(o.elsewhere, e)
			}
			return e, err
		}
	}
	if o.bound, err = o.spec.plan.bind(o.in, o.about, elsewhere); err != nil {
		return err
	}
	run := o.spec.params.Running
	cfg := pool.Config{Window: run.Window, Tries: run.Retries + 1, Patience: run.Patience, Parallel: o.about.Parallel, Fixed: o.inProcess()}
	var replicas []pool.Replica
	for i, m := range o.models {
		replicas = append(replicas, pool.Replica{Name: o.spec.address.names[i], Model: m})
	}
	o.pool = pool.New(cfg, replicas)
	for i, err := range down {
		if err != nil {
			o.pool.Eject(i, err)
		}
	}
	for _, n := range o.about.Notes {
		rt.Warn("model "+o.spec.address.model, n)
	}
	return o.prepare(ctx)
}

// inProcess says that the model runs here: it says what memory it holds.
func (o *operator) inProcess() bool { return o.about.Bytes > 0 }

// prepare makes what requests need.
func (o *operator) prepare(ctx context.Context) error {
	run := o.spec.params.Running
	room := o.spec.leastRoom() // with a model in this process it is reserved, and more is taken as it is there
	if o.weight.model == 0 {
		room = max(2*o.rt.BlockBytes(), room)
		give, err := o.rt.Reserve(ctx, room)
		if err != nil {
			return fmt.Errorf("reserve memory for model %s: %w", o.spec.address.model, err)
		}
		o.give = append(o.give, give)
	}
	o.gate = newGate(room+o.weight.work, aheadBlocks*o.rt.BlockBytes(), o.rt.Parallel())
	o.loaders = &loaders{bound: o.bound.features}
	o.open, o.asked = map[string]*batch{}, map[cache.Key]*question{}
	o.emitted, o.promised = time.Now(), promised(o.about)
	if run.Cache == "" {
		return nil
	}
	var err error
	o.cache, err = cache.Open(run.Cache, o.spec.address.model, o.identity(), o.resultSchema(), o.rt.Allocator())
	return err
}

// identity is what a kept answer depends on besides the inputs.
func (o *operator) identity() []string {
	p := o.spec.params
	id := []string{"1", o.about.Name, o.about.Version, o.spec.plan.cardDigest, fmt.Sprint(p.Columns)}
	if o.about.Version == "" {
		id = append(id, p.Model) // the engine cannot tell versions apart: at least the addresses can
	}
	return id
}

// promised is how many bytes a row of answers takes by the model's shapes; free dimensions count as one.
func promised(about *gpu.Info) int64 {
	total := int64(0)
	for _, t := range about.Outputs {
		n := int64(max(t.Type.Size(), 16))
		for _, d := range t.Shape {
			n *= max(d, 1)
		}
		total += n
	}
	return total
}

// describe asks all replicas what they are. Those that do not answer are left for later, unless none does.
func (o *operator) describe(ctx context.Context, down []error) error {
	for i, m := range o.models {
		about, err := m.Info(ctx)
		switch {
		case err != nil:
			down[i] = fmt.Errorf("ask %s for its model: %w", o.spec.address.names[i], err)
			if _, final := errors.AsType[*dataset.FatalError](err); final {
				return down[i]
			}
		case o.about == nil:
			o.about = about
		default:
			if err := sameModel(o.about, about); err != nil {
				return fmt.Errorf("replica %s: %w", o.spec.address.names[i], err)
			}
		}
	}
	if o.about == nil {
		return errors.Join(down...)
	}
	return nil
}

// sameModel says how two replicas differ.
func sameModel(a, b *gpu.Info) error {
	if x, y := fmt.Sprint(a.Inputs, a.Outputs, a.MaxBatch), fmt.Sprint(b.Inputs, b.Outputs, b.MaxBatch); x != y {
		return fmt.Errorf("its model differs from the first replica's: %s, there %s", y, x)
	}
	return nil
}

// Process implements dataset.Operator.
func (o *operator) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	if o.batchBytes == 0 {
		o.roomToWork()
	}
	p := &pending{b: b.Retain(), pos: o.pos, rows: make([]outcome, b.NumRows())}
	o.queue = append(o.queue, p)
	o.rows += int64(b.NumRows())
	o.pos += p.each() * int64(b.NumRows())
	for i := range p.rows {
		if err := o.row(ctx, p, i, p.pos+int64(i)*p.each()); err != nil {
			return err
		}
	}
	if err := o.advance(emit); err != nil {
		return err
	}
	return o.refill(ctx)
}

// row gives one row to a batch, unless its answer is known.
func (o *operator) row(ctx context.Context, p *pending, i int, pos int64) error {
	r := prep.Row{Block: p.b, Index: i}
	for _, f := range o.bound.features {
		if f.Null(r) {
			return o.null(p, i)
		}
	}
	q := &question{askers: []asker{{p, i}}}
	if !o.spec.params.Nondeterministic {
		q.key, q.keyed = o.key(r), true
		if first, ok := o.asked[q.key]; ok {
			first.askers = append(first.askers, asker{p, i})
			return nil
		}
		if known, err := o.recall(p, i, q.key); known || err != nil {
			return err
		}
	}
	size, key, err := o.measure(r)
	if err != nil {
		o.settle(q, nil, 0, o.badInput(err))
		return nil
	}
	if q.keyed {
		o.asked[q.key] = q
	}
	return o.join(ctx, q, r, size, key, pos)
}

// measure is what a row needs for all features.
func (o *operator) measure(r prep.Row) (size prep.Size, key string, err error) {
	for _, f := range o.bound.features {
		s, err := f.Measure(r)
		if err != nil {
			return size, "", err
		}
		size.Bytes += s.Bytes
		size.Scratch = max(size.Scratch, s.Scratch)
		if s.Key != "" {
			key += s.Key + "|"
		}
	}
	return size, key, nil
}

// Flush implements dataset.Operator.
func (o *operator) Flush(ctx context.Context, emit dataset.Emit) error {
	for _, k := range sortedKeys(o.open) {
		if err := o.launch(ctx, k); err != nil {
			return err
		}
	}
	if err := o.rate(true); err != nil {
		return err
	}
	return o.advance(emit)
}

// Close implements dataset.Operator. The engine has waited for calls in flight.
func (o *operator) Close() error {
	var errs []error
	for _, p := range o.queue {
		for i := range p.rows[p.at:] {
			if r := p.rows[p.at+i].from; r != nil {
				r.drop()
			}
		}
		p.b.Release()
	}
	o.born.close()
	for _, r := range []*result{o.nulls, o.recalled} {
		if r != nil {
			r.drop()
		}
	}
	if o.loaders != nil {
		o.loaders.close()
	}
	if o.cache != nil {
		errs = append(errs, o.cache.Close())
	}
	errs = append(errs, closeAll(o.models))
	for _, e := range o.elsewhere {
		errs = append(errs, e.Close())
	}
	for _, give := range o.give {
		give()
	}
	o.queue, o.open, o.asked, o.nulls, o.recalled, o.models, o.elsewhere, o.give, o.cache = nil, nil, nil, nil, nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
