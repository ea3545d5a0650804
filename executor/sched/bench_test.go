package sched

import (
	"fmt"
	"testing"
)

// benchDriver is the cheapest driver there can be: every task ends at once and passes on what it got.
type benchDriver struct {
	m      *Machine
	out    []Effect
	todo   []Event
	items  []Item
	now    int64
	events int
	most   int // blocks that a reader gives at a time
	sink   StageID
	got    int
}

func (d *benchDriver) send(ev Event) {
	d.now += 100
	ev.Now = d.now
	d.events++
	d.out = d.m.Step(ev, d.out[:0])
	for i := range d.out {
		f := &d.out[i]
		switch f.Kind {
		case FxListMore:
			for range f.N {
				d.todo = append(d.todo, Event{Kind: EvSplit, Stage: f.Stage, Item: Item{Bytes: 1 << 16}})
			}
		case FxStart:
			d.todo = append(d.todo, Event{Kind: EvTaskDone, Task: f.Task, BusyNs: 1000, Return: f.Bytes, Stage: f.Stage, Items: d.give(f)})
		}
	}
}

func (d *benchDriver) give(f *Effect) []Item {
	if f.TaskKind == TaskRead {
		return d.items[:d.most]
	}
	if f.Stage == d.sink {
		d.got += len(f.Items)
		return nil
	}
	return f.Items // valid until the task is done, which is when they are handed on
}

func newBench(b testing.TB, stages, workers, most int, separate bool) *benchDriver {
	b.Helper()
	c := Config{Slots: 8, BudgetBytes: int64(stages) << 30, BlockBytes: 1 << 20, Separate: separate}
	c.Stages = append(c.Stages, Stage{Name: "read", Source: true, MaxWorkers: workers})
	for i := range stages - 1 {
		c.Stages = append(c.Stages, Stage{Name: fmt.Sprint("op", i), Ports: []Port{{From: StageID(i)}}, MaxWorkers: workers})
	}
	m, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	d := &benchDriver{m: m, items: make([]Item, most), most: most, sink: StageID(stages - 1)}
	for i := range d.items {
		d.items[i] = Item{Bytes: 1000, Rows: 10}
	}
	d.send(Event{Kind: EvStart})
	return d
}

// benchEvents runs a plan whose source never ends, and reports what one event costs.
func benchEvents(b *testing.B, d *benchDriver) {
	for range 2000 { // grow everything that grows
		d.step()
	}
	b.ReportAllocs()
	d.events, d.got = 0, 0
	for b.Loop() {
		d.step()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(d.events), "ns/event")
	if d.got > 0 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(d.got), "ns/block")
	}
	if err := d.m.Err(); err != nil {
		b.Fatal(err)
	}
}

// step sends one event; what it leads to is queued behind.
func (d *benchDriver) step() {
	if len(d.todo) == 0 {
		panic("the bench has stalled")
	}
	ev := d.todo[0]
	copy(d.todo, d.todo[1:])
	d.todo = d.todo[:len(d.todo)-1]
	d.send(ev)
}

// BenchmarkFiveStages passes blocks through a source and five stages that do nothing, without coalescing.
func BenchmarkFiveStages(b *testing.B) { benchEvents(b, newBench(b, 6, 2, 64, true)) }

// BenchmarkFiveStagesSingly has one block a task: the most events that a block can cost.
func BenchmarkFiveStagesSingly(b *testing.B) { benchEvents(b, newBench(b, 6, 2, 1, true)) }

// BenchmarkPlanSize shows that an event costs the same in a plan of 6 stages as in one of 100 with 5,000 workers.
func BenchmarkPlanSize(b *testing.B) {
	for _, c := range []struct{ stages, workers int }{{6, 2}, {25, 50}, {100, 50}} {
		b.Run(fmt.Sprintf("stages=%d/workers=%d", c.stages, c.stages*c.workers), func(b *testing.B) {
			benchEvents(b, newBench(b, c.stages, c.workers, 8, false))
		})
	}
}

// TestStepDoesNotAllocate runs the machine until everything has grown and then counts.
func TestStepDoesNotAllocate(t *testing.T) {
	for _, separate := range []bool{false, true} {
		d := newBench(t, 6, 3, 16, separate)
		for range 20_000 {
			d.step()
		}
		if n := testing.AllocsPerRun(20_000, d.step); n > 0 {
			t.Errorf("separate %v: %.2f allocations an event", separate, n)
		}
		if d.got == 0 || d.m.Err() != nil {
			t.Errorf("separate %v: %d blocks arrived, error %v", separate, d.got, d.m.Err())
		}
	}
}
