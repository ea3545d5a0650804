package sched

import "github.com/sluice-data/sluice/backpressure"

func (m *Machine) onEmit(t *task, items []Item) {
	m.emit(t, items)
	s := t.stage
	switch {
	case m.dead(s):
	case s.cfg.Ordered && !m.oldest(t):
		if e := s.serials.at(t.serial); e.bytes > m.orderRoom(t) {
			m.park(t, waitOrder, Reason{Policy: backpressure.Order, Stage: s.cfg.Name, Have: e.bytes, Need: m.orderRoom(t), Unit: "bytes"})
		}
	case s.outFull > 0:
		m.park(t, waitOutput, m.outputReason(s))
	}
}

// emit counts what a task gave and passes it on, or keeps it until older tasks are done.
func (m *Machine) emit(t *task, items []Item) {
	for i := range items {
		t.outBytes += items[i].Bytes
		t.outRows += items[i].Rows
	}
	if t.stage.cfg.Ordered && !m.oldest(t) && !m.dead(t.stage) {
		t.stage.serials.buffer(t, items)
		m.touch(t.stage)
		return
	}
	m.passOn(t.stage, items)
}

// passOn puts items into the queue of every consumer. What a stopped consumer would have got is dropped: one claim a consumer.
func (m *Machine) passOn(s *stage, items []Item) {
	if len(items) == 0 {
		return
	}
	s.stats.blocks += int64(len(items))
	for i := range items {
		s.stats.rows += items[i].Rows
		s.stats.bytes += items[i].Bytes
	}
	if len(s.outs) == 0 {
		m.dropAll(s, items)
		return
	}
	for _, o := range s.outs {
		if o.to.stopped {
			m.dropAll(o.to, items)
			continue
		}
		m.enqueue(o.to, o.port, items)
	}
}

func (m *Machine) enqueue(s *stage, pi int, items []Item) {
	p := &s.ports[pi]
	for i := range items {
		p.q.push(entry{item: items[i]})
		p.bytes += edgeBytes(items[i])
	}
	p.items += len(items)
	accepted := p.phase == s.phase
	if accepted {
		s.queued += int64(len(items))
		s.offer(pi)
	} else {
		s.waiting += int64(len(items))
	}
	m.checkFull(s, pi)
	if !accepted && p.spill && p.full {
		m.spill(s, pi, len(items))
	}
	m.touch(s)
}

// checkFull compares an edge with its room after a change, and tells the producer.
func (m *Machine) checkFull(s *stage, pi int) {
	p := &s.ports[pi]
	if p.from == nil {
		return
	}
	full := !s.stopped && backpressure.EdgeFull(int64(p.items), p.bytes, p.room)
	if full == p.full {
		return
	}
	p.full = full
	f := p.from
	if full {
		f.outFull++
	} else {
		f.outFull--
	}
	if f.outFull == 0 || (full && f.outFull == 1) {
		m.touch(f)
	}
}

// offer puts a port that has something to take into the list of such ports.
func (s *stage) offer(pi int) {
	p := &s.ports[pi]
	if p.listed || s.stopped || p.q.n == 0 || p.phase != s.phase || p.q.at(0).where == spilling {
		return
	}
	p.listed = true
	s.pending.push(pi)
}

// park tells the task that sent the event to wait.
func (m *Machine) park(t *task, state taskState, why Reason) {
	m.setState(t, state)
	m.fx(Effect{Kind: FxPark, Stage: t.stage.id, Worker: t.worker, Task: t.id, Reason: why})
	m.touch(t.stage)
}

// outputReason names the first edge over its room.
func (m *Machine) outputReason(s *stage) Reason {
	for _, o := range s.outs {
		if p := &o.to.ports[o.port]; p.full {
			return Reason{Policy: backpressure.Output, Stage: o.to.cfg.Name, Have: p.bytes, Need: p.room, Unit: "bytes"}
		}
	}
	return Reason{Policy: backpressure.Output, Stage: s.cfg.Name, Unit: "bytes"}
}

func (m *Machine) drop(s *stage, it Item) {
	m.drops = append(m.drops, it)
	n := len(m.drops)
	s.stats.dropped++
	m.fx(Effect{Kind: FxDrop, Stage: s.id, Items: m.drops[n-1 : n : n]})
}

func (m *Machine) dropAll(s *stage, items []Item) {
	if len(items) == 0 {
		return
	}
	from := len(m.drops)
	m.drops = append(m.drops, items...)
	s.stats.dropped += int64(len(items))
	m.fx(Effect{Kind: FxDrop, Stage: s.id, Items: m.drops[from:len(m.drops):len(m.drops)]})
}
