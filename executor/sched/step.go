package sched

// Step takes one event and appends what is to be done to out. The effects must be carried out in order. Items of effects are valid
// until the next Step, those of FxStart until the task is done, those of FxSpill until its EvSpilled; nothing of ev is kept but Block values.
func (m *Machine) Step(ev Event, out []Effect) []Effect {
	m.out = out
	m.now = max(m.now, ev.Now)
	clear(m.drops)
	m.drops = m.drops[:0]
	if !m.started && ev.Kind != EvStart {
		m.misuse(&ev, "the run has not begun")
		return out
	}
	m.apply(&ev)
	m.settle()
	out, m.out = m.out, nil
	return out
}

func (m *Machine) apply(ev *Event) {
	switch ev.Kind {
	case EvStart:
		m.onStart(ev)
	case EvSplit, EvListed, EvAsyncStart, EvAsyncReady, EvAsyncTaken, EvFreed, EvSpilled:
		if ev.Stage < 0 || int(ev.Stage) >= len(m.stages) {
			m.misuse(ev, "there is no such stage")
			return
		}
		m.applyStage(ev, &m.stages[ev.Stage])
	case EvTimer:
		m.onTimer()
	case EvDrain:
		m.onDrain()
	case EvCancel:
		m.onCancel()
	default:
		if ev.Task < 0 || int(ev.Task) >= len(m.tasks) || m.tasks[ev.Task].state == idleTask {
			m.misuse(ev, "there is no such task")
			return
		}
		t := m.tasks[ev.Task]
		if t.state != running && (ev.Kind != EvUnblock || t.state != waitOutside) {
			m.misuse(ev, "the task was told to wait")
			return
		}
		m.applyTask(ev, t)
	}
}

func (m *Machine) applyStage(ev *Event, s *stage) {
	switch ev.Kind {
	case EvSplit:
		m.onSplit(s, ev)
	case EvListed:
		m.onListed(s, ev)
	case EvFreed:
		m.give(s, ev.Bytes)
	case EvSpilled:
		m.onSpilled(s, ev)
	default:
		m.applyAsync(s, ev)
	}
}

func (m *Machine) applyTask(ev *Event, t *task) {
	switch ev.Kind {
	case EvEmit:
		m.onEmit(t, ev.Items)
	case EvTaskDone:
		m.onDone(t, ev)
	case EvMemory:
		m.onMemory(t, ev)
	case EvBlock:
		t.reason = ev.Reason
		m.setState(t, waitOutside)
		m.touch(t.stage)
	case EvUnblock:
		if t.state != waitOutside {
			m.misuse(ev, "the task was not blocked")
			return
		}
		m.resumeSoon(t)
	case EvAsyncFull:
		m.onAsyncFull(t)
	case EvRetry:
		t.until = ev.Now + ev.Bytes
		m.setState(t, waitRetry)
		m.timers.push(timer{t.until, t})
		m.fx(Effect{Kind: FxTimer, Stage: t.stage.id, Task: t.id, Bytes: t.until})
		m.touch(t.stage)
	default:
		m.misuse(ev, "unknown kind")
	}
}

// resumeSoon lets a waiting task go on as soon as there is a slot.
func (m *Machine) resumeSoon(t *task) {
	m.setState(t, waitSlot)
	m.touch(t.stage)
}

func (m *Machine) onStart(ev *Event) {
	if m.started {
		m.misuse(ev, "the run has begun already")
		return
	}
	m.started = true
	for _, s := range m.byRank {
		s.since = m.now
		if s.cfg.Source {
			s.listing = true
			m.listMore(s)
		}
		m.touch(s)
	}
}

// listMore keeps enough splits queued or asked for that no reader waits for the listing.
func (m *Machine) listMore(s *stage) {
	if !s.listing || s.stopped {
		return
	}
	window := max(4, 2*s.most)
	have := s.credit + int(s.queued)
	if have*2 > window {
		return
	}
	m.setCredit(s, s.credit+window-have)
	m.fx(Effect{Kind: FxListMore, Stage: s.id, N: window - have})
}

// setCredit keeps the count of listings that may still report something.
func (m *Machine) setCredit(s *stage, n int) {
	if s.credit > 0 {
		m.outside--
	}
	if s.credit = max(n, 0); s.credit > 0 {
		m.outside++
	}
}

func (m *Machine) onSplit(s *stage, ev *Event) {
	if !s.cfg.Source || !s.listing {
		m.misuse(ev, "it is not listing")
		return
	}
	m.setCredit(s, s.credit-1)
	if s.stopped {
		m.drop(s, ev.Item)
		m.keepListing(s)
		return
	}
	p := &s.ports[0]
	p.q.push(entry{item: ev.Item})
	p.bytes += edgeBytes(ev.Item)
	p.items++
	s.queued++
	s.offer(0)
	m.touch(s)
}

// keepListing counts a stopped source's listing as something that will still report, for it must end with EvListed.
func (m *Machine) keepListing(s *stage) {
	if s.listing && s.credit == 0 {
		m.setCredit(s, 1)
	}
}

func (m *Machine) onListed(s *stage, ev *Event) {
	if !s.cfg.Source || !s.listing {
		m.misuse(ev, "it is not listing")
		return
	}
	s.listing = false
	m.setCredit(s, 0)
	m.endPort(s, 0)
}
