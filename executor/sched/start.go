package sched

import "github.com/sluice-data/sluice/backpressure"

const defaultTaskBlocks = 64

// startProcess starts a task on input, on an idle worker or a new one.
func (m *Machine) startProcess(s *stage) bool {
	w := s.idle.first
	if s.idle.n == 0 {
		if s.opened == s.most {
			return false
		}
		w = m.openWorker(s)
		if w < 0 {
			return false
		}
	}
	kind := TaskProcess
	if s.cfg.Source {
		kind = TaskRead
	}
	m.start(s, kind, w, 0)
	return true
}

// openWorker takes the next number and charges what the worker holds for life. It returns -1 if that cannot be had.
func (m *Machine) openWorker(s *stage) WorkerID {
	if n := s.cfg.OffHeap; n > 0 && !m.budget.Take(int(s.id), n, false) && (s.opened > 0 || !m.budget.TakeOverdraft(int(s.id), n, false)) {
		return -1
	}
	m.peaks(s)
	w := WorkerID(s.opened)
	s.opened++
	for len(s.workers) <= int(w) {
		s.workers = append(s.workers, worker{task: -1})
	}
	return w
}

// start makes a task and grants the memory it is predicted to need, or what there is of it.
func (m *Machine) start(s *stage, kind TaskKind, w WorkerID, n int) {
	t := m.newTask()
	t.stage, t.worker, t.kind, t.port = s, w, kind, -1
	t.granted, t.begunWith, t.want, t.others, t.started = 0, 0, 0, 0, m.now
	t.inBytes, t.inRows, t.outBytes, t.outRows = 0, 0, 0, 0
	if kind != TaskPartition {
		s.unlink(w)
		s.workers[w].task = t.id
	}
	oldest := s.cfg.Ordered && s.serials.n == 0
	if s.cfg.Ordered {
		s.serials.begin(t)
	}
	m.active++
	s.active++
	var disk int64
	if kind == TaskRead || kind == TaskProcess {
		disk = m.takeItems(s, t)
	}
	grant := min(m.predictFor(s, t)+disk, m.room(s, oldest))
	if grant > 0 && m.take(s, grant, oldest) {
		t.granted, t.begunWith = grant, grant
		m.peaks(s)
	} else {
		grant = 0
	}
	s.stats.tasks++
	m.setState(t, running)
	m.fx(Effect{Kind: FxStart, TaskKind: kind, Stage: s.id, Worker: w, Task: t.id, Port: max(t.port, 0), N: n, Bytes: grant, Items: t.items})
	if s.cfg.Source {
		m.listMore(s)
	}
}

// takeItems moves a fair share of the queue of the next port into the task. It returns how many bytes of them are on disk.
func (m *Machine) takeItems(s *stage, t *task) (disk int64) {
	pi := s.pending.pop()
	p := &s.ports[pi]
	p.listed = false
	t.port = pi
	p.active++
	most := int64(1)
	if !s.cfg.Source {
		most = m.share(s, p)
	}
	var bytes int64
	for range most {
		e := p.q.at(0)
		if e.where == spilling || (len(t.items) > 0 && bytes+e.item.Bytes > m.cfg.BlockBytes) {
			break
		}
		x := p.q.pop()
		p.popped++
		s.queued--
		if x.where == onDisk {
			disk += x.item.Bytes
			x.item.Spilled = true
		} else {
			p.bytes -= edgeBytes(x.item)
			p.items--
		}
		bytes += x.item.Bytes
		t.items = append(t.items, x.item)
		t.inRows += x.item.Rows
	}
	t.inBytes = bytes
	m.checkFull(s, pi)
	s.offer(pi)
	return disk
}

// share is how many items the next task takes, so that all workers that could begin now get some.
func (m *Machine) share(s *stage, p *port) int64 {
	takers := s.most - s.active + 1 // the task counts already
	if !s.cfg.NoCPU {
		takers = min(takers, m.cfg.Slots-m.slotsBusy)
	}
	most := s.cfg.TaskBlocks
	if most <= 0 {
		most = defaultTaskBlocks
	}
	return min(int64(p.q.n), backpressure.Share(int64(p.q.n), int64(takers), int64(most)))
}
