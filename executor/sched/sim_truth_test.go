package sched

import "slices"

func (c *checker) onStart(s *mStage, f *Effect) {
	t := &mTask{id: f.Task, s: s, kind: f.TaskKind, port: -1, worker: f.Worker, granted: f.Bytes, begunWith: f.Bytes}
	if c.tasks[f.Task] != nil {
		c.x.failf("protocol", "task number %d is in use", f.Task)
	}
	c.tasks[f.Task] = t
	if s.ended || c.x.over {
		c.x.failf("cancel", "a task of stage %d starts after its end or after cancelling", s.id)
	}
	if f.Worker < 0 || int(f.Worker) >= s.most || s.active >= s.most {
		c.x.failf("workers", "stage %d has %d tasks and starts one on worker %d of %d", s.id, s.active, f.Worker, s.most)
	}
	if f.TaskKind != TaskPartition && int(f.Worker) >= s.opened {
		s.opened++
	}
	if !s.dead && c.blocked(s) {
		c.x.failf("backpressure", "stage %d starts a task though its output has no room", s.id)
	}
	switch f.TaskKind {
	case TaskRead:
		s.splits--
		if s.stopped {
			c.x.failf("limits stop sources", "source %d reads on after it was stopped", s.id)
		}
	case TaskProcess:
		t.port = f.Port
		c.take(s, t, f)
	case TaskFlush:
		if s.flushes++; !s.inputOver() || s.active > 0 && s.flushes == 1 {
			c.x.failf("flush once", "stage %d is flushed before its input is over", s.id)
		}
	case TaskMerge:
		if s.flushes != s.opened || s.active > 0 {
			c.x.failf("flush once", "stage %d merges after %d flushes of %d workers, %d tasks", s.id, s.flushes, s.opened, s.active)
		}
	case TaskPartition:
		if f.N != s.part || !s.merged || f.N >= s.parts {
			c.x.failf("partitions", "stage %d starts partition %d of %d, %d is next", s.id, f.N, s.parts, s.part)
		}
		s.part++
	}
	s.active++
	s.held += f.Bytes
	c.setState(t, running)
	if s.c.Ordered {
		if s.order = append(s.order, t); len(s.order) > 4*s.most {
			c.x.failf("reorder bound", "stage %d has %d tasks begun and not passed on", s.id, len(s.order))
		}
	}
}

// inputOver says whether nothing can come to a stage any more.
func (s *mStage) inputOver() bool {
	if s.c.Source {
		return !s.listing && (s.splits == 0 || s.stopped)
	}
	for i := range s.ports {
		if !s.stopped && !s.ports[i].finished() {
			return false
		}
	}
	return s.inFlight+s.ready == 0
}

// take checks that a task gets what is next in the queue of a port that is accepted.
func (c *checker) take(s *mStage, t *mTask, f *Effect) {
	p := &s.ports[f.Port]
	if s.stopped {
		c.x.failf("limits stop sources", "stage %d takes input after it was stopped", s.id)
		return
	}
	if p.phase != s.phase() {
		c.x.failf("phases", "stage %d takes from port %d of phase %d, phase %d is not over", s.id, f.Port, p.phase, s.phase())
	}
	if len(f.Items) == 0 {
		c.x.failf("queues", "stage %d was given no items", s.id)
	}
	for _, it := range f.Items {
		if len(p.q) == 0 || p.q[0].b != it.Block.(*simBlock) {
			c.x.failf("order", "stage %d, port %d: what a task got was not next in the queue", s.id, f.Port)
			return
		}
		if (p.q[0].where == onDisk) != it.Spilled || p.q[0].where == spilling {
			c.x.failf("spill", "stage %d, port %d: a block is in state %d, the machine says spilled %v", s.id, f.Port, p.q[0].where, it.Spilled)
		}
		p.q = p.q[1:]
	}
	p.active++
}

func (c *checker) onSpill(s *mStage, f *Effect) {
	p := &s.ports[f.Port]
	if p.phase == s.phase() && (c.running > 0 || c.outside() && !c.outsideIsSpill()) {
		c.x.failf("spill", "stage %d spills at port %d, which is accepted", s.id, f.Port)
	}
	for _, it := range f.Items {
		i := slices.IndexFunc(p.q, func(e mEntry) bool { return e.b == it.Block.(*simBlock) && e.where == inMemory })
		if i < 0 {
			c.x.failf("spill", "stage %d spills a block that is not queued in memory", s.id)
			return
		}
		p.q[i].where = spilling
	}
}

func (c *checker) onEnded(s *mStage) {
	if s.active > 0 || s.inFlight > 0 || s.listing {
		c.x.failf("ends", "stage %d ends with %d tasks, %d calls, listing %v", s.id, s.active, s.inFlight, s.listing)
	}
	if !s.dead {
		if s.flushes != max(1, s.opened) {
			c.x.failf("flush once", "stage %d ends after %d flushes of %d workers", s.id, s.flushes, s.opened)
		}
		if s.c.Barrier && (!s.merged || s.part != s.parts) {
			c.x.failf("partitions", "stage %d ends after %d of %d partitions", s.id, s.part, s.parts)
		}
	}
	s.ended = true
	for _, o := range s.outs {
		c.stages[o.to].ports[o.port].ended = true
	}
}

