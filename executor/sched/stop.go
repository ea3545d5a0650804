package sched

// stop makes a stage take no more input: what is queued is dropped, and producers that nobody else listens to are stopped in turn.
func (m *Machine) stop(s *stage) {
	if s.stopped || s.life == ended {
		return
	}
	s.stopped = true
	for pi := range s.ports {
		m.dropQueue(s, pi)
		m.checkFull(s, pi)
	}
	s.pending.n = 0
	m.tell(s)
	if s.cfg.Source {
		m.keepListing(s)
	}
	for pi := range s.ports {
		p := &s.ports[pi]
		p.listed = false
		if f := p.from; f != nil && f.life != ended {
			if f.liveOuts--; f.liveOuts == 0 {
				m.nobodyWants(f)
			}
		}
	}
	m.advance(s)
	m.touch(s)
}

// nobodyWants stops a stage none of whose consumers takes anything any more, and lets its tasks run to their ends.
func (m *Machine) nobodyWants(s *stage) {
	m.stop(s)
	m.tell(s)
	o := &s.serials
	for i := range int64(o.n) {
		if e := o.at(o.head + i); e.t != nil && e.t.state == waitOrder {
			m.resumeSoon(e.t)
		}
	}
	m.advance(s)
	m.touch(s)
}

// tell says once that a source is to stop, or that what a stage gives is not wanted.
func (m *Machine) tell(s *stage) {
	if s.told || s.life == ended || !(s.cfg.Source || m.dead(s)) {
		return
	}
	s.told = true
	kind := FxStopStage
	if s.cfg.Source {
		kind = FxStopSource
	}
	m.fx(Effect{Kind: kind, Stage: s.id})
}

// dropQueue drops what is queued at a port, but for what is on its way to disk.
func (m *Machine) dropQueue(s *stage, pi int) {
	p := &s.ports[pi]
	if p.spillN > 0 {
		return
	}
	from := len(m.drops)
	for p.q.n > 0 {
		e := p.q.pop()
		p.popped++
		e.item.Spilled = e.where == onDisk
		m.drops = append(m.drops, e.item)
	}
	if p.phase == s.phase {
		s.queued = max(0, s.queued-int64(len(m.drops)-from))
	} else {
		s.waiting = max(0, s.waiting-int64(len(m.drops)-from))
	}
	p.bytes, p.items = 0, 0
	if n := len(m.drops); n > from {
		s.stats.dropped += int64(n - from)
		m.fx(Effect{Kind: FxDrop, Stage: s.id, Port: pi, Items: m.drops[from:n:n]})
	}
}

func (m *Machine) onDrain() {
	if m.draining {
		return
	}
	m.draining = true
	for i := range m.stages {
		if m.stages[i].cfg.Source {
			m.stop(&m.stages[i])
		}
	}
}

// onCancel drops everything and lets every task run to its end: those that wait are told to go on as slots allow, and will find the run
// cancelled.
func (m *Machine) onCancel() {
	if m.cancelled {
		return
	}
	m.cancelled = true
	for i := range m.stages {
		s := &m.stages[i]
		m.stop(s)
		m.tell(s)
	}
	for _, t := range m.tasks {
		switch t.state {
		case waitMemory:
			m.deny(t, t.want)
			t.want = 0
			m.resumeSoon(t)
		case waitOutput, waitOrder, waitAsync, waitRetry:
			m.resumeSoon(t)
		}
	}
	for i := range m.stages {
		m.advance(&m.stages[i])
		m.touch(&m.stages[i])
	}
}
