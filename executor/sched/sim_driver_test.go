package sched

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
)

// sim drives a machine with imaginary workers on an imaginary clock.
type sim struct {
	p        *simPlan
	m        *Machine
	r        *rand.Rand
	now      int64
	queue    agenda
	tasks    map[TaskID]*simTask
	stages   []simStage
	led      *ledger
	chk      *checker
	out      []Effect
	steps    int
	credit   []int // splits that may be listed
	stepping bool  // effects are being carried out
	done     bool
	over     bool // cancelled
	fail     error
}

// simStage is what the driver knows of a stage.
type simStage struct {
	workers map[WorkerID]*simWorker
	listed  int
	ended   bool // EvListed was sent
	stop    bool // the source was told to stop
	dead    bool // FxStopStage came
	passed  int  // rows that the limit let through
	merged  [][]simRow
	spilled []map[*simBlock]bool // by port
	closed  bool
}

// simWorker is an operator instance.
type simWorker struct {
	id       WorkerID
	state    []simRow
	stateMem int64
	held     []simRow // rows kept back until Flush
	inFlight int
	ready    [][]simRow
	flushed  bool
	busy     bool
}

type simTask struct {
	id     TaskID
	fx     Effect
	items  []Item
	w      *simWorker
	credit int64 // granted and not used
	parked bool  // FxResume has not come
	waits  bool  // it will be advanced by FxResume
	denied bool
	next   func() (simWait, bool)
	busy   int64
	final  []Item
	stop   bool
	parts  int
	emits  [][]*simBlock
}

// simWait is what a task's body asks the driver for: time to pass, or an event to be sent.
type simWait struct {
	sleep int64
	ev    Event
	wait  bool  // the task goes on with FxResume only
	after int64 // EvBlock: how long
}

// due is something to be done at a time; seq keeps the order of what is due at the same time.
type due struct {
	at  int64
	seq int
	do  func()
}

type agenda struct {
	h   []due
	seq int
}

func (a *agenda) push(at int64, do func()) {
	a.seq++
	a.h = append(a.h, due{at, a.seq, do})
	for i := len(a.h) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.before(i, up) {
			break
		}
		a.h[i], a.h[up] = a.h[up], a.h[i]
		i = up
	}
}

func (a *agenda) before(i, j int) bool {
	return a.h[i].at < a.h[j].at || (a.h[i].at == a.h[j].at && a.h[i].seq < a.h[j].seq)
}

func (a *agenda) pop() due {
	top := a.h[0]
	n := len(a.h) - 1
	a.h[0] = a.h[n]
	a.h = a.h[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return top
		}
		if c+1 < n && a.before(c+1, c) {
			c++
		}
		if !a.before(c, i) {
			return top
		}
		a.h[c], a.h[i] = a.h[i], a.h[c]
		i = c
	}
}

func newSim(p *simPlan) (*sim, error) {
	m, err := New(p.cfg)
	if err != nil {
		return nil, err
	}
	x := &sim{p: p, m: m, r: rand.New(rand.NewPCG(p.seed, 99)), tasks: map[TaskID]*simTask{}, stages: make([]simStage, len(p.ops)),
		led: newLedger(p), credit: make([]int, len(p.ops))}
	for i := range x.stages {
		x.stages[i].workers = map[WorkerID]*simWorker{}
		x.stages[i].spilled = make([]map[*simBlock]bool, len(p.cfg.Stages[i].Ports))
		for k := range x.stages[i].spilled {
			x.stages[i].spilled[k] = map[*simBlock]bool{}
		}
	}
	x.chk = newChecker(x)
	return x, nil
}

// traceEvents prints every event and effect of a plan; set it with SLUICE_SIM_TRACE=1 and SLUICE_SIM_SEED.
var traceEvents = os.Getenv("SLUICE_SIM_TRACE") != ""

const mostSteps = 400_000

