package isolate

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// childRuntime is what a step sees of the engine from within a child.
type childRuntime struct {
	server     *server
	from       int // row of the block that the step's block begins at
	blockBytes int64
	blockRows  int
	parallel   int
	ids        int // reservations
}

var (
	_ dataset.Runtime   = (*childRuntime)(nil)
	_ dataset.RowMarker = (*childRuntime)(nil)
)

// MarkRow implements dataset.RowMarker.
func (rt *childRuntime) MarkRow(row int) { rt.server.working(rt.from + row) }

// Fail implements dataset.Runtime. What the policy of the run is the engine knows: it ends this process if the run ends.
func (rt *childRuntime) Fail(_ *block.Block, row int, err error) error {
	return rt.server.send(report{Op: reportFailed, Row: rt.from + row, Fault: faultOf(err)})
}

// Async implements dataset.Runtime.
func (*childRuntime) Async(func(context.Context) func(dataset.Emit) error) error {
	return errors.New("an isolated step makes no asynchronous calls")
}

// Blocking implements dataset.Runtime: the slot is the engine's to give back.
func (*childRuntime) Blocking(_ string, fn func() error) error { return fn() }

// Allocator implements dataset.Runtime.
func (rt *childRuntime) Allocator() memory.Allocator { return rt.server.mem }

// Reserve implements dataset.Runtime.
func (rt *childRuntime) Reserve(_ context.Context, n int64) (func(), error) {
	rt.ids++
	id := rt.ids
	if _, err := rt.server.ask(report{Op: reportReserve, ID: id, Bytes: n}); err != nil {
		return nil, err
	}
	return func() { _ = rt.server.send(report{Op: reportRelease, ID: id}) }, nil
}

// TryReserve implements dataset.Runtime.
func (rt *childRuntime) TryReserve(n int64) (func(), bool) {
	release, err := rt.Reserve(context.Background(), n)
	return release, err == nil
}

// Scratch implements dataset.Runtime.
func (*childRuntime) Scratch() (*dataset.ScratchFile, error) {
	return nil, errors.New("an isolated step has no scratch files")
}

// BlockBytes implements dataset.Runtime.
func (rt *childRuntime) BlockBytes() int64 { return rt.blockBytes }

// BlockRows implements dataset.Runtime.
func (rt *childRuntime) BlockRows() int { return rt.blockRows }

// Parallel implements dataset.Runtime.
func (rt *childRuntime) Parallel() int { return rt.parallel }

// Logger implements dataset.Runtime: what is printed reaches the log of the run.
func (*childRuntime) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

// Warn implements dataset.Runtime.
func (rt *childRuntime) Warn(class, example string) {
	_ = rt.server.send(report{Op: reportWarn, Class: class, Example: example})
}
