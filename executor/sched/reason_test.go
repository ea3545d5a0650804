package sched

import "testing"

// TestWhy brings stages into every kind of wait and reads what they say.
func TestWhy(t *testing.T) {
	for _, c := range []struct {
		name  string
		stage StageID
		do    func(s *script)
		want  Reason
	}{
		{"nothing listed", 0, func(*script) {}, Reason{Policy: "input", Need: 1, Unit: "blocks"}},
		{"no input", 1, func(*script) {}, Reason{Policy: "input", Need: 1, Unit: "blocks"}},
		{"all workers", 0, func(s *script) { s.splits(0, 3) }, Reason{Policy: "workers", Have: 2, Need: 3, Unit: "workers"}},
		{"blocking", 0, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvBlock, Task: s.task(0), Reason: "a lock"})
			s.send(Event{Kind: EvTimer})
		}, Reason{Policy: "blocking", Stage: "a lock", Have: 1000, Unit: "ns"}},
		{"retry", 0, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvRetry, Task: s.task(0), Bytes: 5000})
		}, Reason{Policy: "retry", Have: 3000, Need: 8000, Unit: "ns"}},
		{"calls", 1, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(1, 10)})
			s.send(Event{Kind: EvAsyncStart, Stage: 1})
			s.send(Event{Kind: EvAsyncFull, Task: s.task(1)})
		}, Reason{Policy: "async", Have: 1, Unit: "calls"}},
		{"calls in flight after the task", 1, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(1, 10)})
			s.send(Event{Kind: EvAsyncStart, Stage: 1})
			s.send(Event{Kind: EvTaskDone, Task: s.task(1)})
		}, Reason{Policy: "async", Have: 1, Unit: "calls"}},
		{"output", 0, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(9, 300<<10)})
		}, Reason{Policy: "output", Stage: "op", Have: 7 * 300 << 10, Need: 1 << 20, Unit: "bytes"}},
		{"memory", 0, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(1, 10)})
			s.send(Event{Kind: EvMemory, Task: s.task(0), Bytes: 16 << 20})
			s.send(Event{Kind: EvMemory, Task: s.task(0), Bytes: 16 << 20})
		}, Reason{Policy: "memory", Need: 16 << 20, Unit: "bytes"}},
		{"cancelled", 0, func(s *script) {
			s.splits(0, 1)
			s.send(Event{Kind: EvCancel})
		}, Reason{Policy: "cancelled", Have: 1, Unit: "tasks"}},
		{"stopped, still listing", 0, func(s *script) { s.send(Event{Kind: EvDrain}) }, Reason{Policy: "listing", Unit: "splits"}},
		{"out of range", 99, func(*script) {}, Reason{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, chain(1))
			c.do(s)
			got := s.m.Why(c.stage)
			if c.name == "memory" { // how much there is depends on what was predicted; that it is less than needed does not
				if got.Policy != "memory" || got.Need != c.want.Need || got.Have >= got.Need {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestPhaseReasonNamesWhatItWaitsFor(t *testing.T) {
	cfg := chain(0)
	cfg.Stages = []Stage{{Name: "build", Source: true}, {Name: "probe", Source: true},
		{Name: "join", Ports: []Port{{From: 0}, {From: 1, Phase: 1}}, MaxWorkers: 1}}
	s := newScript(t, cfg)
	s.splits(1, 1)
	s.send(Event{Kind: EvEmit, Task: s.task(1), Items: items(3, 10)})
	if got := s.m.Why(2); got != (Reason{Policy: "phase", Stage: "build", Have: 3, Unit: "blocks"}) {
		t.Errorf("got %+v", got)
	}
	s.send(Event{Kind: EvListed, Stage: 0})
	s.send(Event{Kind: EvTaskDone, Task: s.task(0)}) // its flush
	if f := s.must(FxStart, 2); f.Port != 1 || len(f.Items) != 3 {
		t.Errorf("the second phase does not begin: %+v", f)
	}
}

func TestSnapshotCountsWaits(t *testing.T) {
	s := newScript(t, chain(1))
	s.splits(0, 1)
	s.send(Event{Kind: EvEmit, Task: s.task(0), Items: items(9, 300<<10)})
	s.now += 9000
	s.send(Event{Kind: EvTimer})
	var sn Snapshot
	s.m.Snapshot(&sn)
	for _, w := range sn.Stages[0].Waits {
		if want := map[string]int64{"output": 10000}[w.Policy]; w.TaskNs != want || (w.Tasks == 1) != (want > 0) {
			t.Errorf("%s: %d tasks waited %d ns, want %d", w.Policy, w.Tasks, w.TaskNs, want)
		}
	}
	if sn.Stages[1].Running != 2 || sn.Stages[1].QueuedItems != 7 || sn.Stalled || sn.SlotsBusy != 2 {
		t.Errorf("%+v", sn.Stages[1])
	}
	n := testing.AllocsPerRun(10, func() { s.m.Snapshot(&sn) })
	if n > 0 {
		t.Errorf("a snapshot allocates %.0f times", n)
	}
}

func TestMisuseIsReportedAndIgnored(t *testing.T) {
	for name, evs := range map[string][]Event{
		"before the start":  {{Kind: EvSplit}},
		"unknown task":      {{Kind: EvStart}, {Kind: EvEmit, Task: 7}},
		"unknown stage":     {{Kind: EvStart}, {Kind: EvFreed, Stage: 9}},
		"split of a stage":  {{Kind: EvStart}, {Kind: EvSplit, Stage: 1}},
		"done twice":        {{Kind: EvStart}, {Kind: EvSplit}, {Kind: EvTaskDone}, {Kind: EvTaskDone}},
		"emit while parked": {{Kind: EvStart}, {Kind: EvSplit}, {Kind: EvRetry, Bytes: 9}, {Kind: EvEmit}},
		"second start":      {{Kind: EvStart}, {Kind: EvStart}},
		"not spilling":      {{Kind: EvStart}, {Kind: EvSpilled, Stage: 1}},
		"not blocked":       {{Kind: EvStart}, {Kind: EvSplit}, {Kind: EvUnblock}},
		"no such call":      {{Kind: EvStart}, {Kind: EvSplit}, {Kind: EvAsyncReady}},
		"no such kind":      {{Kind: EvStart}, {Kind: EvSplit}, {Kind: 200}},
	} {
		m, err := New(chain(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs {
			m.Step(ev, nil)
		}
		if m.Err() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
