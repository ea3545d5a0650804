package executor

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// TestSlowBlocksAreHandedOnAtOnce: a block that took a while to make is with the next stage before the call that made it ends.
func TestSlowBlocksAreHandedOnAtOnce(t *testing.T) {
	seen := make(chan struct{})
	var once sync.Once
	slow := &step{name: "slow", process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		time.Sleep(2 * time.Millisecond) // the work
		if err := emit(b.Slice(0, 1)); err != nil {
			return err
		}
		select {
		case <-seen:
		case <-time.After(10 * time.Second):
			return errors.New("the next stage did not get the first block")
		}
		return emit(b.Slice(1, 1))
	}}
	next := &step{name: "next", needs: dataset.Resources{NoCPU: true, Window: 1}, process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		once.Do(func() { close(seen) })
		return emit(b.Retain())
	}}
	d := dataset.From(&ints{files: 1, perFile: 2, perBlock: 2}, newLocal(t, 32<<20, 2)).Via(slow).Via(next)
	if got := collect(t, d, dataset.Options{}); len(got) != 2 {
		t.Errorf("rows %v", got)
	}
}
