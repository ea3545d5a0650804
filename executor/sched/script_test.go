package sched

import (
	"slices"
	"testing"
)

// script drives a machine by hand, event by event.
type script struct {
	t   *testing.T
	m   *Machine
	now int64
	fx  []Effect
}

func newScript(t *testing.T, cfg Config) *script {
	t.Helper()
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, m: m}
	s.send(Event{Kind: EvStart})
	return s
}

// send sends an event a microsecond later and keeps the effects.
func (s *script) send(ev Event) []Effect {
	s.t.Helper()
	s.now += 1000
	ev.Now = s.now
	s.fx = s.m.Step(ev, nil)
	if err := s.m.Err(); err != nil {
		s.t.Fatal(err)
	}
	return s.fx
}

// splits lists n splits of a source.
func (s *script) splits(stage StageID, n int) {
	s.t.Helper()
	for range n {
		s.send(Event{Kind: EvSplit, Stage: stage, Item: Item{Bytes: 1000}})
	}
}

// has finds an effect of the last event.
func (s *script) has(kind EffectKind, stage StageID) *Effect {
	for i := range s.fx {
		if s.fx[i].Kind == kind && s.fx[i].Stage == stage {
			return &s.fx[i]
		}
	}
	return nil
}

// must is has, or the test fails.
func (s *script) must(kind EffectKind, stage StageID) *Effect {
	s.t.Helper()
	f := s.has(kind, stage)
	if f == nil {
		s.t.Fatalf("no effect %d for stage %d among %+v", kind, stage, s.fx)
	}
	return f
}

// task finds a running or waiting task of a stage.
func (s *script) task(stage StageID) TaskID {
	s.t.Helper()
	infos := s.m.Tasks(nil)
	i := slices.IndexFunc(infos, func(ti TaskInfo) bool { return ti.Stage == stage })
	if i < 0 {
		s.t.Fatalf("stage %d has no task", stage)
	}
	return infos[i].Task
}

func items(n int, bytes int64) []Item {
	out := make([]Item, n)
	for i := range out {
		out[i] = Item{Bytes: bytes, Rows: 1}
	}
	return out
}