// run runs the plan to its end and returns what went wrong.
func (x *sim) run() error {
	x.step(Event{Kind: EvStart})
	if x.p.cancelAt > 0 {
		x.queue.push(x.p.cancelAt, func() { x.over = true; x.step(Event{Kind: EvCancel}) })
	}
	if x.p.drainAt > 0 {
		x.queue.push(x.p.drainAt, func() { x.step(Event{Kind: EvDrain}) })
	}
	for len(x.queue.h) > 0 && x.fail == nil {
		d := x.queue.pop()
		x.now = max(x.now, d.at)
		d.do()
		if x.steps > mostSteps {
			x.failf("termination", "no end after %d events", x.steps)
		}
	}
	if x.fail == nil {
		x.chk.atEnd()
	}
	return x.fail
}

// failf notes the first violation, with the name of the invariant.
func (x *sim) failf(invariant, format string, a ...any) {
	if x.fail == nil {
		x.fail = fmt.Errorf("invariant %q violated at event %d, time %d: %s", invariant, x.steps, x.now, fmt.Sprintf(format, a...))
	}
}

// step sends one event and carries out the effects.
func (x *sim) step(ev Event) {
	if x.fail != nil {
		return
	}
	x.steps++
	ev.Now = x.now
	x.chk.before(&ev)
	x.out = x.m.Step(ev, x.out[:0])
	if err := x.m.Err(); err != nil {
		x.failf("protocol", "%v", err)
		return
	}
	effects := append([]Effect(nil), x.out...)
	if traceEvents {
		fmt.Printf("%d @%d ev %d stage %d worker %d task %d bytes %d return %d items %d stop %v\n", x.steps, x.now, ev.Kind, ev.Stage, ev.Worker, ev.Task, ev.Bytes, ev.Return, len(ev.Items), ev.Stop)
		for _, f := range effects {
			fmt.Printf("     fx %d kind %d stage %d worker %d task %d bytes %d items %d n %d %v\n", f.Kind, f.TaskKind, f.Stage, f.Worker, f.Task, f.Bytes, len(f.Items), f.N, f.Reason)
		}
	}
	x.chk.effects(&ev, effects)
	x.stepping = true
	for i := range effects {
		x.effect(&effects[i])
	}
	x.stepping = false
	x.chk.after()
}

func (x *sim) effect(f *Effect) {
	switch f.Kind {
	case FxStart:
		x.startTask(f)
	case FxPark:
		x.tasks[f.Task].parked, x.tasks[f.Task].waits = true, true
	case FxResume:
		t := x.tasks[f.Task]
		if !t.parked {
			x.failf("protocol", "task %d of stage %d was resumed without being parked", f.Task, f.Stage)
			return
		}
		t.parked = false
		x.queue.push(x.now, func() { x.advance(t) })
	case FxGrant:
		x.tasks[f.Task].credit += f.Bytes
	case FxDeny:
		x.tasks[f.Task].denied = true
	case FxListMore:
		x.credit[f.Stage] += f.N
		x.list(f.Stage)
	case FxStopSource:
		x.stages[f.Stage].stop = true
		x.list(f.Stage)
	case FxStopStage:
		x.stages[f.Stage].dead = true
	case FxDrop:
		x.dropItems(f)
	case FxSpill:
		items := append([]Item(nil), f.Items...)
		x.queue.push(x.now+x.r.Int64N(3000), func() { x.spilled(f.Stage, f.Port, items) })
	case FxTimer:
		x.queue.push(f.Bytes, func() { x.step(Event{Kind: EvTimer}) })
	case FxClose:
		x.closeWorker(f)
	case FxEnded:
		for _, rows := range x.stages[f.Stage].merged {
			x.led.gave(f.Stage, rows, -1)
		}
	case FxDone:
		x.done = true
	}
}

// list reports a split, or the end of the listing, a moment later.
func (x *sim) list(s StageID) {
	st := &x.stages[s]
	x.queue.push(x.now+x.p.listNs, func() {
		n := len(x.p.splits[s])
		switch {
		case st.ended:
		case st.stop || st.listed == n:
			st.ended = true
			for k := st.listed; k < n; k++ {
				x.led.gave(s, x.p.rowsOf(s, k), -1)
			}
			x.step(Event{Kind: EvListed, Stage: s})
		case x.credit[s] > 0:
			x.credit[s]--
			st.listed++
			x.step(Event{Kind: EvSplit, Stage: s, Item: Item{Bytes: int64(x.p.splits[s][st.listed-1]) * x.p.rowBytes, Block: st.listed - 1}})
			x.list(s)
		}
	})
}

