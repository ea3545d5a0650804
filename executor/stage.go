package executor

import (
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
	"github.com/sluice-data/sluice/executor/sched"
)

// stage is one stage of a run.
type stage struct {
	*PhysicalStage
	id        sched.StageID
	run       *run
	memory    *stageMemory
	consumers int
	workers   []*worker // by WorkerID; nil where closed; guarded by run.mu

	list       *lister
	stopped    atomic.Bool // nothing more is wanted
	listedAll  atomic.Bool // of a source: listing has ended
	partitions []dataset.Partition
	spills     []portSpill // by port; nil until something was spilled
	target     *target
	managers   []*commit.Manager  // of the targets that rows beginning here can reach
	drained    func(*block.Token) // tells them
	feed       *commit.Feed       // of a source that has managers

	count stageCount
}

// stageCount is what the stage did so far.
type stageCount struct {
	rowsIn, rowsOut, blocksIn, blocksOut, bytesIn, bytesOut atomic.Int64
	busy, failed                                            atomic.Int64
	most                                                    atomic.Int32 // workers ever at once
	listed, read                                            atomic.Int64 // of a source: bytes of splits listed, and read
	took                                                    histogram    // ns of computing, one a block
}

// worker returns the worker of that number, starting it if need be. Called with run.mu held.
func (s *stage) worker(id sched.WorkerID) *worker {
	for int(id) >= len(s.workers) {
		s.workers = append(s.workers, nil)
	}
	w := s.workers[id]
	if w == nil {
		w = newWorker(s, id)
		s.workers[id] = w
		s.count.most.Add(1)
		s.run.wg.Go(w.loop)
	}
	return w
}

// closeWorker lets a worker end. Called with run.mu held.
func (s *stage) closeWorker(id sched.WorkerID) {
	if int(id) < len(s.workers) && s.workers[id] != nil && !s.workers[id].closing {
		s.workers[id].closing = true
		close(s.workers[id].work)
	}
}

// stop ends listing and reading. Called with run.mu held.
func (s *stage) stop() {
	s.stopped.Store(true)
	if s.list != nil {
		s.list.stop(dataset.ErrStop)
	}
}

// retainForConsumers makes one claim for each consuming port.
func (s *stage) retainForConsumers(b *block.Block) {
	for range s.consumers - 1 {
		b.Retain()
	}
}

func (c *stageCount) in(rows, bytes int64) {
	c.rowsIn.Add(rows)
	c.bytesIn.Add(bytes)
	c.blocksIn.Add(1)
}

func (c *stageCount) out(rows, bytes int64) {
	c.rowsOut.Add(rows)
	c.bytesOut.Add(bytes)
	c.blocksOut.Add(1)
}

// report copies the counts.
func (s *stage) report() dataset.StageReport {
	return dataset.StageReport{
		Name: s.Name, RowsIn: s.count.rowsIn.Load(), RowsOut: s.count.rowsOut.Load(),
		BlocksIn: s.count.blocksIn.Load(), BlocksOut: s.count.blocksOut.Load(),
		BytesIn: s.count.bytesIn.Load(), BytesOut: s.count.bytesOut.Load(),
		Busy: time.Duration(s.count.busy.Load()), Failed: s.count.failed.Load(), Workers: int(s.count.most.Load()),
	}
}
