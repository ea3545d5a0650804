package triton

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

const (
	defaultSlots = 16
	// sickFor is how long a replica counts as sick whose model crashed. It may be mended without a sign, so then it is tried again.
	sickFor = 30 * time.Second
	// plainIdle is what is kept for reuse of memory that is not shared.
	plainIdle = 64 << 20
)

// Model is one model of one server.
type Model struct {
	*Server
	name, version string
	slots         *slots
	regions       *regions
	calls         sync.WaitGroup // requests on the wire, those too whose callers gave up
	jobs          chan func()    // for idle goroutines that carry requests
	ctx           context.Context
	stop          context.CancelFunc
	limit         int // bytes of one message
	inFlight      atomic.Int64
	sick          atomic.Int64 // Unix nanoseconds until which the model counts as crashed
	sizes         sizes        // what outputs took, where shapes do not tell
	load          loads

	mu struct {
		sync.Mutex
		info   *details
		closed bool
	}
}

var (
	_ gpu.Model    = (*Model)(nil)
	_ gpu.Streamer = (*Model)(nil)
	_ gpu.Opener   = Open
)

// Open implements gpu.Opener. The model that it gives is a *Model.
func Open(addr string, opts gpu.Options) (gpu.Model, error) {
	return open(addr, opts, messageLimit)
}

func open(addr string, opts gpu.Options, limit int) (*Model, error) {
	at, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	if at.model == "" {
		return nil, fmt.Errorf("open model %s: the address names no model; write triton://HOST:PORT/MODEL", addr)
	}
	if opts.Slots <= 0 {
		opts.Slots = defaultSlots
	}
	if at.version != "" && opts.Version != "" && at.version != opts.Version {
		return nil, fmt.Errorf("open model %s: the address says version %s, the options %s", addr, at.version, opts.Version)
	}
	n := min(max(opts.Slots/requestsPerConn, 1), maxConns)
	s, err := newServer(at, opts, n, limit)
	if err != nil {
		return nil, err
	}
	heap := opts.Memory
	if heap == nil {
		heap = block.NewAllocator(block.NewPool(plainIdle), nil)
	}
	m := &Model{Server: s, name: at.model, version: max(at.version, opts.Version), slots: newSlots(heap, opts), limit: limit, jobs: make(chan func())}
	m.regions = newRegions(s, m.slots)
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m, nil
}

// Healthy implements gpu.Model.
func (m *Model) Healthy(ctx context.Context) error {
	if until := m.sick.Load(); until > time.Now().UnixNano() {
		return &dataset.TransientError{After: time.Until(time.Unix(0, until)),
			Err: fmt.Errorf("model %s on %s has crashed; unload and load it", m.name, m.at.host)}
	}
	if err := m.Ready(ctx); err != nil {
		return err
	}
	call, cancel := m.bounded(ctx)
	defer cancel()
	r, err := m.conns.rpc().ModelReady(call, &pb.ModelReadyRequest{Name: m.name, Version: m.version})
	if err == nil && !r.Ready {
		return &dataset.TransientError{Err: fmt.Errorf("model %s on %s is not ready", m.name, m.at.host), After: afterLost}
	}
	return m.classify(ctx, "ask whether model "+m.name+" is ready", err)
}

// noteHealth remembers what the outcome of a request tells about the model.
func (m *Model) noteHealth(err error) {
	switch {
	case err == nil:
		m.sick.Store(0)
	case isStubDead(err):
		m.sick.Store(time.Now().Add(sickFor).UnixNano())
	}
}

// Close implements gpu.Model. It waits for the callers of Infer; requests that they gave up on are cancelled.
func (m *Model) Close() error {
	m.mu.Lock()
	closed := m.mu.closed
	m.mu.closed = true
	m.mu.Unlock()
	if closed {
		return nil
	}
	m.slots.callers.Wait()
	m.stop()
	m.calls.Wait()
	return errors.Join(m.regions.close(), m.slots.close(), m.Server.Close())
}

// begin counts a caller in; done counts it out.
func (m *Model) begin() (done func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.closed {
		return nil, &dataset.FatalError{Err: fmt.Errorf("model %s on %s: it is closed", m.name, m.at.host)}
	}
	m.slots.callers.Add(1)
	m.inFlight.Add(1)
	return func() {
		m.inFlight.Add(-1)
		m.slots.callers.Done()
	}, nil
}

// optionalConfig asks for the configuration; nil where the server keeps none or does not tell.
func (m *Model) optionalConfig(ctx, call context.Context) (*pb.ModelConfig, string, error) {
	r, err := m.conns.rpc().ModelConfig(call, &pb.ModelConfigRequest{Name: m.name, Version: m.version})
	if err == nil {
		return r.Config, "", nil
	}
	if isCode(err, codes.Unimplemented) {
		return nil, "the server tells no batch limit and no concurrency", nil
	}
	missing := isCode(err, codes.NotFound)
	err = m.classify(ctx, "ask for the configuration of model "+m.name, err)
	var fatal *dataset.FatalError
	if errors.As(err, &fatal) && !missing { // it is restricted
		return nil, fmt.Sprintf("no batch limit and no concurrency are known: %v", err), nil
	}
	return nil, "", err
}
