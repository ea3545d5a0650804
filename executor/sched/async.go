package sched

// applyAsync counts calls in flight and deliveries that wait, by worker.
func (m *Machine) applyAsync(s *stage, ev *Event) {
	if ev.Worker < 0 || int(ev.Worker) >= s.opened {
		m.misuse(ev, "there is no such worker")
		return
	}
	w := &s.workers[ev.Worker]
	switch ev.Kind {
	case EvAsyncStart:
		w.inFlight++
		s.inFlight++
		m.outside++
	case EvAsyncReady:
		m.onAsyncReady(s, ev, w)
	case EvAsyncTaken:
		m.onAsyncTaken(s, ev, w)
	}
}

func (m *Machine) onAsyncReady(s *stage, ev *Event, w *worker) {
	if w.inFlight == 0 {
		m.misuse(ev, "the worker has no call in flight")
		return
	}
	w.inFlight--
	s.inFlight--
	m.outside--
	w.ready++
	s.ready++
	switch {
	case w.task < 0:
		s.unlink(ev.Worker)
		s.link(&s.due, ev.Worker)
	case m.tasks[w.task].state == waitAsync:
		m.resumeSoon(m.tasks[w.task])
	}
	m.advance(s)
	m.touch(s)
}

func (m *Machine) onAsyncTaken(s *stage, ev *Event, w *worker) {
	n := ev.N
	if n < 0 || n > w.ready {
		m.misuse(ev, "the worker has fewer deliveries")
		n = min(max(n, 0), w.ready)
	}
	w.ready -= n
	s.ready -= n
	if w.ready == 0 && w.list == &s.due {
		s.unlink(ev.Worker)
		s.link(&s.idle, ev.Worker)
	}
	m.nextPhase(s)
	m.advance(s)
	m.touch(s)
}

// onAsyncFull parks a task until a call of its worker ends. If one has ended already, or none is in flight, it goes on.
func (m *Machine) onAsyncFull(t *task) {
	w := &t.stage.workers[t.worker]
	if w.ready > 0 || w.inFlight == 0 || m.cancelled {
		m.resumeSoon(t)
		return
	}
	m.setState(t, waitAsync)
	m.touch(t.stage)
}

// timer is a task that waits for a time.
type timer struct {
	at int64
	t  *task
}

// timers is a heap, earliest first. A timer whose task waits no more, or for another time, is stale.
type timers []timer

func (h *timers) push(x timer) {
	*h = append(*h, x)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if q[up].at <= q[i].at {
			return
		}
		q[up], q[i] = q[i], q[up]
		i = up
	}
}

func (h *timers) pop() timer {
	q := *h
	top := q[0]
	last := len(q) - 1
	q[0] = q[last]
	q[last] = timer{}
	q = q[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= len(q) {
			break
		}
		if c+1 < len(q) && q[c+1].at < q[c].at {
			c++
		}
		if q[i].at <= q[c].at {
			break
		}
		q[i], q[c] = q[c], q[i]
		i = c
	}
	*h = q
	return top
}

func (m *Machine) onTimer() {
	for len(m.timers) > 0 && m.timers[0].at <= m.now {
		x := m.timers.pop()
		if x.t.state == waitRetry && x.t.until == x.at {
			m.resumeSoon(x.t)
		}
	}
}
