package sched

// spill sends the last n items of a port to disk. One FxSpill a port is outstanding at a time; what comes meanwhile follows it.
func (m *Machine) spill(s *stage, pi, n int) {
	p := &s.ports[pi]
	if p.spillN > 0 {
		return
	}
	p.spillBuf = p.spillBuf[:0]
	for i := p.q.n - n; i < p.q.n; i++ {
		if e := p.q.at(i); e.where == inMemory {
			if e.where = spilling; len(p.spillBuf) == 0 {
				p.spillFrom = p.popped + int64(i)
			}
			p.spillBuf = append(p.spillBuf, e.item)
		}
	}
	if p.spillN = len(p.spillBuf); p.spillN == 0 {
		return
	}
	m.outside++
	s.stats.spilledBlocks += int64(p.spillN)
	m.fx(Effect{Kind: FxSpill, Stage: s.id, Port: pi, N: p.spillN, Items: p.spillBuf})
}

// onSpilled takes what is on disk out of the edge's room. The memory comes back with EvFreed, as always.
func (m *Machine) onSpilled(s *stage, ev *Event) {
	pi := ev.Port
	if pi < 0 || pi >= len(s.ports) || s.ports[pi].spillN == 0 {
		m.misuse(ev, "nothing is being spilled there")
		return
	}
	p := &s.ports[pi]
	m.outside--
	n := p.spillN
	p.spillN = 0
	clear(p.spillBuf)
	p.spillBuf = p.spillBuf[:0]
	i := int(p.spillFrom - p.popped)
	for n > 0 {
		if e := p.q.at(i); e.where == spilling {
			e.where = onDisk
			p.bytes -= edgeBytes(e.item)
			p.items--
			s.stats.spilledBytes += e.item.Bytes
			n--
		}
		i++
	}
	left := p.q.n - i // came meanwhile
	if s.stopped {
		m.dropQueue(s, pi)
		m.advance(s)
		return
	}
	m.checkFull(s, pi)
	if p.phase != s.phase && p.full && left > 0 {
		m.spill(s, pi, left)
	}
	s.offer(pi)
	m.touch(s)
}

// spillForMemory is the last resort before a request is denied: it sends to disk what is queued in memory, at ports that are not accepted yet if
// there is any, else at all. The block that a stage takes next stays.
func (m *Machine) spillForMemory() bool {
	if m.memWait.next(0) < 0 {
		return false
	}
	return m.spillQueued(false) || m.spillQueued(true)
}

func (m *Machine) spillQueued(accepted bool) bool {
	any := false
	for i := range m.stages {
		s := &m.stages[i]
		for pi := range s.ports {
			p := &s.ports[pi]
			if s.stopped || s.cfg.Source || !s.cfg.Ports[pi].Spillable || p.spillN > 0 || (p.phase == s.phase) != accepted {
				continue
			}
			n := p.q.n
			if accepted {
				n-- // so that a stage which may go on finds its input
			}
			if n > 0 {
				m.spill(s, pi, n)
				any = any || p.spillN > 0
			}
		}
	}
	return any
}
