package sched

func (m *Machine) onDone(t *task, ev *Event) {
	s := t.stage
	m.emit(t, ev.Items)
	m.measure(t, ev)
	m.setState(t, idleTask)
	m.active--
	s.active--
	if s.cfg.Ordered {
		m.finishOrdered(t)
	}
	if t.port >= 0 {
		s.ports[t.port].active--
	}
	m.freeWorker(t)
	clear(t.items)
	t.items = t.items[:0]
	m.free = append(m.free, t.id)
	if t.kind == TaskMerge {
		m.onMerged(s, ev.N)
	}
	m.give(s, ev.Return)
	if ev.Stop && !s.stopped {
		m.stop(s)
	}
	if t.port >= 0 {
		m.finishPort(s, t.port)
	}
	m.advance(s)
	m.touch(s)
}

func (m *Machine) freeWorker(t *task) {
	s := t.stage
	if t.kind == TaskPartition {
		s.freeNums = append(s.freeNums, t.worker)
		return
	}
	w := &s.workers[t.worker]
	w.task = -1
	if w.ready > 0 {
		s.link(&s.due, t.worker)
	} else {
		s.link(&s.idle, t.worker)
	}
}

// onMerged readies the partitions of a barrier.
func (m *Machine) onMerged(s *stage, n int) {
	s.merged, s.partitions = 2, max(n, 0)
	s.freeNums = s.freeNums[:0]
	for w := s.most - 1; w >= 0; w-- {
		s.freeNums = append(s.freeNums, WorkerID(w))
	}
}

// endPort is told that nothing more will come to a port.
func (m *Machine) endPort(s *stage, pi int) {
	s.ports[pi].ended = true
	m.finishPort(s, pi)
	m.advance(s)
	m.touch(s)
}

// finishPort begins the next phase when all ports of this one are ended, empty and worked off, calls in flight included.
func (m *Machine) finishPort(s *stage, pi int) {
	p := &s.ports[pi]
	if p.finished || !p.ended || p.q.n > 0 || p.active > 0 {
		return
	}
	p.finished = true
	if p.phase == s.phase {
		s.phaseLeft--
	}
	m.nextPhase(s)
}

func (m *Machine) nextPhase(s *stage) {
	if s.phaseLeft > 0 || s.inFlight > 0 || s.ready > 0 || s.life != open {
		return
	}
	for i := range s.ports {
		if !s.ports[i].finished {
			s.beginPhase()
			m.touch(s)
			return
		}
	}
}

// advance moves a stage through the ends of its life as far as it can go.
func (m *Machine) advance(s *stage) {
	for {
		dead := m.dead(s)
		quiet := s.active == 0 && s.inFlight == 0 && (s.ready == 0 || m.cancelled)
		switch s.life {
		case open:
			if !quiet || !s.inputDone() {
				return
			}
			s.life = flushing
		case flushing:
			if !quiet || (s.flushNext < max(1, s.opened) && !dead) {
				return
			}
			if s.life = closing; s.cfg.Barrier && !dead {
				s.life = merging
			}
		case merging:
			if !quiet || (s.merged != 2 && !dead) {
				return
			}
			s.life = partitioning
		case partitioning:
			if !quiet || (s.partNext < s.partitions && !dead) {
				return
			}
			s.life = closing
		case closing:
			m.end(s)
			return
		case ended:
			return
		}
	}
}

func (s *stage) inputDone() bool {
	if s.stopped {
		// Items on their way to disk belong to the driver until it says so.
		for i := range s.ports {
			if s.ports[i].spillN > 0 {
				return false
			}
		}
		return !s.listing
	}
	return s.phaseLeft == 0 && s.queued == 0 && s.waiting == 0 && s.allFinished()
}

func (s *stage) allFinished() bool {
	for i := range s.ports {
		if !s.ports[i].finished {
			return false
		}
	}
	return true
}

// end closes the workers and tells the consumers.
func (m *Machine) end(s *stage) {
	s.life, s.endedAt = ended, m.now
	for w := range s.opened {
		m.fx(Effect{Kind: FxClose, Stage: s.id, Worker: WorkerID(w)})
	}
	m.fx(Effect{Kind: FxEnded, Stage: s.id})
	m.left--
	m.touch(s)
	m.give(s, s.cfg.OffHeap*int64(s.opened))
	for _, o := range s.outs {
		m.endPort(o.to, o.port)
	}
	if m.left == 0 {
		m.fx(Effect{Kind: FxDone})
	}
}
