package sched

import (
	"strings"
	"testing"
)

// chain is a source, n operators and a sink of one worker each.
func chain(n int) Config {
	c := Config{Slots: 4, BudgetBytes: 64 << 20, BlockBytes: 256 << 10}
	c.Stages = append(c.Stages, Stage{Name: "read", Source: true, MaxWorkers: 2})
	for i := range n {
		c.Stages = append(c.Stages, Stage{Name: "op", Ports: []Port{{From: StageID(i)}}, MaxWorkers: 2})
	}
	c.Stages = append(c.Stages, Stage{Name: "write", Ports: []Port{{From: StageID(n)}}, MaxWorkers: 1})
	return c
}

// drive runs a machine with workers that take no time and pass on what they get; a reader gives perSplit blocks.
func drive(t *testing.T, m *Machine, splits, perSplit int) (delivered int) {
	t.Helper()
	var todo []Event
	listed := 0
	todo = append(todo, Event{Kind: EvStart})
	last := StageID(len(m.stages) - 1)
	now := int64(0)
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		now += 1000
		ev.Now = now
		for _, f := range m.Step(ev, nil) {
			switch f.Kind {
			case FxListMore:
				for range f.N {
					if listed < splits {
						todo = append(todo, Event{Kind: EvSplit, Stage: f.Stage, Item: Item{Bytes: 1 << 20}})
						if listed++; listed == splits {
							todo = append(todo, Event{Kind: EvListed, Stage: f.Stage})
						}
					}
				}
			case FxStart:
				done := Event{Kind: EvTaskDone, Task: f.Task, BusyNs: 100, Return: f.Bytes}
				switch {
				case f.TaskKind == TaskRead:
					for range perSplit {
						done.Items = append(done.Items, Item{Bytes: 1000, Rows: 10})
					}
				case f.TaskKind == TaskProcess && f.Stage != last:
					done.Items = append(done.Items, f.Items...)
				case f.TaskKind == TaskProcess:
					for _, it := range f.Items {
						delivered += int(it.Rows)
					}
				}
				todo = append(todo, done)
			}
		}
	}
	if err := m.Err(); err != nil {
		t.Fatal(err)
	}
	return delivered
}

func TestChainRunsToItsEnd(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		m, err := New(chain(n))
		if err != nil {
			t.Fatal(err)
		}
		if got := drive(t, m, 20, 7); got != 20*7*10 {
			t.Errorf("%d operators: %d rows arrived, want %d", n, got, 20*7*10)
		}
		if !m.Ended() {
			t.Errorf("%d operators: the run did not end", n)
		}
		if h := m.budget.Held(); h != 0 {
			t.Errorf("%d operators: %d bytes are held after the end", n, h)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	small := chain(2)
	small.BudgetBytes = 2 << 20
	late := chain(1)
	late.Stages[1].Ports[0].From = 2
	none := chain(1)
	none.Slots = 0
	fork := chain(1)
	fork.Stages[2].Ports = []Port{{From: 1}, {From: 0, Phase: 1}}
	for _, c := range []struct {
		name, want string
		cfg        Config
	}{
		{"budget", "4 stages need 2.0 MiB", small},
		{"later port", "not before it", late},
		{"no slots", "at least 1", none},
		{"no stage", "no stage", Config{Slots: 1}},
		{"fork", "must be spillable", fork},
	} {
		if c.name == "budget" {
			c.cfg.Stages[0].OffHeap = 1
		}
		if _, err := New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
