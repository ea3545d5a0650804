package sched

import "github.com/sluice-data/sluice/backpressure"

// checker compares what the machine does with the model after every event.
type checker struct {
	x          *sim
	stages     []mStage
	tasks      map[TaskID]*mTask
	slots      int
	running    int
	mustStop   map[StageID]bool
	parkDue    *mTask // the task that must be parked by the effects of this event
	live       int    // blocks not released
	denied     int
	deniedLast int // of them for want of memory in this moment, not because they were above a quarter
	doneSeen   bool
	whys       []Reason
	infos      []TaskInfo
	asked      Event
	over       int64 // bytes beyond reservations before it
	answers    int   // effects of it
}

func newChecker(x *sim) *checker {
	c := &checker{x: x, tasks: map[TaskID]*mTask{}, mustStop: map[StageID]bool{}, stages: make([]mStage, len(x.p.ops)), whys: make([]Reason, len(x.p.ops))}
	for i, sc := range x.p.cfg.Stages {
		s := &c.stages[i]
		s.id, s.c, s.most, s.listing = StageID(i), sc, sc.MaxWorkers, sc.Source
		if s.most == 0 {
			s.most = max(x.p.cfg.Slots, sc.MinWorkers)
		}
		for k, p := range sc.Ports {
			room := backpressure.EdgeRoom(x.m.cfg.BlockBytes, s.most)
			s.ports = append(s.ports, mPort{from: p.From, phase: p.Phase, room: room})
			c.stages[p.From].outs = append(c.stages[p.From].outs, outRef2{StageID(i), k})
		}
	}
	for i := range c.stages {
		c.stages[i].phase()
	}
	return c
}

func (c *checker) emitted(*simTask, *simBlock) {}

// before takes an event into the model.
func (c *checker) before(ev *Event) {
	c.parkDue, c.asked, c.over = nil, *ev, c.x.m.budget.Over()
	switch ev.Kind {
	case EvSplit:
		if s := &c.stages[ev.Stage]; !s.stopped {
			s.splits++
			s.credit--
		}
	case EvListed:
		c.stages[ev.Stage].listing = false
	case EvFreed:
		c.stages[ev.Stage].held -= ev.Bytes
	case EvSpilled:
		c.onSpilled(ev)
	case EvCancel:
		c.cancel()
	case EvDrain:
		for i := range c.stages {
			if c.stages[i].c.Source {
				c.stop(&c.stages[i])
			}
		}
	case EvAsyncStart:
		c.stages[ev.Stage].inFlight++
	case EvAsyncReady:
		c.stages[ev.Stage].inFlight--
		c.stages[ev.Stage].ready++
	case EvAsyncTaken:
		c.stages[ev.Stage].ready -= ev.N
	case EvEmit, EvTaskDone, EvMemory, EvBlock, EvUnblock, EvAsyncFull, EvRetry:
		c.beforeTask(ev, c.tasks[ev.Task])
	}
}

func (c *checker) beforeTask(ev *Event, t *mTask) {
	switch ev.Kind {
	case EvEmit:
		c.emit(t, ev.Items)
		switch {
		case t.s.dead:
		case t.s.c.Ordered && !c.oldest(t):
			if t.bufN > max(c.x.m.cfg.BlockBytes, t.begunWith) {
				c.parkDue = t
			}
		case c.blocked(t.s):
			c.parkDue = t
		}
	case EvTaskDone:
		c.emit(t, ev.Items)
		c.setState(t, idleTask)
		t.s.active--
		t.s.held -= ev.Return
		if t.port >= 0 && t.kind == TaskProcess {
			t.s.ports[t.port].active--
		}
		if t.s.c.Ordered {
			c.finishOrder(t)
		}
		if t.kind == TaskMerge {
			t.s.merged, t.s.parts = true, ev.N
		}
		if ev.Stop {
			c.stop(t.s)
		}
		delete(c.tasks, t.id)
	case EvMemory:
		t.want = ev.Bytes
	case EvBlock:
		c.setState(t, waitOutside)
	case EvUnblock:
		c.setState(t, waitSlot)
	case EvAsyncFull:
		c.setState(t, waitAsync)
	case EvRetry:
		c.setState(t, waitRetry)
	}
}

func (c *checker) setState(t *mTask, to taskState) {
	n := 0
	if t.state == running {
		n--
	}
	if to == running {
		n++
	}
	t.state = to
	c.running += n
	t.s.running += n
	if !t.s.c.NoCPU {
		c.slots += n
	}
}

func (c *checker) onSpilled(ev *Event) {
	p := &c.stages[ev.Stage].ports[ev.Port]
	kept := p.q[:0]
	for _, e := range p.q {
		if e.where == spilling {
			if c.stages[ev.Stage].stopped {
				continue
			}
			e.where = onDisk
		}
		kept = append(kept, e)
	}
	p.q = kept
}

