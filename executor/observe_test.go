package executor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/sched"
)

// watched makes a Local that hands its run to the test.
func watched(t testing.TB, parallel int) (*Local, <-chan Watcher) {
	t.Helper()
	ch := make(chan Watcher, 1)
	l, err := New(Config{MemoryBytes: 64 << 20, Parallel: parallel, TempDir: t.TempDir(), Watch: func(w Watcher) { ch <- w }})
	if err != nil {
		t.Fatal(err)
	}
	return l, ch
}

// TestSnapshotOfAStandstill holds a run in the middle of a step and looks.
func TestSnapshotOfAStandstill(t *testing.T) {
	l, ch := watched(t, 1)
	at, goOn := make(chan struct{}), make(chan struct{})
	first := true
	hold := &step{name: "hold", inst: dataset.One, process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		if first {
			first = false
			close(at)
			<-goOn
		}
		return emit(b.Retain())
	}}
	d := dataset.From(&ints{files: 3, perFile: 1000, perBlock: 100}, l).Via(hold)
	opts := dataset.Options{}
	opts.Batch.NoFuse = true
	done := make(chan error, 1)
	p, err := dataset.NewPlan(opts, d.To(nil))
	if err != nil {
		t.Fatal(err)
	}
	go func() { done <- dataset.Drain(t.Context(), l, p) }()
	<-at
	w := <-ch
	r := w.Snapshot()
	if r.State != dataset.RunRunning || r.Slots != 1 || r.SlotsBusy != 1 || r.BudgetBytes != 64<<20 {
		t.Errorf("the run is %+v", r.Progress)
	}
	st := r.Stages[1]
	if st.Name != "hold" || st.Running != 1 || st.Allowed != 1 || st.RowsIn == 0 || st.State != "open" {
		t.Errorf("the stage is %+v", st)
	}
	if src := r.Stages[0]; src.Out.Rows <= 0 || src.Why.String() == "" || src.P99 <= 0 {
		t.Errorf("the source is %+v, waits: %s", src, src.Why)
	}
	for begun := time.Now(); r.Bottleneck.Stage != "hold" && time.Since(begun) < 10*time.Second; {
		r = w.Snapshot() // its task outgrows what the source took
	}
	if r.Bottleneck.Stage != "hold" || !strings.Contains(r.Bottleneck.Why, "1 of 1") {
		t.Errorf("the bottleneck is %+v", r.Bottleneck)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	r = *p.Report
	if r.State != dataset.RunEnded || r.Input.ReadBytes != r.Input.ListedBytes || r.Input.ListedBytes != 3*8000 || !r.Input.Listed || r.Input.Left != 0 {
		t.Errorf("the run ended as %+v", r.Progress)
	}
	for _, st := range r.Stages {
		sum := st.Working
		for _, d := range st.Idle {
			sum += d
		}
		if st.State != "ended" || sum <= 0 || sum > r.Wall+time.Millisecond || st.QueuedBytes != 0 || st.HeldBytes != 0 {
			t.Errorf("stage %s: %s, accounted for %s of %s, queued %d, held %d", st.Name, st.State, sum, r.Wall, st.QueuedBytes, st.HeldBytes)
		}
	}
	if again := w.Snapshot(); again.Wall != r.Wall {
		t.Errorf("the clock of an ended run goes on: %s, then %s", r.Wall, again.Wall)
	}
}

func TestRatesAreOfTheLastSeconds(t *testing.T) {
	var s rates
	rep := dataset.Report{Stages: make([]dataset.StageReport, 1)}
	rep.Input = dataset.InputProgress{ListedBytes: 1000, Listed: true}
	for sec := 1; sec <= 40; sec++ { // 10 rows a second, and 20 from second 20 on
		st := &rep.Stages[0]
		st.RowsIn = int64(10*sec + 10*max(0, sec-20))
		rep.Input.ReadBytes = int64(10 * sec)
		s.fill(&rep, time.Duration(sec)*time.Second)
	}
	if got := rep.Stages[0].In.Rows; got != 20 {
		t.Errorf("%v rows a second, want 20", got)
	}
	if rep.Input.Left != 60*time.Second {
		t.Errorf("%s left, want 1m", rep.Input.Left)
	}
	if n := len(s.samples); n > 35 {
		t.Errorf("%d samples are kept", n)
	}
	rep.State = dataset.RunEnded
	if s.fill(&rep, 40*time.Second); rep.Stages[0].In.Rows != 15 {
		t.Errorf("in the end %v rows a second, want 15", rep.Stages[0].In.Rows)
	}
	rep.Input.Listed = false
	if s.fill(&rep, 41*time.Second); rep.Input.Left >= 0 {
		t.Errorf("%s left while files are still being listed", rep.Input.Left)
	}
}

// BenchmarkAccounting is everything that looking at a run costs for one block in one stage, clock reads included, in the dearest case: each task has one block, and the stage a
// second step, whose labels are set and taken back.
func BenchmarkAccounting(b *testing.B) {
	l := newLocal(b, 64<<20, 1)
	r := &run{start: time.Now(), cfg: l.cfg}
	for i := range 5 {
		s := &stage{run: r, PhysicalStage: &PhysicalStage{}, id: sched.StageID(i)}
		s.memory = &stageMemory{run: r, stage: s}
		r.stages = append(r.stages, s)
	}
	s := r.stages[2]
	w := &worker{stage: s, run: r}
	w.relabel(s.stageLabels())
	second := &chainOp{name: "second", labels: s.labelsOf("second")}
	t := &task{}
	ev := sched.Event{Kind: sched.EvEmit}
	blk := dataset.FailedRow(nil, 0)
	defer blk.Release()
	b.ReportAllocs()
	for b.Loop() {
		t.begun, t.waited = time.Now(), 0
		mark := w.mark(t)
		s.count.in(1000, 8000)
		w.note(blk)
		w.relabel(w.label(second))
		s.memory.total.Add(8000)
		mark = w.took(t, mark)
		s.count.out(1000, 8000)
		s.count.busy.Add(int64(time.Since(t.begun) - t.waited))
		r.notePeak()
		ev.Now = int64(mark)
		r.watch.saw(&ev)
		r.watch.moved.Store(ev.Now)
	}
}

// BenchmarkSnapshot is a look at a run of six stages.
func BenchmarkSnapshot(b *testing.B) {
	l, ch := watched(b, 1)
	at, goOn := make(chan struct{}), make(chan struct{})
	d := dataset.From(&ints{files: 3, perFile: 1000, perBlock: 100}, l)
	for range 4 {
		d = d.Via(pass("pass"))
	}
	d = d.Via(&step{name: "hold", process: func(_ dataset.Runtime, _ int, b *block.Block, _ dataset.Emit) error {
		select {
		case at <- struct{}{}:
		case <-goOn:
		}
		<-goOn
		return nil
	}})
	opts := dataset.Options{}
	opts.Batch.NoFuse = true
	done := make(chan error, 1)
	go func() { _, err := d.Count(context.Background(), opts); done <- err }()
	<-at
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
