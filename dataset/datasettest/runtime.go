package datasettest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// Failure is one row that an operator reported through Runtime.Fail.
type Failure struct {
	Row block.RowID
	Err error
}

// Runtime is a dataset.Runtime for one instance under test.
type Runtime struct {
	*shared
	ctx  context.Context
	emit dataset.Emit

	flying  int
	results chan func(dataset.Emit) error
}

// shared is what the instances of one run have in common.
type shared struct {
	tb       testing.TB
	cfg      Config
	mem      *arraytest.Memory
	mu       sync.Mutex
	failures []Failure
	warnings map[string]int
	reserved atomic.Int64
	peak     atomic.Int64
	spilled  atomic.Int64
	files    []*dataset.ScratchFile
	flights  sync.WaitGroup
}

var _ dataset.Runtime = (*Runtime)(nil)

// ErrRowFailed is what Fail returns under the policy "fail".
var ErrRowFailed = errors.New("a row failed and the policy is to stop")

// Fail implements dataset.Runtime.
func (rt *Runtime) Fail(b *block.Block, row int, err error) error {
	if row < 0 || row >= b.NumRows() {
		rt.tb.Errorf("Fail names row %d of a block of %d", row, b.NumRows())
		return nil
	}
	if err == nil {
		rt.tb.Error("Fail was given no error")
	}
	f := Failure{Err: err}
	if b.Identity().Len() > 0 {
		f.Row = b.Identity().At(row)
	}
	rt.mu.Lock()
	rt.failures = append(rt.failures, f)
	rt.mu.Unlock()
	if rt.cfg.OnError == dataset.OnErrorFail {
		return fmt.Errorf("%w: %w", ErrRowFailed, err)
	}
	return nil
}

// Async implements dataset.Runtime.
func (rt *Runtime) Async(fn func(ctx context.Context) func(dataset.Emit) error) error {
	for rt.flying >= rt.cfg.Window {
		if err := rt.deliver(<-rt.results); err != nil {
			return err
		}
	}
	rt.flying++
	rt.flights.Go(func() { rt.results <- fn(rt.ctx) })
	return nil
}

func (rt *Runtime) deliver(f func(dataset.Emit) error) error {
	rt.flying--
	if f == nil {
		return nil
	}
	return f(rt.emit)
}

// drain delivers all that is in flight.
func (rt *Runtime) drain() error {
	for rt.flying > 0 {
		if err := rt.deliver(<-rt.results); err != nil {
			return err
		}
	}
	return nil
}

// abandon waits for what is in flight and drops it.
func (rt *Runtime) abandon() {
	for ; rt.flying > 0; rt.flying-- {
		<-rt.results
	}
}

// Blocking implements dataset.Runtime.
func (rt *Runtime) Blocking(reason string, fn func() error) error {
	if reason == "" {
		rt.tb.Error("Blocking was given no reason")
	}
	return fn()
}

// Allocator implements dataset.Runtime.
func (rt *Runtime) Allocator() memory.Allocator { return rt.mem }

// Reserve implements dataset.Runtime. It never waits, as nobody else would give anything back; the peak shows what was asked for.
func (rt *Runtime) Reserve(_ context.Context, n int64) (release func(), err error) {
	rt.reserve(n)
	return rt.unreserve(n), nil
}

// TryReserve implements dataset.Runtime.
func (rt *Runtime) TryReserve(n int64) (release func(), ok bool) {
	if rt.cfg.Budget > 0 && rt.reserved.Load()+n > rt.cfg.Budget {
		return nil, false
	}
	rt.reserve(n)
	return rt.unreserve(n), true
}

func (s *shared) reserve(n int64) {
	if n < 0 {
		s.tb.Errorf("%d bytes were reserved", n)
	}
	now := s.reserved.Add(n)
	for old := s.peak.Load(); now > old && !s.peak.CompareAndSwap(old, now); old = s.peak.Load() {
	}
}

func (s *shared) unreserve(n int64) func() {
	var once atomic.Bool
	return func() {
		if once.Swap(true) {
			s.tb.Error("a reservation was released twice")
			return
		}
		s.reserved.Add(-n)
	}
}

// Scratch implements dataset.Runtime.
func (rt *Runtime) Scratch() (*dataset.ScratchFile, error) {
	f, err := os.CreateTemp(rt.tb.TempDir(), "scratch")
	if err != nil {
		return nil, err
	}
	s := &dataset.ScratchFile{File: f, Grow: func(n int64) error {
		if now := rt.spilled.Add(n); rt.cfg.ScratchLimit > 0 && now > rt.cfg.ScratchLimit {
			return fmt.Errorf("write scratch file: %d bytes are above the limit of %d", now, rt.cfg.ScratchLimit)
		}
		return nil
	}}
	rt.mu.Lock()
	rt.files = append(rt.files, s)
	rt.mu.Unlock()
	return s, nil
}

// BlockBytes implements dataset.Runtime.
func (rt *Runtime) BlockBytes() int64 { return rt.cfg.BlockBytes }

// BlockRows implements dataset.Runtime.
func (rt *Runtime) BlockRows() int { return rt.cfg.BlockRows }

// Parallel implements dataset.Runtime.
func (rt *Runtime) Parallel() int { return rt.cfg.Instances }

// Logger implements dataset.Runtime.
func (rt *Runtime) Logger() *slog.Logger { return rt.cfg.Logger }

// Warn implements dataset.Runtime.
func (rt *Runtime) Warn(class, _ string) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.warnings[class]++
}
