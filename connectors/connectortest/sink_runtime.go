package connectortest

import (
	"context"
	"errors"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// SinkRuntime is the Runtime of a sink's stage in tests: unlimited, alone, and without an engine.
type SinkRuntime struct{ Mem memory.Allocator }

var _ dataset.Runtime = SinkRuntime{}

// Fail implements dataset.Runtime.
func (SinkRuntime) Fail(_ *block.Block, _ int, err error) error { return err }

// Async implements dataset.Runtime; sinks have none.
func (SinkRuntime) Async(func(context.Context) func(dataset.Emit) error) error {
	return errors.New("a sink called Async")
}

// Blocking implements dataset.Runtime.
func (SinkRuntime) Blocking(_ string, fn func() error) error { return fn() }

// Allocator implements dataset.Runtime.
func (r SinkRuntime) Allocator() memory.Allocator {
	if r.Mem == nil {
		return memory.DefaultAllocator
	}
	return r.Mem
}

// Reserve implements dataset.Runtime.
func (SinkRuntime) Reserve(context.Context, int64) (func(), error) { return func() {}, nil }

// TryReserve implements dataset.Runtime.
func (SinkRuntime) TryReserve(int64) (func(), bool) { return func() {}, true }

// Scratch implements dataset.Runtime; sinks have none.
func (SinkRuntime) Scratch() (*dataset.ScratchFile, error) {
	return nil, errors.New("a sink called Scratch")
}

// BlockBytes implements dataset.Runtime.
func (SinkRuntime) BlockBytes() int64 { return 1 << 20 }

// BlockRows implements dataset.Runtime.
func (SinkRuntime) BlockRows() int { return 64 << 10 }

// Parallel implements dataset.Runtime.
func (SinkRuntime) Parallel() int { return 1 }

// Logger implements dataset.Runtime.
func (SinkRuntime) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Warn implements dataset.Runtime.
func (SinkRuntime) Warn(string, string) {}
