package isolate

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// deathsAtMost is how many children a request may see die before it is blamed, though others were in flight each time.
const deathsAtMost = 6

// triesAtMost is how often a request is given to a child though it has no part in any death: then there is no child that lives.
const triesAtMost = 32

// Infer implements gpu.Model. When the child dies, its requests are tried again in the next one, each alone, so that it is known which one a child dies of.
// That one has a second chance alone, since a child may be killed for reasons of its own; then it fails with an error that is gpu.ErrRequest and has the class
// of the death. One that takes too long is at fault at once.
func (m *model) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	m.calls.Add(1)
	defer m.calls.Done()
	f := &flight{}
	o := modelOrder{Op: modelInfer, Request: req.ID, Outputs: req.Outputs}
	var err error
	if f.in, o.Inputs, err = m.place(req); err != nil {
		return nil, err
	}
	turns := int64(1)
	for tries, deaths, alone := 1, 0, 0; ; tries++ {
		if err := m.turns.Acquire(ctx, turns); err != nil {
			f.free()
			return nil, context.Cause(ctx)
		}
		err = m.try(ctx, f, o, req.OutputBytes)
		m.turns.Release(turns)
		if err == nil && !f.died {
			return m.respond(f)
		}
		if err != nil {
			if !f.left {
				f.free()
			}
			return nil, err
		}
		d, _ := errors.AsType[*child.Died](f.err)
		if d == nil { // it ended by itself, which it should not
			d = &child.Died{Text: f.err.Error(), Kind: "process ended"}
		}
		if d.Kind != "process" || f.guilty || f.alone {
			deaths++
			if f.alone {
				alone++
			}
			m.log("the child of a model died", "cause", d.Text, "request", req.ID, "others in flight", !f.alone)
		}
		if f.guilty || f.alone && (d.Final || alone > 1) || deaths >= deathsAtMost {
			f.free()
			return nil, atFault{d}
		}
		if tries >= triesAtMost {
			f.free()
			return nil, &dataset.FatalError{Err: fmt.Errorf("model %s: %d child processes died one after the other; the last: %w", m.address, tries, d)}
		}
		turns = allTurns
	}
}

// Probe implements gpu.Prober. A child that dies of it is replaced by the next request.
func (m *model) Probe(ctx context.Context, req *gpu.Request) (int64, error) {
	m.calls.Add(1)
	defer m.calls.Done()
	f := &flight{}
	o := modelOrder{Op: modelProbe, Request: req.ID}
	var err error
	if f.in, o.Inputs, err = m.place(req); err != nil {
		return 0, err
	}
	err = m.try(ctx, f, o, 0)
	if f.left { // it is not ours any more
		return 0, err
	}
	f.free()
	return f.len, errors.Join(err, f.err)
}

// try has the child work on the request once. Without an error the flight tells how it went.
func (m *model) try(ctx context.Context, f *flight, o modelOrder, outputBytes int) error {
	k, err := m.child(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.mu.last++
	id := m.mu.last
	m.mu.Unlock()
	f.out.Return()
	*f = flight{id: id, in: f.in, done: make(chan struct{})}
	if f.out, err = m.slabs.Get(max(outputBytes, 4<<10)); err != nil {
		return err
	}
	o.ID, o.Out = id, &f.out.Place
	if err := k.launch(f, o); err != nil { // it died before the request got there
		f.err, f.died = &child.Died{Text: err.Error(), Kind: "process"}, true
		return nil
	}
	if err := k.wait(ctx, f, m.opts.Timeout+m.Grace, m.LimitBy); err != nil {
		return err
	}
	if f.died {
		return nil
	}
	m.settle(k)
	return f.err
}

// place sees that all inputs lie in shared memory. Those of Alloc are taken over, also when it fails.
func (m *model) place(req *gpu.Request) (slabs []*child.Slab, in []placed, err error) {
	for i := range req.Inputs {
		t := &req.Inputs[i]
		n := contentBytes(t)
		s := m.claim(t.Data)
		if s != nil {
			slabs = append(slabs, s)
		}
		if err != nil {
			continue // the others are taken over all the same
		}
		if err = t.Check(); err != nil {
			err = atFault{err}
			continue
		}
		if s == nil {
			if s, err = m.slabs.Get(max(n, 1)); err != nil {
				continue
			}
			slabs = append(slabs, s)
			putContent(s.Bytes[:n], t)
		}
		at := s.Place
		at.N = int64(n)
		in = append(in, placed{t.Name, t.Type, t.Shape, at})
	}
	if err != nil {
		(&flight{in: slabs}).free()
		return nil, nil, fmt.Errorf("give inputs to model %s: %w", m.address, err)
	}
	return slabs, in, nil
}

// respond views the outputs where they lie.
func (m *model) respond(f *flight) (*gpu.Response, error) {
	for _, s := range f.in {
		s.Return()
	}
	f.in = nil
	out := f.out
	all := out.Bytes[:cap(out.Bytes)]
	var ts []gpu.Tensor
	for i := range f.outputs {
		p := &f.outputs[i]
		if p.At.At < 0 || p.At.N < 0 || p.At.At > int64(len(all)) || p.At.N > int64(len(all))-p.At.At {
			out.Return()
			return nil, fmt.Errorf("read answer of model %s: output %s is at [%d, %d) of %d bytes", m.address, p.Name, p.At.At, p.At.At+p.At.N, len(all))
		}
		t, err := p.view(all[p.At.At : p.At.At+p.At.N])
		if err != nil {
			out.Return()
			return nil, fmt.Errorf("read answer of model %s: %w", m.address, err)
		}
		ts = append(ts, t)
	}
	return gpu.NewResponse(ts, out.Return), nil
}