// after checks that nothing stands still without a true reason.
func (c *checker) after() {
	m := c.x.m
	if h := m.budget.Held(); true {
		var sum int64
		for i := range c.stages {
			sum += c.total(&c.stages[i])
		}
		if sum != h {
			c.x.failf("budget", "the machine counts %d bytes, %d are granted", h, sum)
		}
	}
	memoryAhead := len(c.stages)
	for i := range c.stages {
		s := &c.stages[i]
		if s.ended {
			continue
		}
		why := m.Why(s.id)
		c.whys[i] = why
		if why.Policy == "" {
			c.x.failf("work-conserving", "stage %d (%s) could do more and does not; %d of its tasks run", s.id, s.c.Name, s.running)
			return
		}
	}
	c.counters()
	if r := m.memWait.next(0); r >= 0 {
		memoryAhead = r
	}
	for i := range c.stages {
		if s := &c.stages[i]; !s.ended {
			c.truth(s, c.whys[i], memoryAhead)
		}
	}
	c.infos = m.Tasks(c.infos[:0])
	for i := range c.infos {
		c.taskTruth(&c.infos[i], memoryAhead)
	}
}

// counters compares what the machine keeps step by step with what it would compute anew.
func (c *checker) counters() {
	m := c.x.m
	for i := range m.stages {
		s := &m.stages[i]
		a, held := m.next(s)
		set := m.cpu
		if s.cfg.NoCPU {
			set = m.nocpu
		}
		if held == byMemory && set.has(s.rank) && m.slotsBusy == m.cfg.Slots {
			continue // memory went meanwhile; it is looked at again when there is a slot
		}
		if set.has(s.rank) != (a != nothing) {
			c.x.failf("counters", "stage %d (%s): action %d, held %d, and in the set of those that can act: %v", i, s.cfg.Name, a, held, set.has(s.rank))
		}
		if m.memWait.has(s.rank) != (s.memParked.n > 0 || held == byMemory) {
			c.x.failf("counters", "stage %d (%s): action %d, held %d, %d tasks wait for memory, and in the set of those: %v",
				i, s.cfg.Name, a, held, s.memParked.n, m.memWait.has(s.rank))
		}
	}
}

// truth checks the reason of a stage against the model.
func (c *checker) truth(s *mStage, why Reason, memoryAhead int) {
	ok := true
	switch why.Policy {
	case "slot":
		ok = c.slots == c.x.p.cfg.Slots && !s.c.NoCPU
	case "output":
		ok = !s.dead && c.blocked(s)
	case "workers":
		ok = s.active >= s.most
	case "input":
		ok = s.takeable() == 0
	case "phase":
		ok = s.takeable() == 0
	case "order":
		ok = s.c.Ordered && len(s.order) > 0
	case "memory":
		ok = why.Have < why.Need && (why.Need > c.roomAtLeast(s, 0) || memoryAhead < c.x.m.stages[s.id].rank || s.running < s.active)
	case "async":
		ok = s.inFlight > 0
	case "retry", "blocking":
		ok = s.running == 0 && s.active > 0
	case "spill":
		ok = false
		for i := range s.ports {
			ok = ok || slices.ContainsFunc(s.ports[i].q, func(e mEntry) bool { return e.where == spilling })
		}
	case "listing":
		ok = s.listing
	case "cancelled":
		ok = c.x.over && s.active+s.inFlight > 0 || s.listing
	default:
		ok = false
	}
	if !ok {
		c.x.failf("true reasons", "stage %d (%s) says it waits for %+v; %d tasks, %d running, %d to take, %d slots busy, blocked %v",
			s.id, s.c.Name, why, s.active, s.running, s.takeable(), c.slots, c.blocked(s))
	}
}

func (c *checker) taskTruth(ti *TaskInfo, memoryAhead int) {
	t := c.tasks[ti.Task]
	if t == nil || ti.Running != (t.state == running) {
		c.x.failf("protocol", "task %d is in another state than its driver knows", ti.Task)
		return
	}
	if ti.Running {
		return
	}
	ok := true
	switch ti.Reason.Policy {
	case "slot":
		ok = c.slots == c.x.p.cfg.Slots && !t.s.c.NoCPU
	case "output":
		ok = !t.s.dead && c.blocked(t.s)
	case "order":
		ok = !t.s.dead && !c.oldest(t)
	case "memory":
		ok = c.running > 0 || c.outside()
		if rank := c.x.m.stages[t.s.id].rank; ok && memoryAhead >= rank && c.onlyWaiter(t) {
			ok = t.want > c.roomAtLeast(t.s, 0)
		}
	case "async":
		w := &c.x.m.stages[t.s.id].workers[t.worker]
		ok = w.inFlight > 0 && w.ready == 0
	case "retry", "blocking":
		ok = t.state == waitRetry || t.state == waitOutside
	default:
		ok = false
	}
	if !ok {
		c.x.failf("true reasons", "task %d of stage %d (%s) says it waits for %+v; %d slots busy", t.id, t.s.id, t.s.c.Name, ti.Reason, c.slots)
	}
}

// atEnd checks that everything ended and everything is accounted for.
func (c *checker) atEnd() {
	x := c.x
	if !x.m.Ended() || !x.done {
		x.failf("no deadlock", "nothing is left to happen and the run has not ended:%s", c.stuck())
		return
	}
	if c.live != 0 {
		x.failf("claims", "%d blocks were never released", c.live)
	}
	if h := x.m.budget.Held(); h != 0 {
		x.failf("budget", "%d bytes are held after the end", h)
	}
	for s, left := range x.led.sinks {
		if len(left) > 0 {
			for id, n := range left {
				x.failf("every row once", "sink %d: %d rows are off, among them %x by %d (positive: missing, negative: too often)", s, len(left), id, n)
				return
			}
		}
	}
}

func (c *checker) stuck() string {
	s := ""
	for i := range c.stages {
		if st := &c.stages[i]; !st.ended {
			s += "\n    " + st.c.Name + ": " + reasonText(c.x.m.Why(st.id))
		}
	}
	return s
}
