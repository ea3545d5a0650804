package sched

// order keeps what tasks of an ordered stage emit until all older tasks are done. Only the oldest task's items go straight downstream.
type order struct {
	buf      []orderEntry // a ring by serial number; the length is a power of two
	head     int64        // serial of the oldest task that is not done
	n        int          // tasks begun and not passed on
	buffered int64        // bytes that wait
}

type orderEntry struct {
	t     *task // nil when done
	items []Item
	bytes int64
}

func (o *order) at(serial int64) *orderEntry { return &o.buf[serial&int64(len(o.buf)-1)] }

// begin gives t the next serial number.
func (o *order) begin(t *task) {
	if o.n == len(o.buf) {
		grown := make([]orderEntry, max(8, 2*len(o.buf)))
		for i := range int64(o.n) {
			grown[(o.head+i)&int64(len(grown)-1)] = *o.at(o.head + i)
		}
		o.buf = grown
	}
	t.serial = o.head + int64(o.n)
	o.n++
	o.at(t.serial).t = t
}

// oldest says whether t is the task that all others of its ordered stage wait for.
func (m *Machine) oldest(t *task) bool {
	return t.stage.cfg.Ordered && t.serial == t.stage.serials.head
}

// buffer keeps items of a task that is not the oldest.
func (o *order) buffer(t *task, items []Item) {
	e := o.at(t.serial)
	e.items = append(e.items, items...)
	for i := range items {
		e.bytes += items[i].Bytes
		o.buffered += items[i].Bytes
	}
}

// orderRoom is what one task may buffer: a block, or the memory it was granted to begin with.
func (m *Machine) orderRoom(t *task) int64 { return max(m.cfg.BlockBytes, t.begunWith) }

// finishOrdered marks t done and passes on everything that waited for it only.
func (m *Machine) finishOrdered(t *task) {
	s := t.stage
	o := &s.serials
	o.at(t.serial).t = nil
	for o.n > 0 {
		e := o.at(o.head)
		m.passOn(s, e.items)
		clear(e.items)
		o.buffered -= e.bytes
		e.items, e.bytes = e.items[:0], 0
		if e.t != nil {
			m.promote(e.t)
			return
		}
		o.head++
		o.n--
	}
}

// promote lets a task that became the oldest go on.
func (m *Machine) promote(t *task) {
	switch t.state {
	case waitOrder:
		if t.stage.outFull > 0 {
			m.setState(t, waitOutput)
		} else {
			m.setState(t, waitSlot)
		}
	case waitMemory, waitSlot:
		l := t.list
		t.leave()
		l.pushFront(t)
		if t.state == waitMemory {
			m.serve(t.stage) // the permit is its now
		}
	}
}
