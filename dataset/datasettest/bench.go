package datasettest

import (
	"context"
	"errors"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// BenchRuntime is a dataset.Runtime for benchmarks: it checks nothing and costs nothing. It has no asynchronous calls and no scratch files.
type BenchRuntime struct{ Mem memory.Allocator }

var _ dataset.Runtime = (*BenchRuntime)(nil)

// Fail implements dataset.Runtime: the row is skipped.
func (*BenchRuntime) Fail(*block.Block, int, error) error { return nil }

// Async implements dataset.Runtime: there is none.
func (*BenchRuntime) Async(func(context.Context) func(dataset.Emit) error) error {
	return errors.New("start asynchronous call: a benchmark has none")
}

// Blocking implements dataset.Runtime.
func (*BenchRuntime) Blocking(_ string, fn func() error) error { return fn() }

// Allocator implements dataset.Runtime.
func (rt *BenchRuntime) Allocator() memory.Allocator { return rt.Mem }

// Reserve implements dataset.Runtime.
func (*BenchRuntime) Reserve(context.Context, int64) (release func(), err error) {
	return func() {}, nil
}

// TryReserve implements dataset.Runtime.
func (*BenchRuntime) TryReserve(int64) (release func(), ok bool) { return func() {}, true }

// Scratch implements dataset.Runtime: there is none.
func (*BenchRuntime) Scratch() (*dataset.ScratchFile, error) {
	return nil, errors.New("make scratch file: a benchmark has none")
}

// BlockBytes implements dataset.Runtime.
func (*BenchRuntime) BlockBytes() int64 { return 16 << 20 }

// BlockRows implements dataset.Runtime.
func (*BenchRuntime) BlockRows() int { return 128 << 10 }

// Parallel implements dataset.Runtime.
func (*BenchRuntime) Parallel() int { return 1 }

// Logger implements dataset.Runtime.
func (*BenchRuntime) Logger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Warn implements dataset.Runtime.
func (*BenchRuntime) Warn(string, string) {}
