package sched

import "github.com/sluice-data/sluice/backpressure"

// memAhead says whether a stage nearer to the end waits for memory; the shared part is then its.
func (m *Machine) memAhead(s *stage) bool {
	first := m.memWait.next(0)
	return first >= 0 && first < s.rank
}

// room is what a stage could be granted now.
func (m *Machine) room(s *stage, oldest bool) int64 {
	if m.memAhead(s) {
		return m.budget.Own(int(s.id), oldest)
	}
	return m.budget.Room(int(s.id), oldest)
}

// take grants n bytes if the stage has room for them.
func (m *Machine) take(s *stage, n int64, oldest bool) bool {
	if m.memAhead(s) {
		return m.budget.TakeOwn(int(s.id), n, oldest)
	}
	return m.budget.Take(int(s.id), n, oldest)
}

// markMem keeps the set of stages that wait for memory.
func (m *Machine) markMem(s *stage) {
	waits := s.memParked.n > 0 || s.memStart
	if !waits && m.memWait.has(s.rank) {
		m.serveDue = true
	}
	m.memWait.put(s.rank, waits)
}

func (m *Machine) onMemory(t *task, ev *Event) {
	s, n := t.stage, max(ev.Bytes, 0)
	oldest := m.oldest(t)
	if n > m.cfg.BudgetBytes/4 || m.cancelled {
		m.deny(t, n)
		return
	}
	mayTake := s.memParked.n == 0 || oldest
	if ev.Try && n > m.budget.Own(int(s.id), oldest) {
		// State that can do without leaves a quarter of the shared part to work that cannot.
		mayTake = mayTake && m.budget.Over()+n <= m.budget.Shared/4*3
	}
	if mayTake && m.take(s, n, oldest) {
		m.granted(t, n)
		return
	}
	if ev.Try {
		m.deny(t, n)
		return
	}
	t.want = n
	m.park(t, waitMemory, Reason{Policy: backpressure.Memory, Have: m.room(s, oldest), Need: n, Unit: "bytes"})
}

func (m *Machine) granted(t *task, n int64) {
	t.granted += n
	m.peaks(t.stage)
	m.fx(Effect{Kind: FxGrant, Stage: t.stage.id, Worker: t.worker, Task: t.id, Bytes: n})
}

func (m *Machine) deny(t *task, n int64) {
	s := t.stage
	m.fx(Effect{Kind: FxDeny, Stage: s.id, Worker: t.worker, Task: t.id, Bytes: m.budget.Enough(int(s.id), n, m.oldest(t)),
		Reason: Reason{Policy: backpressure.Memory, Have: m.budget.OverdraftRoom(int(s.id), m.oldest(t)), Need: n, Unit: "bytes"}})
}

// give returns memory of a stage and serves who waits for it: the stage itself from its reservation, then the stages nearest to the end.
func (m *Machine) give(s *stage, n int64) {
	if n <= 0 {
		return
	}
	m.budget.Give(int(s.id), n)
	if m.memWait.has(s.rank) {
		m.serve(s)
	}
	m.serveDue = true
}

// serveAll serves the stages that wait for memory, nearest to the end first. It stops at the first that must go on waiting: what is shared
// is then kept for it.
func (m *Machine) serveAll() {
	m.serveDue = false
	for r := m.memWait.next(0); r >= 0; r = m.memWait.next(r + 1) {
		if !m.serve(m.byRank[r]) {
			return
		}
	}
}

// serve grants what the tasks of a stage wait for, in their order, and then looks whether it may start. It says whether the stage does
// not wait for memory any more.
func (m *Machine) serve(s *stage) bool {
	for t := s.memParked.first; t != nil; t = s.memParked.first {
		if !m.take(s, t.want, m.oldest(t)) {
			break
		}
		m.grantParked(t)
	}
	m.touch(s)
	return !m.memWait.has(s.rank)
}

// grantLast is grantParked out of turn; what waits behind the task may fit now.
func (m *Machine) grantLast(t *task) {
	m.grantParked(t)
	m.serve(t.stage)
}

// grantParked tells a parked task that its memory was taken from the budget.
func (m *Machine) grantParked(t *task) {
	m.granted(t, t.want)
	t.want = 0
	m.resumeSoon(t)
}

// resolve is asked when no task runs. It lets the waiter nearest to the end go on with what the budget has, or with the overdraft;
// it says whether it did something. Only when nothing outside can change anything either, queued blocks are spilled, and at last the
// waiter nearest to the end is denied.
func (m *Machine) resolve() bool {
	for r := m.memWait.next(0); r >= 0; r = m.memWait.next(r + 1) {
		s := m.byRank[r]
		if m.serveLast(s) || (s.memStart && m.startForced(s)) {
			return true
		}
	}
	if m.outside > 0 || m.left == 0 {
		return false
	}
	if m.spillForMemory() {
		return false
	}
	for r := m.memWait.next(0); r >= 0; r = m.memWait.next(r + 1) {
		if s := m.byRank[r]; s.memParked.n > 0 {
			t := s.memParked.first
			m.deny(t, t.want)
			t.want = 0
			m.resumeSoon(t)
			m.serve(s)
			return true
		}
	}
	return false
}

// serveLast grants the first waiter of a stage whatever others wait for, from the overdraft if need be. In an ordered stage only
// the oldest task may have the overdraft: what others make could not go on. Only one at a time draws on it, unless what is left can go to
// a stage nearer to the end, or nothing else can ever happen.
func (m *Machine) serveLast(s *stage) bool {
	t := s.memParked.first
	if t == nil {
		return false
	}
	oldest, i := m.oldest(t), int(s.id)
	if m.budget.Take(i, t.want, oldest) {
		m.grantLast(t)
		return true
	}
	if s.cfg.Ordered && !oldest {
		return false
	}
	if !m.budget.OverdraftFree() && s.rank > m.tokenRank && m.outside > 0 {
		return false
	}
	if !m.budget.TakeOverdraft(i, t.want, oldest) {
		return false
	}
	m.tokenRank = s.rank
	s.stats.overdrafts++
	m.grantLast(t)
	return true
}

// startForced starts a stage that waits for memory with whatever it can get.
func (m *Machine) startForced(s *stage) bool {
	m.forced = true
	m.touch(s)
	started := m.canAct(s) && m.act(s)
	m.forced = false
	m.touch(s)
	return started
}
