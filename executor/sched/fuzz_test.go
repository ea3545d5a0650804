package sched

import "testing"

// FuzzStep sends events that make no sense in orders that make none. Nothing panics, and the hard limits hold: slots and the budget.
func FuzzStep(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 5, 1, 0, 7, 3, 0, 1, 4, 0, 2, 4, 1, 3})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 1, 0, 0, 2, 0, 0, 5, 0, 200, 17, 0, 0})
	f.Add([]byte{0, 0, 0, 1, 0, 9, 3, 0, 9, 10, 1, 0, 12, 1, 0, 13, 1, 2, 7, 1, 0, 8, 1, 0, 15, 0, 3, 16, 0, 0, 4, 0, 0})
	f.Fuzz(fuzzOne)
}

func fuzzOne(t *testing.T, data []byte) {
	cfg := chain(2)
	cfg.Slots = 2
	cfg.BudgetBytes = 4 << 20
	cfg.Stages[1].Ordered = true
	cfg.Stages[2].NoCPU = true
	cfg.Stages[2].Barrier = true
	cfg.Stages[2].OffHeap = 1000
	cfg.Stages[3].Ports = []Port{{From: 2}, {From: 1, Phase: 1, Spillable: true}}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var out []Effect
	var sn Snapshot
	for len(data) >= 3 {
		kind, who, n := EventKind(data[0]%21), int(data[1]), int64(data[2])
		data = data[3:]
		ev := Event{Kind: kind, Now: n * 1000, Stage: StageID(who%6 - 1), Worker: WorkerID(who%5 - 1), Task: TaskID(who%9 - 1), Port: who % 3,
			N: int(n) - 3, Bytes: (n - 4) << (who % 20), Return: (n - 2) << (who % 18), BusyNs: n - 1, Stop: n%16 == 0, Try: n%2 == 0,
			Item: Item{Bytes: n << 8}}
		for range who % 4 {
			ev.Items = append(ev.Items, Item{Bytes: n<<12 - 5, Rows: n})
		}
		out = m.Step(ev, out[:0])
		if m.slotsBusy > cfg.Slots || m.slotsBusy < 0 {
			t.Fatalf("%d slots are busy of %d", m.slotsBusy, cfg.Slots)
		}
		if h := m.budget.Held(); h > cfg.BudgetBytes || h < 0 {
			t.Fatalf("%d bytes are granted of %d", h, cfg.BudgetBytes)
		}
		m.Snapshot(&sn)
		m.Tasks(nil)
	}
}
