package sched

import (
	"strings"
	"testing"
)

// tight is a source and two stages of two workers with 8 MiB: 2 MiB overdraft, 1 MiB reserved for each, 3 MiB shared.
func tight() Config {
	return Config{Slots: 8, BudgetBytes: 8 << 20, BlockBytes: 256 << 10, Stages: []Stage{
		{Name: "read", Source: true, MaxWorkers: 2},
		{Name: "work", Ports: []Port{{From: 0}}, MaxWorkers: 2},
		{Name: "write", Ports: []Port{{From: 1}}, MaxWorkers: 2},
	}}
}

// fill lets a reader take everything but the reservations of the others and the overdraft.
func fill(t *testing.T) (s *script, reader TaskID) {
	t.Helper()
	s = newScript(t, tight())
	s.splits(0, 1)
	reader = s.task(0)
	for _, n := range []int64{2 << 20, 2<<20 - 256<<10} {
		s.send(Event{Kind: EvMemory, Task: reader, Bytes: n})
		s.must(FxGrant, 0)
	}
	return s, reader
}

func TestReservationsStay(t *testing.T) {
	s, reader := fill(t)
	s.send(Event{Kind: EvEmit, Task: reader, Items: items(1, 1000)})
	f := s.must(FxStart, 1)
	s.send(Event{Kind: EvMemory, Task: f.Task, Bytes: 1<<20 - f.Bytes})
	s.must(FxGrant, 1)
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 1000, Try: true})
	if f := s.must(FxDeny, 0); f.Bytes < 8<<20 || s.has(FxPark, 0) != nil {
		t.Errorf("a request that does not wait is answered by %+v", s.fx)
	}
}

func TestOverdraftGoesToWhatIsNearestToTheEnd(t *testing.T) {
	s, reader := fill(t)
	s.send(Event{Kind: EvEmit, Task: reader, Items: items(1, 1000)})
	work := s.must(FxStart, 1)
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 1 << 20})
	if f := s.must(FxPark, 0); f.Reason.Policy != "memory" || f.Reason.Need != 1<<20 || f.Reason.Have != 0 {
		t.Errorf("parked with %+v", f.Reason)
	}
	if s.has(FxGrant, 0) != nil {
		t.Fatal("the overdraft was drawn on although a task runs")
	}
	s.send(Event{Kind: EvMemory, Task: work.Task, Bytes: 2 << 20})
	if f := s.must(FxGrant, 1); f.Bytes != 2<<20 {
		t.Errorf("granted %d", f.Bytes)
	}
	s.must(FxResume, 1)
	if s.has(FxGrant, 0) != nil {
		t.Error("the overdraft was given out twice")
	}
	// The task ends and returns everything: now the reader can have its memory.
	s.send(Event{Kind: EvTaskDone, Task: work.Task, Return: work.Bytes + 2<<20})
	s.must(FxGrant, 0)
	s.must(FxResume, 0)
}

func TestRequestsThatCanNeverBeHadAreDenied(t *testing.T) {
	s, reader := fill(t)
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 2<<20 + 1})
	if f := s.must(FxDeny, 0); f.Bytes != 8<<20+4 || s.has(FxPark, 0) != nil {
		t.Errorf("above a quarter of the budget: %+v", s.fx)
	}
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 2 << 20})
	s.must(FxGrant, 0) // the overdraft
	s.send(Event{Kind: EvListed, Stage: 0})
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 1 << 20})
	f := s.must(FxDeny, 0)
	s.must(FxResume, 0)

	// With the budget that was named it works.
	cfg := tight()
	cfg.BudgetBytes = f.Bytes
	r := newScript(t, cfg)
	r.splits(0, 1)
	r.send(Event{Kind: EvListed, Stage: 0})
	reader = r.task(0)
	for _, n := range []int64{2 << 20, 2<<20 - 256<<10, 2 << 20, 1 << 20} {
		r.send(Event{Kind: EvMemory, Task: reader, Bytes: n})
		r.must(FxGrant, 0)
	}
}

func TestSpillBeforeDenial(t *testing.T) {
	cfg := tight()
	cfg.Stages[2].Ports[0].Spillable = true
	cfg.Stages[2].MaxWorkers = 1
	s := newScript(t, cfg)
	s.splits(0, 1)
	reader := s.task(0)
	s.send(Event{Kind: EvListed, Stage: 0})
	s.send(Event{Kind: EvEmit, Task: reader, Items: items(1, 1000)})
	work := s.must(FxStart, 1).Task
	s.send(Event{Kind: EvMemory, Task: work, Bytes: 2 << 20})
	s.send(Event{Kind: EvMemory, Task: work, Bytes: 2<<20 - 256<<10})
	s.send(Event{Kind: EvEmit, Task: work, Items: items(2, 900<<10)})
	write := s.must(FxStart, 2).Task
	s.send(Event{Kind: EvMemory, Task: work, Bytes: 1 << 20})
	s.send(Event{Kind: EvMemory, Task: reader, Bytes: 2 << 20})
	s.send(Event{Kind: EvEmit, Task: write, Items: items(1, 1)})
	s.must(FxDrop, 2)
	s.send(Event{Kind: EvMemory, Task: write, Bytes: 2 << 20})
	if f := s.has(FxGrant, 2); f == nil && s.has(FxPark, 2) == nil {
		t.Fatalf("the writer is neither granted nor parked: %+v", s.fx)
	}
	if s.has(FxDeny, 2) != nil || s.has(FxDeny, 1) != nil {
		t.Fatalf("denied before anything was spilled: %+v", s.fx)
	}
}

func TestWorkersReserveTheirOffHeap(t *testing.T) {
	cfg := tight()
	cfg.BudgetBytes = 16 << 20
	cfg.Stages[1].OffHeap = 6 << 20
	s := newScript(t, cfg)
	s.splits(0, 1)
	s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(4, 1000)})
	n := 0
	for i := range s.fx {
		if s.fx[i].Kind == FxStart && s.fx[i].Stage == 1 {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d workers of 6 MiB each were opened within 16 MiB", n)
	}
	if held := s.m.budget.HeldBy(1); held < 6<<20 {
		t.Errorf("the stage holds %d bytes, its worker alone 6 MiB", held)
	}
	if why := s.m.Why(1); why.Policy != "memory" && why.Policy != "input" {
		t.Errorf("a second worker waits for %+v", why)
	}
	cfg.BudgetBytes = 7 << 20
	if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "off-heap") {
		t.Errorf("a budget that cannot hold the worker: %v", err)
	}
}
