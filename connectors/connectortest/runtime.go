package connectortest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Runtime is a dataset.Runtime for tests of readers: it checks memory, records failures and warnings, and runs everything in place.
type Runtime struct {
	Mem   *memory.CheckedAllocator // nil, in benchmarks: a pool of the engine's kind
	Bytes int64                    // BlockBytes; 0: 1 MiB
	Rows  int                      // BlockRows; 0: 10,000
	// Policy is what Fail returns; nil goes on.
	Policy func(err error) error

	pool sync.Once
	mem  memory.Allocator
	mu   struct {
		sync.Mutex
		failures []Failure
		warnings []string
	}
}

var _ dataset.Runtime = (*Runtime)(nil)

// Failure is one row that a reader reported as broken.
type Failure struct {
	File     *block.File
	Position uint64
	Err      error
}

// NewRuntime makes a runtime whose memory is checked at the end of the test.
func NewRuntime(tb testing.TB) *Runtime {
	rt := &Runtime{Mem: memory.NewCheckedAllocator(memory.NewGoAllocator())}
	tb.Cleanup(func() { rt.Mem.AssertSize(tb, 0) })
	return rt
}

// Fail implements dataset.Runtime.
func (r *Runtime) Fail(b *block.Block, row int, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Failure{Err: err}
	if b.Identity().Len() > row {
		id := b.Identity().At(row)
		f.File, f.Position = id.File, id.Position
	}
	r.mu.failures = append(r.mu.failures, f)
	if r.Policy != nil {
		return r.Policy(err)
	}
	return nil
}

// Failures returns the rows reported so far.
func (r *Runtime) Failures() []Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Failure(nil), r.mu.failures...)
}

// Warnings returns the warnings so far, each as "class: example".
func (r *Runtime) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.mu.warnings...)
}

// Warn implements dataset.Runtime.
func (r *Runtime) Warn(class, example string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.warnings = append(r.mu.warnings, fmt.Sprintf("%s: %s", class, example))
}

// Async implements dataset.Runtime; readers may not use it.
func (r *Runtime) Async(func(ctx context.Context) (deliver func(emit dataset.Emit) error)) error {
	return errors.New("a reader called Runtime.Async, which is not available to readers")
}

// Blocking implements dataset.Runtime.
func (r *Runtime) Blocking(_ string, fn func() error) error { return fn() }

// Allocator implements dataset.Runtime.
func (r *Runtime) Allocator() memory.Allocator {
	if r.Mem != nil {
		return r.Mem
	}
	r.pool.Do(func() { r.mem = block.NewAllocator(block.NewPool(1<<30), nil) })
	return r.mem
}

// Reserve implements dataset.Runtime.
func (r *Runtime) Reserve(context.Context, int64) (func(), error) { return func() {}, nil }

// TryReserve implements dataset.Runtime.
func (r *Runtime) TryReserve(int64) (func(), bool) { return func() {}, true }

// Scratch implements dataset.Runtime.
func (r *Runtime) Scratch() (*dataset.ScratchFile, error) {
	return nil, errors.New("this runtime has no scratch files")
}

// BlockBytes implements dataset.Runtime.
func (r *Runtime) BlockBytes() int64 {
	if r.Bytes == 0 {
		return 1 << 20
	}
	return r.Bytes
}

// BlockRows implements dataset.Runtime.
func (r *Runtime) BlockRows() int {
	if r.Rows == 0 {
		return 10_000
	}
	return r.Rows
}

// Parallel implements dataset.Runtime.
func (r *Runtime) Parallel() int { return 1 }

// Logger implements dataset.Runtime.
func (r *Runtime) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }
