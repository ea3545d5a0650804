package sched

import (
	"fmt"
	"slices"
)

// rank orders the stages by who is served first: consumers before producers, and of two branches the one that feeds ports of an
// earlier phase before the other. It also notes for each stage the set of those that feed it, itself included.
func (m *Machine) rank() {
	n := len(m.stages)
	seen := make([]bool, n)
	post := make([]*stage, 0, n)
	var visit func(s *stage)
	visit = func(s *stage) {
		if seen[s.id] {
			return
		}
		seen[s.id] = true
		// Late phases first: they finish first, and the order is turned round below.
		order := make([]int, len(s.ports))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return s.ports[b].phase - s.ports[a].phase })
		for _, p := range order {
			if f := s.ports[p].from; f != nil {
				visit(f)
			}
		}
		post = append(post, s)
	}
	for i := range m.stages {
		if len(m.stages[i].outs) == 0 {
			visit(&m.stages[i])
		}
	}
	slices.Reverse(post)
	m.byRank = post
	for r, s := range post {
		s.rank = r
	}
	m.feeds = make([]bitset, n)
	for i := range m.stages {
		s := &m.stages[i]
		f := newBitset(n)
		f.set(s.rank)
		for p := range s.ports {
			if from := s.ports[p].from; from != nil {
				for w, x := range m.feeds[from.id] {
					f[w] |= x
				}
			}
		}
		m.feeds[i] = f
	}
}

// initSpill finds the ports at which blocks must go to disk for the run to be able to end: their stage does not accept them yet, and what they
// wait for may need the very producer that they block. That is so when the producer or something before it feeds several ports.
func (m *Machine) initSpill() error {
	forks := make([]bool, len(m.stages))
	for i := range m.stages {
		s := &m.stages[i]
		forks[i] = len(s.outs) > 1
		lowest, first := 0, true
		for p := range s.ports {
			if from := s.ports[p].from; from != nil && forks[from.id] {
				forks[i] = true
			}
			if first || s.ports[p].phase < lowest {
				lowest, first = s.ports[p].phase, false
			}
		}
		for p := range s.ports {
			pt := &s.ports[p]
			if pt.from == nil || pt.phase == lowest || !forks[pt.from.id] {
				continue
			}
			if !s.cfg.Ports[p].Spillable {
				return fmt.Errorf("schedule stage %d (%s): port %d waits for an earlier phase while its producer %q also feeds another port; it must be spillable",
					i, s.cfg.Name, p, pt.from.cfg.Name)
			}
			pt.spill = true
		}
	}
	return nil
}
