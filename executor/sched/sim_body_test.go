package sched

import "slices"

// body is the code of a task: it runs as a coroutine and yields what it waits for.
type body struct {
	x     *sim
	t     *simTask
	s     StageID
	yield func(simWait) bool
}

func (b *body) op() *simOp { return &b.x.p.ops[b.s] }

func (b *body) sleep(ns int64) { b.yield(simWait{sleep: max(ns, 1)}) }

func (b *body) run() {
	switch b.t.fx.TaskKind {
	case TaskRead:
		b.read(b.t.items[0].Block.(int))
	case TaskProcess:
		for i, it := range b.t.items {
			b.processItem(it, i == len(b.t.items)-1)
		}
	case TaskDeliver:
		b.deliverReady()
	case TaskFlush:
		b.flush()
	case TaskMerge:
		b.merge()
	case TaskPartition:
		n := b.t.fx.N
		rows := b.x.stages[b.s].merged[n]
		b.x.stages[b.s].merged[n] = nil
		b.sleep(b.op().ns)
		b.emit(rows, true)
	}
}

// over says whether the run was cancelled or nobody wants the output: the driver's emit fails then.
func (b *body) over() bool {
	st := &b.x.stages[b.s]
	return b.x.over || st.dead || st.stop
}

func (b *body) service(rows int) {
	op := b.op()
	ns := op.ns + op.ns*int64(rows)/8
	if op.skew && b.x.r.IntN(20) == 0 {
		ns *= 50
	}
	b.sleep(ns/2 + b.x.r.Int64N(ns+1))
	if op.blocking && b.x.r.IntN(4) == 0 {
		b.yield(simWait{ev: Event{Kind: EvBlock, Reason: "a disk"}, wait: true, after: 1 + b.x.r.Int64N(20*op.ns)})
	}
	if op.retries && b.x.r.IntN(8) == 0 {
		b.yield(simWait{ev: Event{Kind: EvRetry, Bytes: 1 + b.x.r.Int64N(50*op.ns)}, wait: true})
	}
}

func (b *body) read(split int) {
	rows := b.x.p.rowsOf(b.s, split)
	per := 1 + b.x.r.IntN(8)
	for len(rows) > 0 {
		if b.over() {
			b.x.led.gave(b.s, rows, -1)
			return
		}
		n := min(per, len(rows))
		b.service(n)
		b.emit(rows[:n], n == len(rows))
		rows = rows[n:]
	}
}

func (b *body) processItem(it Item, last bool) {
	x, blk := b.x, it.Block.(*simBlock)
	var readBack int64
	if it.Spilled {
		if !x.stages[b.s].spilled[b.t.fx.Port][blk] {
			x.failf("spill", "stage %d got a block marked as spilled that was not", b.s)
		}
		delete(x.stages[b.s].spilled[b.t.fx.Port], blk)
		if b.need(it.Bytes) {
			readBack = it.Bytes
		}
	}
	if b.over() || b.t.stop {
		x.led.took(b.s, blk.rows, -1)
	} else {
		b.service(len(blk.rows))
		b.apply(blk.rows, last)
	}
	if it.Spilled {
		b.t.credit += readBack
		return
	}
	x.release(blk)
}

func (b *body) apply(rows []simRow, last bool) {
	x, op := b.x, b.op()
	st := &x.stages[b.s]
	switch op.kind {
	case opSink:
		for _, r := range rows {
			x.led.count(b.s, r.id, -1)
		}
		if n := int64(float64(len(rows)) * op.factor * 100); n > 0 && b.need(n) {
			b.t.credit += n
		}
		return
	case opLimit:
		n := min(len(rows), op.limit-st.passed)
		st.passed += n
		x.led.gave(b.s, rows[n:], -1)
		b.t.stop = st.passed >= op.limit
		rows = rows[:n]
	case opSort:
		b.keep(rows)
		return
	case opAsync:
		b.submit(rows)
		return
	}
	var out []simRow
	for _, r := range rows {
		out = x.p.out(b.s, r, out)
	}
	if op.kind == opMap && !x.p.cfg.Stages[b.s].Ordered && len(out) > 1 && x.r.IntN(10) == 0 && b.t.w.held == nil {
		b.t.w.held, out = out[len(out)-1:], out[:len(out)-1]
	}
	b.emit(out, last)
}

// keep adds rows to the state of a sort; when the budget has no room for them it spills everything it has.
func (b *body) keep(rows []simRow) {
	w := b.t.w
	w.state = append(w.state, rows...)
	var n int64
	for _, r := range rows {
		n += r.bytes
	}
	if b.try(n) {
		w.stateMem += n
		return
	}
	if n = w.stateMem; n > 0 {
		w.stateMem = 0
		b.sleep(100)
		b.x.freed(b.s, n)
	}
}