func (x *sim) dropItems(f *Effect) {
	for _, it := range f.Items {
		if k, ok := it.Block.(int); ok {
			x.led.gave(f.Stage, x.p.rowsOf(f.Stage, k), -1)
			continue
		}
		b := it.Block.(*simBlock)
		x.led.took(f.Stage, b.rows, -1)
		if it.Spilled {
			continue // its claim on memory ended when it was spilled
		}
		x.release(b)
	}
}

func (x *sim) spilled(s StageID, port int, items []Item) {
	var n int64
	for _, it := range items {
		b := it.Block.(*simBlock)
		x.stages[s].spilled[port][b] = true
		n += it.Bytes
		x.release(b)
	}
	x.step(Event{Kind: EvSpilled, Stage: s, Port: port, Bytes: n})
}

// release gives up one claim; the last frees the memory.
func (x *sim) release(b *simBlock) {
	if b.refs--; b.refs < 0 {
		x.failf("claims", "a block of stage %d was released twice", b.owner)
	} else if b.refs == 0 {
		x.chk.live--
		x.freed(b.owner, b.bytes)
	}
}

// freed tells the machine of memory that is free: at once, or after the effects that are being carried out.
func (x *sim) freed(s StageID, n int64) {
	ev := Event{Kind: EvFreed, Stage: s, Bytes: n}
	if x.stepping {
		x.queue.push(x.now, func() { x.step(ev) })
		return
	}
	x.step(ev)
}

func (x *sim) startTask(f *Effect) {
	t := &simTask{id: f.Task, fx: *f, items: append([]Item(nil), f.Items...), credit: f.Bytes}
	st := &x.stages[f.Stage]
	if f.TaskKind != TaskPartition {
		w := st.workers[f.Worker]
		if w == nil {
			w = &simWorker{id: f.Worker}
			st.workers[f.Worker] = w
		}
		if w.busy {
			x.failf("one task a worker", "worker %d of stage %d was given a second task", f.Worker, f.Stage)
		}
		w.busy, t.w = true, w
	}
	x.tasks[f.Task] = t
	t.next, _ = iter.Pull(func(yield func(simWait) bool) { (&body{x, t, f.Stage, yield}).run() })
	x.queue.push(x.now+x.r.Int64N(200), func() { x.advance(t) })
}

// advance lets a task's body run until it waits.
func (x *sim) advance(t *simTask) {
	for x.fail == nil {
		w, more := t.next()
		if !more {
			x.finish(t)
			return
		}
		if w.sleep > 0 {
			t.busy += w.sleep
			x.queue.push(x.now+w.sleep, func() { x.advance(t) })
			return
		}
		w.ev.Task = t.id
		t.parked, t.waits = w.wait, w.wait
		x.step(w.ev)
		if w.ev.Kind == EvBlock {
			x.queue.push(x.now+w.after, func() { x.step(Event{Kind: EvUnblock, Task: t.id}) })
		}
		if t.waits {
			return
		}
	}
}

func (x *sim) finish(t *simTask) {
	if t.w != nil {
		t.w.busy = false
	}
	delete(x.tasks, t.id)
	x.step(Event{Kind: EvTaskDone, Task: t.id, Items: t.final, BusyNs: t.busy, Return: t.credit, Stop: t.stop, N: t.parts})
}

func (x *sim) closeWorker(f *Effect) {
	w := x.stages[f.Stage].workers[f.Worker]
	if w == nil {
		x.failf("workers", "worker %d of stage %d is closed but was never opened", f.Worker, f.Stage)
		return
	}
	x.led.gave(f.Stage, w.held, -1)
	for _, rows := range w.ready {
		x.led.took(f.Stage, rows, -1)
	}
	if !x.stages[f.Stage].closed {
		x.led.gave(f.Stage, w.state, -1)
	}
	if w.stateMem > 0 {
		x.freed(f.Stage, w.stateMem)
	}
	delete(x.stages[f.Stage].workers, f.Worker)
}
