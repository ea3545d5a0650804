package isolate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// Models opens models in child processes.
type Models struct {
	// Grace is how long beyond the time-out of a request its child is left alone: a model that heeds the time-out ends by itself.
	Grace time.Duration
	// LimitBy is what the user sets the time-out by.
	LimitBy string
}

// Open implements gpu.Opener: the model is opened by its scheme in a child process (Serve), which is started when something is asked of it. A child that
// dies of a request costs that request, and is replaced: see Infer. Options.Memory is charged with what a child grows by beyond Info.Bytes.
func (o Models) Open(address string, opts gpu.Options) (gpu.Model, error) {
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	slabs, err := child.OpenSlabs(nil, idleShared)
	if err != nil {
		return nil, err
	}
	m := &model{Models: o, address: address, opts: opts, slabs: slabs, turns: semaphore.NewWeighted(allTurns)}
	m.mu.lent = map[*byte]*child.Slab{}
	return m, nil
}

// allTurns is more than there are requests at once: who has all of them is alone.
const allTurns = 1 << 20

// model is a gpu.Model whose work a child does.
type model struct {
	Models
	address string
	opts    gpu.Options
	slabs   *child.Slabs
	turns   *semaphore.Weighted
	calls   sync.WaitGroup

	starting sync.Mutex // held while a child is started
	mu       struct {
		sync.Mutex
		link    *link
		info    *gpu.Info
		lent    map[*byte]*child.Slab // of Alloc, by their first byte
		charged int64                 // what the child takes beyond Info.Bytes
		last    int64                 // number of the last request
		closed  bool
	}
}

var (
	_ gpu.Model  = (*model)(nil)
	_ gpu.Prober = (*model)(nil)
)

// Info implements gpu.Model. Bytes includes the base size of the child, or is what the child takes once it has opened the model, if that is more.
func (m *model) Info(ctx context.Context) (*gpu.Info, error) {
	m.mu.Lock()
	info := m.mu.info
	m.mu.Unlock()
	if info != nil {
		return info, nil
	}
	if _, err := m.child(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.info, nil
}

// child gives the child, a new one if there is none or it has died.
func (m *model) child(ctx context.Context) (*link, error) {
	m.starting.Lock()
	defer m.starting.Unlock()
	m.mu.Lock()
	k, closed := m.mu.link, m.mu.closed
	m.mu.Unlock()
	switch {
	case closed:
		return nil, &dataset.FatalError{Err: fmt.Errorf("model %s: it is closed", m.address)}
	case k != nil && !k.gone():
		return k, nil
	case k != nil:
		if err := m.forget(k); err != nil {
			return nil, err
		}
	}
	for try := 0; ; try++ { // the first child may be killed for reasons of its own
		k, err := m.start(ctx)
		if err == nil {
			m.keep(k)
			return k, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !child.IsDied(err) {
			return nil, err
		}
		m.log("a child died while it opened its model", "cause", err.Error())
		if try > 0 {
			return nil, &dataset.FatalError{Err: fmt.Errorf("open model %s in a child process: %w", m.address, err)}
		}
	}
}

func (m *model) start(ctx context.Context) (*link, error) {
	l := &child.Launch{Log: m.opts.Log}
	if m.opts.Memory != nil {
		l.Limit, l.LimitBy = m.opts.Memory.Budget(), "--memory"
	}
	o := &modelOrder{Op: orderOpen, Address: m.address, Version: m.opts.Version, Timeout: m.opts.Timeout, Threads: m.opts.Threads}
	scheme, _, _ := strings.Cut(m.address, ":")
	return openLink(ctx, scheme, runtime.GOMAXPROCS(0), l, o, m.slabs)
}

// keep makes k the child.
func (m *model) keep(k *link) {
	base, _ := baseBytes()
	info := *k.info
	info.Bytes += base
	if n, ok := child.PrivateOf(k.proc.Pid); ok {
		info.Bytes = max(info.Bytes, n)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.link = k
	if m.mu.info == nil {
		m.mu.info = &info
	}
}

// forget frees what belongs to a child that has died.
func (m *model) forget(k *link) error {
	err := k.close()
	m.mu.Lock()
	m.mu.link = nil
	m.mu.Unlock()
	m.charge(0)
	return err
}

// settle charges what the child has grown by.
func (m *model) settle(k *link) {
	if n, ok := k.private(); ok {
		m.mu.Lock()
		declared := m.mu.info.Bytes
		m.mu.Unlock()
		m.charge(max(n-declared, 0))
	}
}

func (m *model) charge(n int64) {
	if m.opts.Memory == nil {
		return
	}
	m.mu.Lock()
	more := n - m.mu.charged
	m.mu.charged = n
	m.mu.Unlock()
	var account block.Account = m.opts.Memory
	if more > 0 {
		account.Charge(more)
	} else if more < 0 {
		account.Refund(-more)
	}
}

// Alloc implements gpu.Model: a piece of shared memory.
func (m *model) Alloc(_ context.Context, n int) ([]byte, error) {
	s, err := m.slabs.Get(max(n, 1))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.lent[&s.Bytes[0]] = s
	return s.Bytes[:n], nil
}

// Free implements gpu.Model.
func (m *model) Free(b []byte) { m.claim(b).Return() }

// claim takes bytes back that Alloc gave; nil for others.
func (m *model) claim(b []byte) *child.Slab {
	if cap(b) == 0 {
		return nil
	}
	p := &b[:1][0]
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.mu.lent[p]
	delete(m.mu.lent, p)
	return s
}

// Healthy implements gpu.Model: a child that has died is replaced.
func (m *model) Healthy(ctx context.Context) error {
	_, err := m.child(ctx)
	return err
}

// Load implements gpu.Model.
func (*model) Load(context.Context) (gpu.Load, error) { return gpu.Load{}, gpu.ErrUnsupported }

// Close implements gpu.Model.
func (m *model) Close() error {
	m.calls.Wait()
	m.starting.Lock()
	defer m.starting.Unlock()
	m.mu.Lock()
	k, closed := m.mu.link, m.mu.closed
	m.mu.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if k != nil {
		err = m.forget(k)
	}
	m.mu.Lock()
	lent := m.mu.lent
	m.mu.lent = nil
	m.mu.Unlock()
	for _, s := range lent {
		s.Return()
	}
	return errors.Join(err, m.slabs.Close())
}

func (m *model) log(what string, args ...any) {
	if m.opts.Log != nil {
		m.opts.Log.Error(what, append([]any{"model", m.address}, args...)...)
	}
}
