package sched

// The model is a second, slow account of what the machine should know, kept from events and effects alone.

type mEntry struct {
	b     *simBlock
	bytes int64
	where where
}

type mPort struct {
	from   StageID
	phase  int
	room   int64
	q      []mEntry
	ended  bool
	active int
}

func (p *mPort) inMemory() (items int, bytes int64) {
	for _, e := range p.q {
		if e.where != onDisk {
			items++
			bytes += max(e.bytes, 1024)
		}
	}
	return items, bytes
}

func (p *mPort) full() bool {
	items, bytes := p.inMemory()
	return items > 2 && bytes > p.room
}

func (p *mPort) finished() bool { return p.ended && len(p.q) == 0 && p.active == 0 }

type mStage struct {
	id            StageID
	c             Stage
	most          int
	ports         []mPort
	outs          []outRef2
	stopped, dead bool
	ended         bool
	opened        int
	active        int
	running       int
	flushes       int
	parts, part   int
	merged        bool
	held          int64
	order         []*mTask // started and not passed on, oldest first
	splits        int
	credit        int
	listing       bool
	inFlight      int
	ready         int
	begun         bool
	now           int // phase
}

type outRef2 struct {
	to   StageID
	port int
}

type mTask struct {
	id        TaskID
	s         *mStage
	kind      TaskKind
	port      int
	worker    WorkerID
	state     taskState
	granted   int64
	begunWith int64
	want      int64
	buf       []Item
	bufN      int64
	done      bool
}

func (c *checker) oldest(t *mTask) bool {
	return t.s.c.Ordered && len(t.s.order) > 0 && t.s.order[0] == t
}

func (c *checker) blocked(s *mStage) bool {
	for _, o := range s.outs {
		to := &c.stages[o.to]
		if !to.stopped && to.ports[o.port].full() {
			return true
		}
	}
	return false
}

// phase is the lowest phase with an unfinished port. A phase is not over while calls of it are in flight.
func (s *mStage) phase() int {
	low, found := 0, false
	for i := range s.ports {
		if p := &s.ports[i]; !p.finished() && (!found || p.phase < low) {
			low, found = p.phase, true
		}
	}
	if !s.begun || (low > s.now && s.inFlight+s.ready == 0) {
		s.begun, s.now = true, low
	}
	return s.now
}

// takeable is what a task could take now.
func (s *mStage) takeable() int {
	if s.stopped {
		return 0
	}
	if s.c.Source {
		return s.splits
	}
	n, ph := 0, s.phase()
	for i := range s.ports {
		p := &s.ports[i]
		if p.phase == ph && len(p.q) > 0 && p.q[0].where != spilling {
			n += len(p.q)
		}
	}
	return n
}

// pass gives items to all consumers that still listen.
func (c *checker) pass(s *mStage, items []Item) {
	for _, it := range items {
		for _, o := range s.outs {
			if to := &c.stages[o.to]; !to.stopped {
				p := &to.ports[o.port]
				p.q = append(p.q, mEntry{it.Block.(*simBlock), it.Bytes, inMemory})
			}
		}
	}
}

func (c *checker) emit(t *mTask, items []Item) {
	if t.s.c.Ordered && !c.oldest(t) && !t.s.dead {
		t.buf = append(t.buf, items...)
		for _, it := range items {
			t.bufN += it.Bytes
		}
		return
	}
	c.pass(t.s, items)
}

func (c *checker) finishOrder(t *mTask) {
	t.done = true
	s := t.s
	for len(s.order) > 0 {
		h := s.order[0]
		c.pass(s, h.buf)
		h.buf, h.bufN = nil, 0
		if !h.done {
			return
		}
		s.order = s.order[1:]
	}
}

// stop is the definition: no more input, and producers that nobody listens to stop in turn.
func (c *checker) stop(s *mStage) {
	if s.stopped || s.ended {
		return
	}
	s.stopped = true
	if s.c.Source {
		c.mustStop[s.id] = true
	}
	for i := range s.ports {
		p := &s.ports[i]
		kept := p.q[:0]
		for _, e := range p.q {
			if e.where == spilling {
				kept = append(kept, e)
			}
		}
		p.q = kept
		from := &c.stages[p.from]
		dead := true
		for _, o := range from.outs {
			dead = dead && c.stages[o.to].stopped
		}
		if dead && !from.ended {
			from.dead = true
			c.stop(from)
		}
	}
}

func (c *checker) cancel() {
	for i := range c.stages {
		c.stages[i].dead = true
		c.stop(&c.stages[i])
	}
}

// outside says whether anything but a running task can still report.
func (c *checker) outside() bool {
	for i := range c.stages {
		s := &c.stages[i]
		if s.inFlight > 0 || (s.listing && (s.credit > 0 || s.stopped)) {
			return true
		}
		for k := range s.ports {
			for _, e := range s.ports[k].q {
				if e.where == spilling {
					return true
				}
			}
		}
	}
	for _, t := range c.tasks {
		if t.state == waitOutside || t.state == waitRetry || t.state == waitAsync {
			return true
		}
	}
	return false
}

// outsideIsSpill says whether spills are all that is awaited.
func (c *checker) outsideIsSpill() bool {
	for _, t := range c.tasks {
		if t.state == waitOutside || t.state == waitRetry || t.state == waitAsync {
			return false
		}
	}
	for i := range c.stages {
		if s := &c.stages[i]; s.inFlight > 0 || (s.listing && (s.credit > 0 || s.stopped)) {
			return false
		}
	}
	return true
}

// roomAtLeast is what a stage can surely be granted; extra is the overdraft if it may be used.
func (c *checker) roomAtLeast(s *mStage, extra int64) int64 {
	b := &c.x.m.budget
	var over int64
	for i := range c.stages {
		st := &c.stages[i]
		over += max(0, c.total(st)-b.Accounts[i].Reserved)
	}
	return max(0, b.Accounts[s.id].Reserved-c.total(s)) + max(0, b.Shared+extra-over)
}

// total is what a stage holds, workers included.
func (c *checker) total(s *mStage) int64 {
	if s.ended {
		return s.held
	}
	return s.held + s.c.OffHeap*int64(s.opened)
}
