package backpressure

import "testing"

// free is a stage that nothing holds.
func free() Snapshot {
	return Snapshot{Items: 3, MaxWorkers: 2, BufferRoom: 10, MostPending: 8, Need: 5, Room: 10, LeastToBegin: 2, Slots: 1}
}

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Snapshot)
		want   Reason // the zero Reason: it goes
	}{
		{"free", func(*Snapshot) {}, Reason{}},
		{"no input", func(s *Snapshot) { s.Items = 0 }, Reason{Policy: Input, Need: 1, Unit: "blocks"}},
		{"late port", func(s *Snapshot) { s.Items, s.WaitingItems, s.PhaseStage = 0, 7, "a" }, Reason{Policy: Phase, Stage: "a", Have: 7, Unit: "blocks"}},
		{"input besides a late port", func(s *Snapshot) { s.WaitingItems = 7 }, Reason{}},
		{"workers", func(s *Snapshot) { s.Busy = 2 }, Reason{Policy: Workers, Have: 2, Need: 3, Unit: "workers"}},
		{"output", func(s *Snapshot) { s.FullEdges, s.FullStage, s.EdgeBytes, s.EdgeRoom = 1, "b", 9, 8 },
			Reason{Policy: Output, Stage: "b", Have: 9, Need: 8, Unit: "bytes"}},
		{"reorder bytes", func(s *Snapshot) { s.Ordered, s.Pending, s.Buffered = true, 1, 11 }, Reason{Policy: Order, Have: 11, Need: 10, Unit: "bytes"}},
		{"reorder tasks", func(s *Snapshot) { s.Ordered, s.Pending = true, 8 }, Reason{Policy: Order, Have: 8, Need: 8, Unit: "tasks"}},
		{"reorder, nothing pending", func(s *Snapshot) { s.Ordered, s.Buffered = true, 11 }, Reason{}},
		{"not ordered", func(s *Snapshot) { s.Pending, s.Buffered = 8, 11 }, Reason{}},
		{"memory", func(s *Snapshot) { s.Room, s.Active = 4, 1 }, Reason{Policy: Memory, Have: 4, Need: 5, Unit: "bytes"}},
		{"less memory, nothing else to do", func(s *Snapshot) { s.Room = 2 }, Reason{}},
		{"too little memory", func(s *Snapshot) { s.Room = 1 }, Reason{Policy: Memory, Have: 1, Need: 5, Unit: "bytes"}},
		{"too little memory, forced", func(s *Snapshot) { s.Room, s.Forced = 1, true }, Reason{}},
		{"slots", func(s *Snapshot) { s.SlotsBusy = 1 }, Reason{Policy: Slot, Have: 1, Need: 2, Unit: "slots"}},
		{"no CPU needed", func(s *Snapshot) { s.SlotsBusy, s.NoCPU = 1, true }, Reason{}},
		{"everything: the first reason is given", func(s *Snapshot) { *s = Snapshot{FullEdges: 1} }, Reason{Policy: Input, Need: 1, Unit: "blocks"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := free()
			c.change(&s)
			v := Start.Decide(&s)
			if v.Reason != c.want || v.Go != (c.want == Reason{}) {
				t.Errorf("got %+v, want reason %+v", v, c.want)
			}
			if (Start.Held(&s) < 0) != v.Go {
				t.Error("Held and Decide differ")
			}
		})
	}
}

func TestHungry(t *testing.T) {
	narrow := Bottleneck{Width: 2, Slots: 4, Queued: 3}
	if !Hungry(narrow) {
		t.Error("a narrow stage with less than two blocks a worker is hungry")
	}
	for name, b := range map[string]Bottleneck{
		"fed":      {Width: 2, Slots: 4, Queued: 4},
		"wide":     {Width: 4, Slots: 4},
		"held":     {Width: 2, Slots: 4, FullEdges: 1},
		"fed wide": {NoCPU: true, Width: 9, Slots: 4, Queued: 18},
	} {
		if Hungry(b) {
			t.Errorf("%s: %+v is not hungry", name, b)
		}
	}
	if !Hungry(Bottleneck{NoCPU: true, Width: 9, Slots: 4, Queued: 17}) {
		t.Error("a stage that needs no slot is limited by its workers")
	}
}

func TestShareAndRoom(t *testing.T) {
	for _, c := range [][4]int64{{10, 3, 64, 4}, {10, 1, 64, 10}, {100, 1, 64, 64}, {0, 3, 64, 1}, {5, 0, 3, 3}, {1, 8, 64, 1}} {
		if got := Share(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("Share(%d, %d, %d) = %d, want %d", c[0], c[1], c[2], got, c[3])
		}
	}
	for _, c := range []struct {
		items, bytes, room int64
		want               bool
	}{{2, 1000, 10, false}, {3, 1000, 10, true}, {3, 10, 10, false}, {1000, 11, 10, true}} {
		if got := EdgeFull(c.items, c.bytes, c.room); got != c.want {
			t.Errorf("EdgeFull(%d, %d, %d) = %v", c.items, c.bytes, c.room, got)
		}
	}
	if EdgeRoom(10, 1) != 40 || EdgeRoom(10, 8) != 100 {
		t.Error("an edge has room for four blocks, or one a worker and two")
	}
	if (Load{Ns: 10, Width: 0}).PerWorker() != 10 || (Load{Ns: 10, Width: 5}).PerWorker() != 2 {
		t.Error("load is counted per worker")
	}
}
