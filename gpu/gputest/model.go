package gputest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluice-data/sluice/gpu"
)

// Model is a fake replica. Its fields are set before use, but for the methods that say otherwise.
type Model struct {
	// About is what Info answers.
	About gpu.Info
	// Answer computes the outputs; the inputs are valid until it returns.
	Answer func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error)
	// Busy answers Load; nil means ErrUnsupported.
	Busy func() gpu.Load

	tb       testing.TB
	mu       sync.Mutex
	allocs   map[*byte]int
	dead     error
	down     chan struct{} // closed while dead
	flying   atomic.Int64
	most     atomic.Int64
	requests atomic.Int64
	answers  atomic.Int64 // responses not released
	checks   atomic.Int64
	closed   atomic.Bool
}

var _ gpu.Model = (*Model)(nil)

// New makes a model that is checked when the test ends: closed, nothing allocated, no response held.
func New(tb testing.TB, about gpu.Info, answer func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error)) *Model {
	m := &Model{About: about, Answer: answer, tb: tb, allocs: map[*byte]int{}, down: make(chan struct{})}
	tb.Cleanup(m.check)
	return m
}

func (m *Model) check() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.allocs) != 0 {
		m.tb.Errorf("model %s: %d allocations were not given back", m.About.Name, len(m.allocs))
	}
	if n := m.answers.Load(); n != 0 {
		m.tb.Errorf("model %s: %d responses were not released", m.About.Name, n)
	}
}

// Kill makes every request fail from now on, also those in flight, and Healthy with it, until Revive. It may be called at any time.
func (m *Model) Kill(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead == nil {
		m.dead = err
		close(m.down)
	}
}

// Revive ends what Kill began.
func (m *Model) Revive() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead != nil {
		m.dead, m.down = nil, make(chan struct{})
	}
}

func (m *Model) state() (dead error, down chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead, m.down
}

// Requests is how many were asked, failed ones included; Most how many were in flight at once; HealthChecks how often health was asked.
func (m *Model) Requests() int { return int(m.requests.Load()) }

// Most is how many requests were in flight at once.
func (m *Model) Most() int { return int(m.most.Load()) }

// HealthChecks is how often Healthy was called.
func (m *Model) HealthChecks() int { return int(m.checks.Load()) }

// Closed says whether Close was called.
func (m *Model) Closed() bool { return m.closed.Load() }

// Info implements gpu.Model.
func (m *Model) Info(context.Context) (*gpu.Info, error) {
	if dead, _ := m.state(); dead != nil {
		return nil, dead
	}
	i := m.About
	return &i, nil
}

// Alloc implements gpu.Model.
func (m *Model) Alloc(_ context.Context, n int) ([]byte, error) {
	b := make([]byte, n, max(n, 1))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.allocs[&b[:1][0]] = n
	return b, nil
}

// Free implements gpu.Model.
func (m *Model) Free(b []byte) { m.forget(b, true) }

func (m *Model) forget(b []byte, must bool) {
	if cap(b) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k := &b[:1][0]
	if _, ok := m.allocs[k]; !ok && must {
		m.tb.Errorf("model %s: memory was freed that is not allocated", m.About.Name)
	}
	delete(m.allocs, k)
}

// Infer implements gpu.Model.
func (m *Model) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	m.requests.Add(1)
	for now := m.flying.Add(1); ; {
		old := m.most.Load()
		if now <= old || m.most.CompareAndSwap(old, now) {
			break
		}
	}
	defer m.flying.Add(-1)
	defer func() {
		for _, t := range req.Inputs {
			m.forget(t.Data, false)
		}
	}()
	for i := range req.Inputs {
		if err := req.Inputs[i].Check(); err != nil {
			m.tb.Errorf("model %s: %v", m.About.Name, err)
			return nil, errors.Join(gpu.ErrRequest, err)
		}
	}
	dead, down := m.state()
	if dead != nil {
		return nil, dead
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-down:
			dead, _ := m.state()
			cancel(dead)
		case <-stop:
		}
	})
	out, err := m.Answer(ctx, req)
	close(stop)
	watch.Wait()
	if now, _ := m.state(); now != nil {
		return nil, now
	}
	if err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return nil, fmt.Errorf("answer of the fake: %w", err)
		}
	}
	m.answers.Add(1)
	return gpu.NewResponse(out, func() { m.answers.Add(-1) }), nil
}

// Healthy implements gpu.Model.
func (m *Model) Healthy(context.Context) error {
	m.checks.Add(1)
	dead, _ := m.state()
	return dead
}

// Load implements gpu.Model.
func (m *Model) Load(context.Context) (gpu.Load, error) {
	if m.Busy == nil {
		return gpu.Load{}, gpu.ErrUnsupported
	}
	return m.Busy(), nil
}

// Close implements gpu.Model.
func (m *Model) Close() error {
	if m.closed.Swap(true) {
		m.tb.Errorf("model %s: closed twice", m.About.Name)
	}
	return nil
}
