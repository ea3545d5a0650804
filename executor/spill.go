package executor

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
	"github.com/sluice-data/sluice/executor/sched"
)

// portSpill holds the blocks of one port that are on disk: those of a branch that is not accepted yet while another branch of the same
// source has to advance.
type portSpill struct {
	mu     sync.Mutex
	disk   *store.Disk
	blocks map[*block.Block]spilledBlock
}

// spilledBlock is where a block is. ghost is a block of the same rows without columns: it keeps their identity, and keeps them counted
// as live.
type spilledBlock struct {
	stored store.Stored
	ghost  *block.Block
}

// spill writes queued blocks of a port to disk on a goroutine of its own and then tells the scheduler. Called with run.mu held.
func (s *stage) spill(port int, items []sched.Item) {
	if s.spills == nil {
		s.spills = make([]portSpill, len(s.Sched.Ports))
	}
	p := &s.spills[port]
	s.run.wg.Go(func() {
		for _, it := range items {
			b := it.Block.(*block.Block)
			if s.run.ctx.Err() != nil {
				break
			}
			if err := p.write(s.run, s.In[port], b); err != nil {
				s.run.fail(fmt.Errorf("spill input %d of %s: %w", port, s.Name, err))
				break
			}
		}
		s.run.send(sched.Event{Kind: sched.EvSpilled, Stage: s.id, Port: port})
	})
}

// write puts one block on disk and releases it.
func (p *portSpill) write(r *run, schema *arrow.Schema, b *block.Block) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.disk == nil {
		f, err := r.scratch.file()
		if err != nil {
			return err
		}
		if p.disk, err = store.NewDisk(f, schema, memory.NewGoAllocator()); err != nil {
			return err
		}
		p.blocks = map[*block.Block]spilledBlock{}
	}
	stored, err := p.disk.Put(b.Record())
	if err != nil {
		return err
	}
	ghost := b.Replace(block.FromColumns(arrow.NewSchema(nil, nil), nil, b.NumRows()))
	p.blocks[b] = spilledBlock{stored, ghost}
	b.Release()
	return nil
}

// take forgets a spilled block; ok is false for one that is not on disk (its spilling failed, or the run was cancelled first).
func (s *stage) take(port int, it sched.Item) (at spilledBlock, ok bool) {
	if s.spills == nil {
		return at, false
	}
	b := it.Block.(*block.Block)
	p := &s.spills[port]
	p.mu.Lock()
	defer p.mu.Unlock()
	at, ok = p.blocks[b]
	delete(p.blocks, b)
	return at, ok
}

// load returns the block of an item of a task, reading it back if it was spilled.
func (w *worker) load(port int, it sched.Item) (*block.Block, error) {
	b := it.Block.(*block.Block)
	if !it.Spilled {
		return b, nil
	}
	at, ok := w.stage.take(port, it)
	if !ok {
		return b, nil
	}
	defer at.ghost.Release()
	defer at.stored.Release()
	rec, err := at.stored.Load(w.mem)
	if err != nil {
		return nil, fmt.Errorf("read spilled input of %s: %w", w.stage.Name, err)
	}
	return at.ghost.Replace(rec), nil
}

// drop gives back an item of a stage that nobody wants, in memory or on disk.
func (r *run) drop(stage sched.StageID, it sched.Item) {
	b, ok := it.Block.(*block.Block)
	if !ok {
		return
	}
	s := r.stages[stage]
	for port := range s.spills {
		if !it.Spilled {
			break
		}
		if at, onDisk := s.take(port, it); onDisk {
			at.stored.Release()
			at.ghost.Release()
			return
		}
	}
	b.Release()
}
