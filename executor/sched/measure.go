package sched

import "github.com/sluice-data/sluice/backpressure"

// ewma is an exponentially weighted mean with its mean deviation; the weight of the newest is an eighth.
type ewma struct {
	mean, dev float64
	n         int64
}

func (e *ewma) add(x float64) {
	if e.n++; e.n == 1 {
		e.mean = x
		return
	}
	d := x - e.mean
	e.mean += d / 8
	if d < 0 {
		d = -d
	}
	e.dev += (d - e.dev) / 8
}

// high is about the 95th percentile: two mean deviations above the mean.
func (e *ewma) high() float64 { return e.mean + 2*e.dev }

// stats is what a stage measured.
type stats struct {
	tasks, blocks, rows, bytes int64
	dropped, overdrafts        int64
	spilledBlocks              int64
	spilledBytes               int64
	busy                       int64 // ns of computing
	load                       int64 // ns in which a worker was the limit; halved now and then
	peak                       int64
	waits                      [waitKinds]int64 // ns that tasks waited
	idle                       [waitKinds]int64 // ns that the stage did nothing

	service   ewma // ns of computing a task
	bytesPer  ewma // bytes out per byte in
	rowsPer   ewma // rows out per row in
	memoryPer ewma // bytes of memory used per byte in
	memory    ewma // bytes of memory used by a task without input
}

// measure learns from a finished task.
func (m *Machine) measure(t *task, ev *Event) {
	s := t.stage
	st := &s.stats
	st.busy += ev.BusyNs
	st.service.add(float64(ev.BusyNs))
	used := max(t.outBytes, t.granted-max(ev.Return, 0))
	if t.inBytes > 0 {
		st.bytesPer.add(float64(t.outBytes) / float64(t.inBytes))
		st.memoryPer.add(float64(used) / float64(t.inBytes))
	} else {
		st.memory.add(float64(used))
	}
	if t.inRows > 0 {
		st.rowsPer.add(float64(t.outRows) / float64(t.inRows))
	}
	st.load += max(m.now-t.started-t.others, 0)
	if b := m.busiest; b == nil || s.load().PerWorker() > b.load().PerWorker() {
		m.busiest = s
	}
	if m.charges++; m.charges >= 16*len(m.stages)+1024 {
		m.charges = 0
		for i := range m.stages {
			m.stages[i].stats.load /= 2
		}
	}
}

func (s *stage) load() backpressure.Load {
	return backpressure.Load{Ns: s.stats.load, Width: int64(s.width)}
}

// predict is the memory that the next task of a stage will need, before it is known what it takes.
func (m *Machine) predict(s *stage, a action) int64 {
	if a == process && s.pending.n > 0 {
		p := &s.ports[s.pending.buf[s.pending.head]]
		return m.predictBytes(s, p.q.at(0).item.Bytes)
	}
	return m.predictBytes(s, 0)
}

func (m *Machine) predictFor(s *stage, t *task) int64 { return m.predictBytes(s, t.inBytes) }

// predictBytes is the 95th percentile of what was measured, one block before that, and at most two blocks: a task that needs more asks.
func (m *Machine) predictBytes(s *stage, in int64) int64 {
	p := float64(m.cfg.BlockBytes)
	switch {
	case in > 0 && s.stats.memoryPer.n > 0:
		p = s.stats.memoryPer.high() * float64(in)
	case in == 0 && s.stats.memory.n > 0:
		p = s.stats.memory.high()
	}
	return int64(min(max(p, 0), float64(2*m.cfg.BlockBytes)))
}

func (m *Machine) peaks(s *stage) { s.stats.peak = max(s.stats.peak, m.budget.HeldBy(int(s.id))) }
