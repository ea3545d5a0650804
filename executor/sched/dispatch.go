package sched

import "github.com/sluice-data/sluice/backpressure"

// action is what a stage does next.
type action uint8

const (
	nothing    action = iota
	goOn              // a task that waits for a slot only
	goOnOutput        // a task that waited for room downstream
	deliver
	process
	flush
	merge
	partition
)

// settle carries out everything that can go on, until a task runs or only events from outside can change anything.
func (m *Machine) settle() {
	for m.started {
		m.dispatch()
		if m.serveDue {
			m.serveAll()
			continue
		}
		if m.running > 0 || !m.resolve() {
			return
		}
	}
}

func (m *Machine) dispatch() {
	for {
		s := m.pick()
		if s == nil {
			return
		}
		m.act(s)
		m.touch(s)
	}
}

// pick chooses the stage that does something next: first those that need no slot, then, while there are slots, what feeds a starving bottleneck,
// then what is nearest to the end.
func (m *Machine) pick() *stage {
	if r := m.nocpu.next(0); r >= 0 {
		return m.byRank[r]
	}
	if m.slotsBusy >= m.cfg.Slots {
		return nil
	}
	if b := m.busiest; b != nil && backpressure.Hungry(b.bottleneck(m.cfg.Slots)) {
		if r := m.cpu.nextIn(m.feeds[b.id]); r >= 0 {
			return m.byRank[r]
		}
	}
	if r := m.cpu.next(0); r >= 0 {
		return m.byRank[r]
	}
	return nil
}

func (s *stage) bottleneck(slots int) backpressure.Bottleneck {
	return backpressure.Bottleneck{NoCPU: s.cfg.NoCPU, Width: int64(s.width), Slots: int64(slots), Queued: s.queued, FullEdges: int64(s.outFull)}
}

// canAct says whether a stage is among those that could do something.
func (m *Machine) canAct(s *stage) bool {
	if s.cfg.NoCPU {
		return m.nocpu.has(s.rank)
	}
	return m.cpu.has(s.rank) && m.slotsBusy < m.cfg.Slots
}

// touch brings the sets of stages up to date after something about s changed. It looks at s only.
func (m *Machine) touch(s *stage) {
	a, held := m.next(s)
	if s.cfg.NoCPU {
		m.nocpu.put(s.rank, a != nothing)
	} else {
		m.cpu.put(s.rank, a != nothing)
	}
	s.memStart = held == byMemory
	m.markMem(s)
	m.hold(s, held)
}

// next decides what a stage does next if it gets a slot, or what holds it.
func (m *Machine) next(s *stage) (action, waitKind) {
	if s.resumable.n > 0 {
		return goOn, bySlot
	}
	if s.outFull == 0 && s.outParked.n > 0 {
		return goOnOutput, bySlot
	}
	if m.cancelled || s.life == ended {
		return nothing, byNothing
	}
	a := s.work(m.dead(s))
	if a == nothing && s.life != open {
		return nothing, byUpstreamEnded
	}
	if a == nothing {
		a = process // and let the policies say why not
	}
	m.look(s, a)
	if i := startButSlot.Held(&m.snap); i >= 0 {
		return nothing, startKinds[i]
	}
	return a, bySlot
}

// startButSlot is backpressure.Start without its last policy: slots are looked at for all stages together.
var startButSlot = backpressure.Start[:len(backpressure.Start)-1]

// work is what there is to start in a stage.
func (s *stage) work(dead bool) action {
	switch {
	case s.due.n > 0:
		return deliver
	case s.life == open && s.pending.n > 0:
		return process
	case s.life == flushing && s.flushNext < max(1, s.opened) && !dead:
		return flush
	case s.life == merging && s.merged == 0 && !dead:
		return merge
	case s.life == partitioning && s.partNext < s.partitions && !dead:
		return partition
	}
	return nothing
}

// look fills the snapshot that the policies see.
func (m *Machine) look(s *stage, a action) {
	sn := &m.snap
	oldest := s.cfg.Ordered && s.serials.n == 0
	*sn = backpressure.Snapshot{
		WaitingItems: s.waiting,
		Busy:         int64(s.active),
		MaxWorkers:   int64(s.most),
		IdleOpen:     int64(s.idle.n),
		FullEdges:    int64(s.outFull),
		Ordered:      s.cfg.Ordered,
		Buffered:     s.serials.buffered,
		BufferRoom:   m.cfg.BlockBytes * int64(s.most+1),
		Pending:      int64(s.serials.n),
		MostPending:  int64(4 * s.most),
		Active:       int64(s.active),
		Room:         m.room(s, oldest),
		LeastToBegin: min(backpressure.MinBlockBytes, m.cfg.BlockBytes),
		Forced:       m.forced,
		NoCPU:        s.cfg.NoCPU,
		SlotsBusy:    int64(m.slotsBusy),
		Slots:        int64(m.cfg.Slots),
	}
	switch a {
	case process:
		if s.pending.n > 0 {
			sn.Items = s.queued
		}
		sn.Need = m.predict(s, a)
		if s.idle.n == 0 && s.cfg.OffHeap > 0 {
			sn.Need += s.cfg.OffHeap
			sn.LeastToBegin += s.cfg.OffHeap
		}
	default:
		sn.Items = 1
		sn.Need = m.predict(s, a)
	}
}

// act does one thing for a stage. It says whether a task went on or was started.
func (m *Machine) act(s *stage) bool {
	a, _ := m.next(s)
	switch a {
	case goOn:
		m.resume(s.resumable.first)
	case goOnOutput:
		m.resume(s.outParked.first)
	case deliver:
		m.start(s, TaskDeliver, s.due.first, 0)
	case process:
		return m.startProcess(s)
	case flush:
		w := WorkerID(s.flushNext)
		if s.opened == 0 {
			w = m.openWorker(s)
		}
		s.flushNext++
		m.start(s, TaskFlush, w, 0)
	case merge:
		s.merged = 1
		m.start(s, TaskMerge, 0, 0)
	case partition:
		n := len(s.freeNums)
		w := s.freeNums[n-1]
		s.freeNums = s.freeNums[:n-1]
		m.start(s, TaskPartition, w, s.partNext)
		s.partNext++
	default:
		return false
	}
	return true
}

func (m *Machine) resume(t *task) {
	m.setState(t, running)
	m.fx(Effect{Kind: FxResume, Stage: t.stage.id, Worker: t.worker, Task: t.id})
}