// submit starts a call for each few rows and waits while the window is full.
func (b *body) submit(rows []simRow) {
	x, op, w := b.x, b.op(), b.t.w
	for len(rows) > 0 {
		for w.inFlight+len(w.ready) >= op.window {
			if !b.deliverReady() {
				if x.r.IntN(2) == 0 {
					b.sleep(op.ns) // a call may end between the look at the window and the event
				}
				b.yield(simWait{ev: Event{Kind: EvAsyncFull}, wait: true})
				if x.over {
					x.led.took(b.s, rows, -1)
					return
				}
			}
		}
		n := min(len(rows), 1+x.r.IntN(4))
		part := rows[:n]
		rows = rows[n:]
		w.inFlight++
		b.yield(simWait{ev: Event{Kind: EvAsyncStart, Stage: b.s, Worker: w.id}})
		x.queue.push(x.now+1+x.r.Int64N(op.ns*30), func() {
			w.inFlight--
			w.ready = append(w.ready, part)
			x.step(Event{Kind: EvAsyncReady, Stage: b.s, Worker: w.id})
		})
	}
	b.deliverReady()
}

func (b *body) deliverReady() bool {
	w := b.t.w
	if len(w.ready) == 0 {
		return false
	}
	ready := w.ready
	w.ready = nil
	b.yield(simWait{ev: Event{Kind: EvAsyncTaken, Stage: b.s, Worker: w.id, N: len(ready)}})
	for _, rows := range ready {
		var out []simRow
		for _, r := range rows {
			out = b.x.p.out(b.s, r, out)
		}
		b.sleep(1)
		b.emit(out, false)
	}
	return true
}

func (b *body) flush() {
	w := b.t.w
	if w.flushed {
		b.x.failf("flush once", "worker %d of stage %d was flushed twice", w.id, b.s)
	}
	w.flushed = true
	held := w.held
	w.held = nil
	b.emit(held, b.x.r.IntN(2) == 0)
}

func (b *body) merge() {
	x := b.x
	st := &x.stages[b.s]
	var all []simRow
	ids := make([]WorkerID, 0, len(st.workers))
	for id, w := range st.workers {
		if !w.flushed {
			x.failf("flush once", "stage %d merges before worker %d was flushed", b.s, id)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		all = append(all, st.workers[id].state...)
	}
	st.closed = true
	slices.SortFunc(all, func(a, b simRow) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	b.sleep(b.op().ns)
	b.t.parts = x.r.IntN(6)
	if len(all) > 0 {
		b.t.parts = max(b.t.parts, 1)
	}
	st.merged = make([][]simRow, b.t.parts)
	for i, r := range all {
		k := i * b.t.parts / len(all)
		st.merged[k] = append(st.merged[k], r)
	}
}

// need gets n bytes, waiting for them; false means that they can never be had. It takes what was granted before first.
func (b *body) need(n int64) bool {
	t := b.t
	if short := n - t.credit; short > 0 {
		t.denied = false
		b.yield(simWait{ev: Event{Kind: EvMemory, Bytes: short}})
		if t.denied {
			return false
		}
	}
	if t.credit < n {
		b.x.failf("grants", "task %d of stage %d went on with %d bytes and needs %d", t.id, b.s, t.credit, n)
		return false
	}
	t.credit -= n
	return true
}

func (b *body) try(n int64) bool {
	t := b.t
	if short := n - t.credit; short > 0 {
		t.denied = false
		b.yield(simWait{ev: Event{Kind: EvMemory, Bytes: short, Try: true}})
		if t.denied {
			return false
		}
	}
	t.credit -= n
	return true
}

// emit seals blocks as they fill and hands them over; the last may be kept for EvTaskDone. A row that can never have memory is lost.
func (b *body) emit(rows []simRow, last bool) {
	x := b.x
	for len(rows) > 0 {
		n, bytes := 1, rows[0].bytes
		for n < len(rows) && bytes+rows[n].bytes <= x.p.seal {
			bytes += rows[n].bytes
			n++
		}
		part := rows[:n:n]
		rows = rows[n:]
		if !b.need(bytes) {
			x.chk.denied++
			x.led.gave(b.s, part, -1)
			continue
		}
		blk := &simBlock{rows: part, bytes: bytes, owner: b.s, refs: max(1, len(x.led.outs[b.s]))}
		x.chk.live++
		item := Item{Bytes: bytes, Rows: int64(n), Block: blk}
		if last && len(rows) == 0 && b.op().early {
			b.t.final = append(b.t.final, item)
			x.chk.emitted(b.t, blk)
			return
		}
		x.chk.emitted(b.t, blk)
		b.yield(simWait{ev: Event{Kind: EvEmit, Items: []Item{item}}})
	}
}
