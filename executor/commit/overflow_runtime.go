package commit

import (
	"context"
	"errors"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// drainRuntime is the Runtime of writers that the committer opens: it belongs to no task, so there is no slot to give back and nothing to
// wait for.
type drainRuntime struct {
	mem memory.Allocator
	cfg *Config
}

var _ dataset.Runtime = (*drainRuntime)(nil)

// Fail implements dataset.Runtime: a sink that refuses a row here fails the run.
func (*drainRuntime) Fail(_ *block.Block, _ int, err error) error { return err }

// Async implements dataset.Runtime.
func (*drainRuntime) Async(func(context.Context) func(dataset.Emit) error) error {
	return errors.New("internal error in commit: a sink made an asynchronous call while its part was opened")
}

// Blocking implements dataset.Runtime.
func (*drainRuntime) Blocking(_ string, fn func() error) error { return fn() }

// Allocator implements dataset.Runtime.
func (rt *drainRuntime) Allocator() memory.Allocator { return rt.mem }

// Reserve implements dataset.Runtime.
func (*drainRuntime) Reserve(context.Context, int64) (release func(), err error) {
	return func() {}, nil
}

// TryReserve implements dataset.Runtime.
func (*drainRuntime) TryReserve(int64) (release func(), ok bool) { return nil, false }

// Scratch implements dataset.Runtime.
func (rt *drainRuntime) Scratch() (*dataset.ScratchFile, error) {
	if rt.cfg.Scratch == nil {
		return nil, errors.New("make spill file: the run has no place for them")
	}
	return rt.cfg.Scratch()
}

// BlockBytes implements dataset.Runtime.
func (*drainRuntime) BlockBytes() int64 { return 1 << 20 }

// BlockRows implements dataset.Runtime.
func (*drainRuntime) BlockRows() int { return chunkRows }

// Parallel implements dataset.Runtime: parts are written one after the other, so one may use the whole stage's share.
func (*drainRuntime) Parallel() int { return 1 }

// Logger implements dataset.Runtime.
func (rt *drainRuntime) Logger() *slog.Logger { return rt.cfg.Logger }

// Warn implements dataset.Runtime.
func (rt *drainRuntime) Warn(class, example string) { rt.cfg.Logger.Warn(class, "example", example) }
