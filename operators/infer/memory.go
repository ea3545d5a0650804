package infer

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
)

// weight is what a model in this process takes.
type weight struct {
	model int64 // open, and idle
	work  int64 // what it computes with for a row of the largest size; 0: not known
	row   int64 // bytes of the tensors of that row
}

// workOf is what the model computes with for a request of so many bytes of tensors.
func (w weight) workOf(bytes int64) int64 {
	if w.row == 0 {
		return 0
	}
	return (w.work*bytes + w.row - 1) / w.row
}

var _ dataset.Weighed = (*spec)(nil)

// Weigh implements dataset.Weighed: the model, and what it needs for one row. More rows at once are asked for when there are some.
func (s *spec) Weigh(context.Context) (int64, error) {
	if s.address.scheme != inProcessScheme {
		return 0, nil
	}
	w, err := s.weight()
	return w.model + w.work + s.leastRoom(), err
}

// leastRoom is the least that tensors and answers of requests in flight may take.
func (s *spec) leastRoom() int64 { return int64(s.params.BatchBytes) / 4 }

// measure opens the model and has it work on a row of the largest size, of zeros.
func (s *spec) measure() (w weight, err error) {
	models, err := s.open(gpu.Options{})
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, closeAll(models)) }()
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	m := models[0]
	about, err := m.Info(ctx)
	if err != nil {
		return w, fmt.Errorf("open model %s: %w", s.address.model, err)
	}
	w.model = about.Bytes
	prober, ok := m.(gpu.Prober)
	if !ok {
		return w, nil
	}
	req := &gpu.Request{ID: "size"}
	target := prep.Target{Inputs: about.Inputs, Batched: about.MaxBatch > 0}
	for _, f := range s.plan.features {
		ts, ok := f.Largest(target)
		if !ok {
			return w, nil
		}
		req.Inputs = append(req.Inputs, ts...)
	}
	bytes := int64(0)
	for i := range req.Inputs {
		bytes += int64(len(req.Inputs[i].Data))
	}
	// What keeps zeros from being worked on will be said of the rows, if it is the model's fault.
	if work, err := prober.Probe(ctx, req); err == nil && bytes > 0 {
		w.work, w.row = work, bytes
	}
	return w, nil
}

// workShare is the share of the budget that a model may compute with.
const workShare = 4

// roomToWork takes room to compute in: for the requests that are worked on at once, with as many rows as are wished for, if a quarter of the budget will do and
// others leave it; else requests are smaller, or fewer. Room for one row is there.
func (o *operator) roomToWork() {
	o.batchBytes = int64(o.spec.params.BatchBytes)
	w := o.weight
	if more := 2*o.rt.BlockBytes() - o.spec.leastRoom(); w.model > 0 && more > 0 {
		if give, ok := o.rt.TryReserve(more); ok {
			o.give = append(o.give, give)
			o.gate.grow(more)
		}
	}
	if w.work == 0 {
		return
	}
	parallel := int64(max(1, o.about.Parallel))
	rows := min(int64(o.most()), max(1, o.batchBytes/w.row))
	want, have := w.work*rows*parallel, w.work
	if a, ok := o.rt.Allocator().(*block.Allocator); ok {
		want = min(want, a.Budget()/workShare)
	}
	for part := want - have; part > 0 && part >= w.work/2; {
		give, ok := o.rt.TryReserve(part)
		if !ok {
			part /= 2
			continue
		}
		o.give = append(o.give, give)
		have += part
		part = min(part, want-have)
	}
	o.gate.grow(have - w.work)
	o.batchBytes = min(o.batchBytes, max(1, have/parallel/w.work)*w.row)
}
