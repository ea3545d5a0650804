package executor

import (
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Watcher gives a look at a run while it goes on.
type Watcher interface {
	// Snapshot returns what the run did so far.
	Snapshot() dataset.Report
	// Done is closed when the run has ended.
	Done() <-chan struct{}
	// OffHeapBytes is how much of the budget is set aside for memory outside of Go's heap: models in this process, child processes.
	OffHeapBytes() int64
}

// OffHeapBytes implements Watcher.
func (r *run) OffHeapBytes() int64 {
	n := int64(0)
	for _, s := range r.stages {
		n += s.Sched.OffHeap * int64(max(1, s.Sched.MinWorkers))
	}
	return n
}

// Snapshot implements Watcher.
func (r *run) Snapshot() dataset.Report {
	now := r.clock()
	rep := dataset.Report{
		Wall: now, PeakBytes: r.peak.Load(), BudgetBytes: r.cfg.MemoryBytes,
		SpilledBytes: r.scratch.spilled(), RowsFailed: r.failures.total.Load(),
	}
	for _, s := range r.stages {
		rep.Stages = append(rep.Stages, s.report())
		switch {
		case s.Source != nil:
			rep.RowsRead += s.count.rowsOut.Load()
			rep.BytesRead += s.count.bytesOut.Load()
		case s.Sink != nil || s.Yield:
			rep.RowsWritten += s.count.rowsIn.Load()
		}
	}
	rep.Failures, rep.Warnings = r.failures.report()
	r.observe(&rep)
	r.watch.rates.fill(&rep, now)
	return rep
}

// Done implements Watcher.
func (r *run) Done() <-chan struct{} { return r.done }

// fillReport completes the plan's report.
func (r *run) fillReport() {
	r.watch.end(r.clock())
	rep, old := r.Snapshot(), r.plan.Report
	rep.Run, rep.Targets, rep.Notes, rep.Complete, rep.BytesWritten = old.Run, old.Targets, old.Notes, old.Complete, old.BytesWritten
	if r.retry != nil { // the sink was also given siblings of failed rows, which are in the result already
		rep.RowsWritten = 0
		for _, t := range rep.Targets {
			rep.RowsWritten += t.Rows
		}
	}
	*old = rep
}

// noteRead counts a block of a reader.
func (r *run) noteRead(b *block.Block) { r.read.Add(int64(b.NumRows())) }