// effects follows the answer, one effect after the other.
func (c *checker) effects(ev *Event, fx []Effect) {
	c.answers = len(fx)
	for i := range fx {
		f := &fx[i]
		s := &c.stages[f.Stage]
		switch f.Kind {
		case FxStart:
			c.onStart(s, f)
		case FxPark:
			c.onPark(c.tasks[f.Task], f)
		case FxResume:
			c.setState(c.tasks[f.Task], running)
		case FxGrant:
			t := c.tasks[f.Task]
			t.granted += f.Bytes
			t.want = 0
			s.held += f.Bytes
			c.turn(t, ev)
		case FxDeny:
			c.onDeny(c.tasks[f.Task])
		case FxListMore:
			s.credit += f.N
			if most := max(4, 2*s.most); s.credit+s.splits > most {
				c.x.failf("bounded listing", "source %d may have %d splits listed, %d at most", s.id, s.credit+s.splits, most)
			}
		case FxStopSource:
			delete(c.mustStop, f.Stage)
		case FxSpill:
			c.onSpill(s, f)
		case FxEnded:
			c.onEnded(s)
		case FxDone:
			if c.doneSeen {
				c.x.failf("ends", "FxDone came twice")
			}
			c.doneSeen = true
		}
		if c.slots > c.x.p.cfg.Slots {
			c.x.failf("slots", "%d tasks compute on %d slots", c.slots, c.x.p.cfg.Slots)
		}
		c.checkMemory()
	}
	if c.parkDue != nil {
		c.x.failf("backpressure", "task %d of stage %d goes on though its output has no room", c.parkDue.id, c.parkDue.s.id)
	}
	for s := range c.mustStop {
		c.x.failf("limits stop sources", "source %d was not told to stop", s)
	}
}

func (c *checker) checkMemory() {
	var sum int64
	for i := range c.stages {
		sum += c.total(&c.stages[i])
	}
	if sum > c.x.p.cfg.BudgetBytes {
		c.x.failf("budget", "%d bytes are granted of %d", sum, c.x.p.cfg.BudgetBytes)
	}
}

func (c *checker) onPark(t *mTask, f *Effect) {
	if f.Reason.Policy == "" {
		c.x.failf("reasons", "task %d of stage %d is parked without a reason", t.id, t.s.id)
	}
	if c.parkDue == t {
		c.parkDue = nil
	}
	switch f.Reason.Policy {
	case "output":
		c.setState(t, waitOutput)
	case "order":
		if c.oldest(t) {
			c.x.failf("order", "the oldest task of stage %d is parked for order", t.s.id)
		}
		c.setState(t, waitOrder)
	case "memory":
		c.setState(t, waitMemory)
		b := &c.x.m.budget
		if t.want <= b.Accounts[t.s.id].Reserved-c.total(t.s) && c.onlyWaiter(t) {
			c.x.failf("reservation", "stage %d waits for %d bytes and holds %d of %d reserved", t.s.id, t.want, c.total(t.s), b.Accounts[t.s.id].Reserved)
		}
	default:
		c.x.failf("reasons", "parked for %q", f.Reason.Policy)
	}
}

// turn checks that a task which just asked does not get shared memory that a task nearer to the end waits for.
func (c *checker) turn(t *mTask, ev *Event) {
	m := c.x.m
	if ev.Kind != EvMemory || c.answers > 1 || m.budget.Over() <= c.over {
		return
	}
	for _, o := range c.tasks {
		if o.state == waitMemory && o.want > 0 && m.stages[o.s.id].rank < m.stages[t.s.id].rank {
			c.x.failf("downstream first", "stage %d was granted shared memory that stage %d waits for", t.s.id, o.s.id)
		}
	}
}

func (c *checker) onlyWaiter(t *mTask) bool {
	for _, o := range c.tasks {
		if o != t && o.s == t.s && o.state == waitMemory {
			return false
		}
	}
	return true
}

func (c *checker) onDeny(t *mTask) {
	ev := &c.asked
	if c.x.over || t.want > c.x.p.cfg.BudgetBytes/4 || (ev.Kind == EvMemory && ev.Try && ev.Task == t.id) {
		t.want = 0
		return
	}
	c.deniedLast++
	if c.running > 0 || c.outside() {
		c.x.failf("denial last", "stage %d was denied %d bytes while others can go on", t.s.id, t.want)
	}
	if room := c.roomAtLeast(t.s, c.x.m.budget.Overdraft); t.want <= room && (!t.s.c.Ordered || c.oldest(t)) {
		c.x.failf("denial last", "stage %d was denied %d bytes, the overdraft has %d", t.s.id, t.want, room)
	}
	t.want = 0
}
