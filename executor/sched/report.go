package sched

import "github.com/sluice-data/sluice/backpressure"

// Wait is what waits for one reason cost a stage.
type Wait struct {
	Policy string
	Tasks  int   // waiting now
	TaskNs int64 // that tasks waited, summed, those waiting now included
	IdleNs int64 // in which the stage ran nothing for this reason
}

// StageSnapshot is what a display shows of one stage.
type StageSnapshot struct {
	Stage   StageID
	Name    string
	State   string // "open", "flushing", "merging", "partitioning", "closing", "ended"
	Stopped bool

	QueuedItems, QueuedBytes int64 // in memory, all ports; for a source: splits listed and not begun
	OnDiskItems              int64 // queued and spilled
	BufferedBytes            int64 // waiting for an older task of an ordered stage
	Tasks, Running           int   // tasks begun and not done, and of these running
	Workers, MaxWorkers      int
	InFlight                 int   // calls
	HeldBytes, PeakBytes     int64 // of memory granted
	ReservedBytes            int64

	DoneTasks, Blocks, Rows, Bytes int64 // given so far
	DroppedItems                   int64
	SpilledBlocks, SpilledBytes    int64
	Overdrafts                     int64
	WorkingNs                      int64 // in which at least one task ran
	BusyNs, LoadNs                 int64 // computing; and per worker, halved now and then, the time in which workers were the limit

	ServiceNs float64 // mean of a task
	BytesPer  float64 // out per byte in
	RowsPer   float64 // out per row in
	MemoryPer float64 // high mark of bytes of memory per byte in
	Reason    Reason  // why it does not run (more); empty when it runs as much as it can
	Waits     []Wait
}

// Snapshot is the whole machine at one moment. Slices are reused from one call to the next.
type Snapshot struct {
	Stages           []StageSnapshot
	Slots, SlotsBusy int
	BudgetBytes      int64
	HeldBytes        int64
	OverdraftInUse   bool
	Bottleneck       StageID // -1 when nothing was measured
	Running, Tasks   int
	Outside          int  // waits that only an event can end
	Stalled          bool // nothing runs and nothing outside is awaited, though the run has not ended: a defect
}

var lifeNames = [...]string{"open", "flushing", "merging", "partitioning", "closing", "ended"}

// At tells the machine the time without an event, so that a snapshot of a run in which nothing happens says for how long.
func (m *Machine) At(now int64) { m.now = max(m.now, now) }

// Snapshot fills into.
func (m *Machine) Snapshot(into *Snapshot) {
	stages := into.Stages
	*into = Snapshot{Slots: m.cfg.Slots, SlotsBusy: m.slotsBusy, BudgetBytes: m.cfg.BudgetBytes, HeldBytes: m.budget.Held(),
		OverdraftInUse: !m.budget.OverdraftFree(), Bottleneck: -1, Running: m.running, Tasks: m.active, Outside: m.outside,
		Stalled: m.started && m.left > 0 && m.running == 0 && m.outside == 0}
	if m.busiest != nil {
		into.Bottleneck = m.busiest.id
	}
	if len(stages) != len(m.stages) {
		stages = make([]StageSnapshot, len(m.stages))
	}
	into.Stages = stages
	for i := range m.stages {
		m.stageSnapshot(&m.stages[i], &stages[i])
	}
	for _, t := range m.tasks {
		if t.state != idleTask && t.state != running {
			w := &stages[t.stage.id].Waits[t.state.kind()-1]
			w.Tasks++
			w.TaskNs += m.now - t.since
		}
	}
}

func (m *Machine) stageSnapshot(s *stage, o *StageSnapshot) {
	waits := o.Waits[:0]
	st := &s.stats
	*o = StageSnapshot{Stage: s.id, Name: s.cfg.Name, State: lifeNames[s.life], Stopped: s.stopped,
		BufferedBytes: s.serials.buffered, Tasks: s.active, Running: s.running, Workers: s.opened, MaxWorkers: s.most, InFlight: s.inFlight,
		HeldBytes: m.budget.HeldBy(int(s.id)), PeakBytes: st.peak, ReservedBytes: m.budget.Accounts[s.id].Reserved + m.budget.Accounts[s.id].Permit,
		DoneTasks: st.tasks - int64(s.active), Blocks: st.blocks, Rows: st.rows, Bytes: st.bytes, DroppedItems: st.dropped,
		SpilledBlocks: st.spilledBlocks, SpilledBytes: st.spilledBytes, Overdrafts: st.overdrafts, BusyNs: st.busy, LoadNs: s.load().PerWorker(),
		ServiceNs: st.service.mean, BytesPer: st.bytesPer.mean, RowsPer: st.rowsPer.mean, MemoryPer: st.memoryPer.high(), Reason: m.Why(s.id)}
	for i := range s.ports {
		p := &s.ports[i]
		o.QueuedItems += int64(p.items)
		o.QueuedBytes += p.bytes
		o.OnDiskItems += int64(p.q.n - p.items)
	}
	for k := waitKind(1); k < waitKinds; k++ {
		idle := st.idle[k]
		if k == s.held {
			idle += max(s.upTo(m.now)-s.since, 0)
		}
		waits = append(waits, Wait{waitNames[k], 0, st.waits[k], idle})
	}
	o.Waits = waits
	if o.WorkingNs = st.idle[byNothing]; s.held == byNothing {
		o.WorkingNs += max(s.upTo(m.now)-s.since, 0)
	}
}

