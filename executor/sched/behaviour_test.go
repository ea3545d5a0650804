package sched

import "testing"

// narrow is read, prepare, a model of one worker without CPU, and a costly step behind it, on one slot.
func narrow() Config {
	return Config{Slots: 1, BudgetBytes: 64 << 20, BlockBytes: 1 << 20, Stages: []Stage{
		{Name: "read", Source: true, MaxWorkers: 1},
		{Name: "prepare", Ports: []Port{{From: 0}}, MaxWorkers: 1, TaskBlocks: 1},
		{Name: "model", Ports: []Port{{From: 1}}, MaxWorkers: 1, TaskBlocks: 1, NoCPU: true},
		{Name: "write", Ports: []Port{{From: 2}}, MaxWorkers: 1, TaskBlocks: 1},
	}}
}

func TestBottleneckIsFedFirst(t *testing.T) {
	s := newScript(t, narrow())
	s.splits(0, 1)
	// Two blocks go through prepare at once; the model takes far longer for the first.
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(2, 100)})
	s.send(Event{Kind: EvTaskDone, Task: s.task(1), Items: items(1, 100)})
	s.send(Event{Kind: EvTaskDone, Task: s.task(1), Items: items(1, 100)})
	s.now += 1 << 30
	s.send(Event{Kind: EvTaskDone, Task: s.task(2), Items: items(1, 100)})
	write := s.must(FxStart, 3).Task
	var sn Snapshot
	s.m.Snapshot(&sn)
	if sn.Bottleneck != 2 {
		t.Fatalf("bottleneck is stage %d, want the model", sn.Bottleneck)
	}
	// While the writer has the slot, a second block comes for it, and a split for the reader.
	s.send(Event{Kind: EvTaskDone, Task: s.task(2), Items: items(1, 100)})
	s.splits(0, 1)
	s.send(Event{Kind: EvTaskDone, Task: write})
	if s.has(FxStart, 0) == nil || s.has(FxStart, 3) != nil {
		t.Fatalf("what feeds a starving bottleneck does not go before the writer: %+v", s.fx)
	}
}

func TestNearestToTheEndOtherwise(t *testing.T) {
	cfg := narrow()
	cfg.Stages[2].NoCPU = false // then no stage is narrower than the slots
	s := newScript(t, cfg)
	s.splits(0, 1)
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(6, 100)})
	s.send(Event{Kind: EvTaskDone, Task: s.task(1), Items: items(1, 100)})
	s.must(FxStart, 2)
	s.send(Event{Kind: EvTaskDone, Task: s.task(2), Items: items(1, 100)})
	s.must(FxStart, 3)
}

func TestPoolRampsAtOnce(t *testing.T) {
	cfg := chain(0)
	cfg.Slots = 8
	cfg.Stages[0].MaxWorkers = 1
	cfg.Stages[1].MaxWorkers = 8
	s := newScript(t, cfg)
	s.splits(0, 1)
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(16, 1000)})
	n, blocks := 0, 0
	for i := range s.fx {
		if f := &s.fx[i]; f.Kind == FxStart && f.Stage == 1 {
			n++
			blocks += len(f.Items)
			if len(f.Items) != 2 {
				t.Errorf("task %d takes %d of 16 blocks, eight workers could begin", n, len(f.Items))
			}
		}
	}
	if n != 8 || blocks != 16 {
		t.Errorf("%d tasks took %d blocks, want 8 and 16", n, blocks)
	}
}

func TestTasksCoalesceSmallBlocks(t *testing.T) {
	s := newScript(t, chain(0))
	s.splits(0, 1)
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(200, 100)})
	if f := s.must(FxStart, 1); len(f.Items) != 64 {
		t.Errorf("one worker takes %d of 200 small blocks, want 64", len(f.Items))
	}
	s = newScript(t, chain(0))
	s.splits(0, 1)
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(200, 100<<10)})
	if f := s.must(FxStart, 1); len(f.Items) != 2 {
		t.Errorf("a task takes %d blocks of 100 KiB, want those that fit a block of 256 KiB", len(f.Items))
	}
}

func TestLimitStopsSourcesInTheSameStep(t *testing.T) {
	s := newScript(t, chain(2))
	s.splits(0, 4)
	s.send(Event{Kind: EvTaskDone, Task: s.task(0), Items: items(8, 100)})
	first := s.task(1)
	s.send(Event{Kind: EvTaskDone, Task: first, Items: items(4, 100)})
	second := s.task(2)
	s.send(Event{Kind: EvTaskDone, Task: second, Items: items(1, 100), Stop: true})
	s.must(FxStopSource, 0)
	s.must(FxStopStage, 1)
	if f := s.must(FxDrop, 0); len(f.Items) == 0 {
		t.Error("the splits that nobody will read were not dropped")
	}
	if s.has(FxStart, 0) != nil || s.has(FxStart, 1) != nil {
		t.Errorf("stages before the limit start tasks: %+v", s.fx)
	}
	s.must(FxStart, 3) // what the limit passed on is still written
}

func TestDrainLetsThroughWhatWasRead(t *testing.T) {
	s := newScript(t, chain(0))
	s.splits(0, 4)
	s.send(Event{Kind: EvDrain})
	s.must(FxStopSource, 0)
	a, b := s.m.Tasks(nil)[0].Task, s.m.Tasks(nil)[1].Task
	s.send(Event{Kind: EvTaskDone, Task: a, Items: items(1, 100)})
	s.must(FxStart, 1)
	s.send(Event{Kind: EvTaskDone, Task: b})
	s.send(Event{Kind: EvListed, Stage: 0})
	for range 8 {
		for _, ti := range s.m.Tasks(nil) {
			s.send(Event{Kind: EvTaskDone, Task: ti.Task})
		}
	}
	if !s.m.Ended() {
		t.Error("a drained run did not end")
	}
}

func TestOrderedItemsWaitForOlderTasks(t *testing.T) {
	cfg := chain(0)
	cfg.Stages[0].Ordered = true
	s := newScript(t, cfg)
	s.splits(0, 2)
	infos := s.m.Tasks(nil)
	s.send(Event{Kind: EvEmit, Task: infos[1].Task, Items: items(1, 222)})
	if s.has(FxStart, 1) != nil {
		t.Fatal("an item of the second task passed the first")
	}
	s.send(Event{Kind: EvEmit, Task: infos[1].Task, Items: items(1, 300<<10)})
	if f := s.must(FxPark, 0); f.Reason.Policy != "order" || f.Reason.Have <= f.Reason.Need {
		t.Errorf("parked with %+v, want order and more bytes than may be buffered", f.Reason)
	}
	s.send(Event{Kind: EvEmit, Task: infos[0].Task, Items: items(1, 111)})
	if f := s.must(FxStart, 1); f.Items[0].Bytes != 111 {
		t.Errorf("the oldest task's item does not come first: %+v", f.Items)
	}
	s.send(Event{Kind: EvTaskDone, Task: infos[0].Task})
	if f := s.must(FxResume, 0); f.Task != infos[1].Task {
		t.Errorf("task %d was resumed, want the one that became the oldest", f.Task)
	}
}
