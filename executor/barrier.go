package executor

import (
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// merge runs the second half of a barrier's first phase: the states of all workers become partitions.
func (w *worker) merge() error {
	s := w.stage
	spec := s.Ops[0].Spec.(dataset.Barrier)
	var states []any
	w.run.mu.Lock()
	workers := append([]*worker(nil), s.workers...)
	w.run.mu.Unlock()
	for _, other := range workers {
		if other != nil && len(other.ops) > 0 {
			states = append(states, other.ops[0].op.(dataset.BarrierOperator).State())
		}
	}
	parts, err := spec.Merge(w.run.ctx, &opRuntime{worker: w, op: w.ops[0]}, s.In, states)
	if err != nil {
		return err
	}
	s.partitions = parts
	return nil
}

// partition runs partition n of a barrier's second phase.
func (w *worker) partition(n int) error {
	p := w.stage.partitions[n]
	w.part = partIdentity{active: true, file: &block.File{Source: w.stage.Origin, Ordinal: uint64(n), Path: w.stage.Name}}
	return p.Run(w.run.ctx, &opRuntime{worker: w, op: w.ops[0]}, w.ops[0].emit)
}

// closePartitions returns the partitions that this worker has to close: the last worker of a barrier closes all.
func (w *worker) closePartitions() []dataset.Partition {
	s := w.stage
	if !s.Sched.Barrier {
		return nil
	}
	s.run.mu.Lock()
	defer s.run.mu.Unlock()
	s.workers[w.id] = nil
	for _, o := range s.workers {
		if o != nil {
			return nil
		}
	}
	parts := s.partitions
	s.partitions = nil
	return parts
}

// barrierSource marks the source numbers of barrier outputs in identities: they are no source of the plan.
const barrierSource = 1 << 31

// partIdentity names the rows that a partition emits: (barrier, partition, ordinal).
type partIdentity struct {
	active bool
	file   *block.File
	next   uint64
}

func (p *partIdentity) name(r *run, s *stage, b *block.Block) *block.Block {
	n := uint64(b.NumRows())
	tok := r.newToken(s, []block.Range{{File: p.file, First: p.next, End: p.next + n}})
	named := b.WithIdentity(block.FromRuns(block.Run{File: p.file, Token: tok, First: p.next, N: uint32(n), Stride: 1}))
	b.Release()
	p.next += n
	tok.Settle()
	return named
}
