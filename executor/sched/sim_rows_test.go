package sched

// simRow is one row: an identity made of its ancestors, and a weight.
type simRow struct {
	id    uint64
	bytes int64
}

// simBlock is a block on its way. Its memory belongs to the stage that made it until the last of its claims is released.
type simBlock struct {
	rows  []simRow
	bytes int64
	owner StageID
	refs  int
}

func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 ^ (b+0x7f4a7c15)*0xbf58476d1ce4e5b9
	x ^= x >> 29
	x *= 0x94d049bb133111eb
	return x ^ x>>32
}

// rowsOf are the rows of one split of a source.
func (p *simPlan) rowsOf(s StageID, split int) []simRow {
	rows := make([]simRow, p.splits[s][split])
	for i := range rows {
		id := uint64(s+1)<<48 | uint64(split)<<24 | uint64(i)
		bytes := p.rowBytes
		if h := mix(id, p.seed); p.big && h%50 == 0 {
			bytes *= int64(1 + h>>32%100)
		}
		rows[i] = simRow{id, p.weight(bytes, id)}
	}
	return rows
}

// weight keeps rows below a quarter of the budget, mostly.
func (p *simPlan) weight(bytes int64, id uint64) int64 {
	most := p.cfg.BudgetBytes / 6
	if p.big && mix(id, 3)%400 == 0 {
		return p.cfg.BudgetBytes/4 + 1
	}
	return min(max(bytes, 16), most)
}

// out are the rows that a stage makes of one row. A limit passes everything here: what it cuts off is accounted for where it does.
func (p *simPlan) out(s StageID, row simRow, into []simRow) []simRow {
	op := &p.ops[s]
	switch op.kind {
	case opFilter:
		if mix(row.id, uint64(s))%100 >= op.keep {
			return into
		}
		return append(into, row)
	case opExpand:
		for j := range op.times {
			id := mix(row.id, uint64(s)<<8|uint64(j))
			into = append(into, simRow{id, p.weight(int64(float64(row.bytes)*op.factor), id)})
		}
		return into
	case opSort, opLimit:
		return append(into, row)
	}
	return append(into, simRow{row.id, p.weight(int64(float64(row.bytes)*op.factor), row.id)})
}

// ledger counts for every sink how often each row should arrive; arrivals and losses are subtracted, and in the end nothing is left.
type ledger struct {
	p     *simPlan
	outs  [][]StageID
	sinks []map[uint64]int
}

func newLedger(p *simPlan) *ledger {
	l := &ledger{p: p, outs: make([][]StageID, len(p.ops)), sinks: make([]map[uint64]int, len(p.ops))}
	for i, s := range p.cfg.Stages {
		for _, pt := range s.Ports {
			l.outs[pt.From] = append(l.outs[pt.From], StageID(i))
		}
		if p.ops[i].kind == opSink {
			l.sinks[i] = map[uint64]int{}
		}
	}
	for i := range p.splits {
		for k := range p.splits[i] {
			l.gave(StageID(i), p.rowsOf(StageID(i), k), 1)
		}
	}
	return l
}

// gave follows rows that stage s puts out to all sinks; took those that it takes in.
func (l *ledger) gave(s StageID, rows []simRow, n int) {
	for _, to := range l.outs[s] {
		l.took(to, rows, n)
	}
}

func (l *ledger) took(s StageID, rows []simRow, n int) {
	if len(rows) == 0 {
		return
	}
	if l.sinks[s] != nil {
		for _, r := range rows {
			l.count(s, r.id, n)
		}
		return
	}
	var out []simRow
	for _, r := range rows {
		out = l.p.out(s, r, out)
	}
	l.gave(s, out, n)
}

func (l *ledger) count(s StageID, id uint64, n int) {
	m := l.sinks[s]
	if m[id] += n; m[id] == 0 {
		delete(m, id)
	}
}
