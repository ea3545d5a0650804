package executor

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// BenchmarkAccounting is what counting costs a block and stage when every task has one block, the dearest case: clock reads at the ends of the task and of the block, counters in
// and out, the histogram, memory peaks of a plan of five stages, labels of a step behind another, and the note of when something moved.
func BenchmarkAccounting(b *testing.B) {
	r := &run{start: time.Now()}
	for i := range 5 {
		s := &stage{PhysicalStage: &PhysicalStage{Name: "stage"}, id: sched.StageID(i), run: r}
		s.memory = &stageMemory{run: r, stage: s}
		r.stages = append(r.stages, s)
	}
	s := r.stages[2]
	w := &worker{stage: s, run: r}
	w.relabel(s.stageLabels())
	op, t, ev := &chainOp{name: "second", labels: s.labelsOf("second")}, &task{}, &sched.Event{Kind: sched.EvTaskDone}
	blk := block.New(block.FromColumns(intSchema, newSame(1, 1).rec.Columns(), 1), block.Identity{})
	defer blk.Release()
	b.ReportAllocs()
	for b.Loop() {
		t.begun, t.waited = time.Now(), 0
		mark := w.mark(t)
		s.count.in(1, 8)
		w.note(blk)
		was := w.label(op)
		w.relabel(was)
		w.took(t, mark)
		s.count.out(1, 8)
		s.count.busy.Add(int64(time.Since(t.begun) - t.waited))
		r.notePeak()
		ev.Now = int64(time.Since(r.start))
		r.watch.saw(ev)
	}
}

// BenchmarkLook is what a look at a run costs, of which the display takes five a second.
func BenchmarkLook(b *testing.B) {
	l, ch := watched(b, 2)
	done, goOn := make(chan error, 1), make(chan struct{})
	hold := &step{name: "hold", inst: dataset.One, process: func(_ dataset.Runtime, _ int, blk *block.Block, emit dataset.Emit) error {
		<-goOn
		return emit(blk.Retain())
	}}
	d := dataset.From(&ints{files: 3, perFile: 1000, perBlock: 100}, l).Via(pass("a")).Via(hold).Via(pass("b"))
	var opts dataset.Options
	opts.Batch.NoFuse = true
	go func() {
		_, err := d.Count(context.Background(), opts)
		done <- err
	}()
	w := <-ch
	b.ReportAllocs()
	for b.Loop() {
		w.Snapshot()
	}
	close(goOn)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