// upTo is now, or the end of the stage.
func (s *stage) upTo(now int64) int64 {
	if s.life == ended {
		return s.endedAt
	}
	return now
}

// Why says what keeps a stage from doing more than it does: which policy holds it, and the numbers that would have to change. It is
// empty for a stage that has ended, and policy "slot" with room to spare means that it goes on with the next event.
func (m *Machine) Why(id StageID) Reason {
	if id < 0 || int(id) >= len(m.stages) {
		return Reason{}
	}
	s := &m.stages[id]
	if s.life == ended {
		return Reason{}
	}
	if s.running == 0 && s.active > 0 {
		if r, ok := m.whyParked(s); ok {
			return r
		}
	}
	if m.cancelled && s.active+s.inFlight > 0 {
		return Reason{Policy: "cancelled", Have: int64(s.active + s.inFlight), Unit: "tasks"}
	}
	a := s.work(m.dead(s))
	if a == nothing {
		if r, ok := m.whyEmpty(s); ok {
			return r
		}
		a = process
	}
	m.look(s, a)
	m.lookCloser(s)
	return Reason(backpressure.Start.Decide(&m.snap).Reason)
}

// lookCloser adds to the snapshot what only worded reasons need.
func (m *Machine) lookCloser(s *stage) {
	if s.outFull > 0 {
		r := m.outputReason(s)
		m.snap.FullStage, m.snap.EdgeBytes, m.snap.EdgeRoom = r.Stage, r.Have, r.Need
	}
	for i := range s.ports {
		if p := &s.ports[i]; p.phase == s.phase && !p.finished && p.from != nil {
			m.snap.PhaseStage = p.from.cfg.Name
			return
		}
	}
}

// whyEmpty explains a stage without anything to begin.
func (m *Machine) whyEmpty(s *stage) (Reason, bool) {
	switch {
	case s.inFlight > 0:
		return Reason{Policy: waitNames[byAsync], Have: int64(s.inFlight), Unit: "calls"}, true
	case s.active > 0:
		return Reason{Policy: backpressure.Input, Have: 0, Need: 1, Unit: "blocks"}, true
	}
	for i := range s.ports {
		if s.ports[i].spillN > 0 {
			return Reason{Policy: "spill", Have: int64(s.ports[i].spillN), Unit: "blocks"}, true
		}
	}
	if s.listing && s.stopped {
		return Reason{Policy: "listing", Unit: "splits"}, true
	}
	return Reason{}, false
}

// whyParked explains a stage all of whose tasks wait by what the first of them waits for.
func (m *Machine) whyParked(s *stage) (Reason, bool) {
	var first *task
	for _, t := range m.tasks {
		if t.state != idleTask && t.stage == s && (first == nil || t.since < first.since) {
			first = t
		}
	}
	if first == nil {
		return Reason{}, false
	}
	return m.whyTask(first), true
}

func (m *Machine) whyTask(t *task) Reason {
	s := t.stage
	switch t.state {
	case waitSlot:
		return Reason{Policy: waitNames[bySlot], Have: int64(m.slotsBusy), Need: int64(m.cfg.Slots) + 1, Unit: "slots"}
	case waitOutput:
		if s.outFull > 0 {
			return m.outputReason(s)
		}
		return Reason{Policy: waitNames[bySlot], Have: int64(m.slotsBusy), Need: int64(m.cfg.Slots) + 1, Unit: "slots"}
	case waitOrder:
		return Reason{Policy: waitNames[byOrder], Stage: s.cfg.Name, Have: s.serials.at(t.serial).bytes, Need: m.orderRoom(t), Unit: "bytes"}
	case waitMemory:
		first := s.memParked.first // the others wait behind it
		return Reason{Policy: waitNames[byMemory], Have: m.room(s, m.oldest(first)), Need: first.want, Unit: "bytes"}
	case waitOutside:
		return Reason{Policy: waitNames[byBlocking], Stage: t.reason, Have: m.now - t.since, Unit: "ns"}
	case waitAsync:
		return Reason{Policy: waitNames[byAsync], Have: int64(s.workers[t.worker].inFlight), Unit: "calls"}
	case waitRetry:
		return Reason{Policy: waitNames[byRetry], Have: m.now, Need: t.until, Unit: "ns"}
	}
	return Reason{}
}

// TaskInfo is one task that has begun and is not done.
type TaskInfo struct {
	Task    TaskID
	Stage   StageID
	Worker  WorkerID
	Kind    TaskKind
	Running bool
	SinceNs int64 // how long it has been running or waiting
	Reason  Reason
	Granted int64
}

// Tasks appends all tasks that have begun and are not done.
func (m *Machine) Tasks(into []TaskInfo) []TaskInfo {
	for _, t := range m.tasks {
		if t.state == idleTask {
			continue
		}
		into = append(into, TaskInfo{t.id, t.stage.id, t.worker, t.kind, t.state == running, m.now - t.since, m.whyTask(t), t.granted})
	}
	return into
}
