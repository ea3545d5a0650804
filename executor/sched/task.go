package sched

// taskState says what a task does or waits for.
type taskState uint8

const (
	idleTask    taskState = iota // the number is free
	running                      // holds a slot if its stage needs one
	waitSlot                     // may go on but for a slot
	waitOutput                   // an outgoing edge is over its room
	waitOrder                    // older tasks of its stage go first
	waitMemory                   // want bytes were not to be had
	waitOutside                  // EvBlock: the driver says when it is over
	waitAsync                    // the window of calls is full
	waitRetry                    // until a time
)

// kind is the policy under which a wait is counted.
func (s taskState) kind() waitKind {
	switch s {
	case waitSlot:
		return bySlot
	case waitOutput:
		return byOutput
	case waitOrder:
		return byOrder
	case waitMemory:
		return byMemory
	case waitOutside:
		return byBlocking
	case waitAsync:
		return byAsync
	case waitRetry:
		return byRetry
	}
	return byNothing
}

type task struct {
	id     TaskID
	stage  *stage
	worker WorkerID
	kind   TaskKind
	port   int
	state  taskState
	reason string // of EvBlock

	serial    int64 // of an ordered stage
	want      int64 // bytes asked for
	granted   int64 // all bytes granted for it
	begunWith int64 // of these, with its start
	until     int64

	since   int64 // when the state began
	started int64
	others  int64 // ns in which others held it: output, order, memory, slot

	items             []Item
	inBytes, inRows   int64
	outBytes, outRows int64

	list       *taskList
	prev, next *task
}

// taskList is a FIFO of tasks linked through them.
type taskList struct {
	first, last *task
	n           int
}

func (l *taskList) push(t *task) {
	t.list, t.prev, t.next = l, l.last, nil
	if l.last != nil {
		l.last.next = t
	} else {
		l.first = t
	}
	l.last = t
	l.n++
}

func (l *taskList) pushFront(t *task) {
	t.list, t.prev, t.next = l, nil, l.first
	if l.first != nil {
		l.first.prev = t
	} else {
		l.last = t
	}
	l.first = t
	l.n++
}

// leave takes t out of the list it is in, if any.
func (t *task) leave() {
	l := t.list
	if l == nil {
		return
	}
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		l.first = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	} else {
		l.last = t.prev
	}
	l.n--
	t.list, t.prev, t.next = nil, nil, nil
}

// newTask takes a free task or makes one.
func (m *Machine) newTask() *task {
	if n := len(m.free); n > 0 {
		t := m.tasks[m.free[n-1]]
		m.free = m.free[:n-1]
		return t
	}
	t := &task{id: TaskID(len(m.tasks))}
	m.tasks = append(m.tasks, t)
	return t
}

// setState moves a task from one state to another and keeps the counters: slots, running tasks, waits outside, and time by reason.
func (m *Machine) setState(t *task, to taskState) {
	s := t.stage
	t.leave()
	switch t.state {
	case running:
		m.running--
		s.running--
		if !s.cfg.NoCPU {
			m.slotsBusy--
		}
	case waitOutside, waitAsync, waitRetry:
		m.outside--
		s.stats.waits[t.state.kind()] += m.now - t.since
	case waitSlot, waitOutput, waitOrder, waitMemory:
		s.stats.waits[t.state.kind()] += m.now - t.since
		t.others += m.now - t.since
	}
	t.state, t.since = to, m.now
	switch to {
	case running:
		m.running++
		s.running++
		if !s.cfg.NoCPU {
			m.slotsBusy++
		}
	case waitOutside, waitAsync, waitRetry:
		m.outside++
	case waitSlot:
		if m.oldest(t) {
			s.resumable.pushFront(t)
		} else {
			s.resumable.push(t)
		}
	case waitOutput:
		s.outParked.push(t)
	case waitMemory:
		if m.oldest(t) {
			s.memParked.pushFront(t)
		} else {
			s.memParked.push(t)
		}
	}
}
