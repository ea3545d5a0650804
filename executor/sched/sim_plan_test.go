package sched

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// opKind is what a simulated stage does to rows.
type opKind int

const (
	opRead opKind = iota
	opMap
	opFilter
	opExpand
	opLimit
	opSort
	opAsync
	opSink
)

var opNames = [...]string{"read", "map", "filter", "expand", "limit", "sort", "async", "sink"}

// simOp is the behaviour of a stage.
type simOp struct {
	kind      opKind
	times     int     // expand: rows out per row
	keep      uint64  // filter: of 100
	factor    float64 // bytes out per byte in
	ns        int64   // of service a block, and as much a row
	skew      bool    // some blocks take 50 times as long
	limit     int
	window    int
	blocking  bool
	retries   bool
	flushRows int // rows that every Flush adds to the last block (held back until then)
	early     bool
}

type simPlan struct {
	seed     uint64
	cfg      Config
	ops      []simOp
	splits   [][]int // by stage: rows of each split
	rowBytes int64
	big      bool // some rows are huge
	cancelAt int64
	drainAt  int64
	seal     int64 // bytes at which operators seal blocks
	listNs   int64
}

func (p *simPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d slots, budget %d, block %d, separate %v, row %d bytes (big %v), seal %d, cancel %d, drain %d\n",
		p.seed, p.cfg.Slots, p.cfg.BudgetBytes, p.cfg.BlockBytes, p.cfg.Separate, p.rowBytes, p.big, p.seal, p.cancelAt, p.drainAt)
	for i, s := range p.cfg.Stages {
		op := p.ops[i]
		fmt.Fprintf(&b, "  %2d %-9s workers %d-%d", i, opNames[op.kind], s.MinWorkers, s.MaxWorkers)
		for _, pt := range s.Ports {
			fmt.Fprintf(&b, " <%d", pt.From)
			if pt.Phase > 0 {
				fmt.Fprintf(&b, "@%d", pt.Phase)
			}
		}
		if s.NoCPU {
			b.WriteString(" nocpu")
		}
		if s.Ordered {
			b.WriteString(" ordered")
		}
		if s.OffHeap > 0 {
			fmt.Fprintf(&b, " offheap %d", s.OffHeap)
		}
		switch op.kind {
		case opRead:
			fmt.Fprintf(&b, " %d splits", len(p.splits[i]))
		case opExpand:
			fmt.Fprintf(&b, " x%d", op.times)
		case opLimit:
			fmt.Fprintf(&b, " %d", op.limit)
		case opAsync:
			fmt.Fprintf(&b, " window %d", op.window)
		}
		fmt.Fprintf(&b, " bytes x%.2g, %d ns", op.factor, op.ns)
		if op.blocking {
			b.WriteString(" blocking")
		}
		if op.retries {
			b.WriteString(" retries")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// gen makes a random plan. The knobs that shrinking turns are its size and which features it may have.
type gen struct {
	r      *rand.Rand
	p      *simPlan
	free   []StageID // stages whose output may be used
	uses   []int
	budget int64
}

func makePlan(seed uint64) *simPlan {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &simPlan{seed: seed}
	g := &gen{r: r, p: p}
	p.cfg.Slots = 1 + r.IntN(6)
	p.cfg.Separate = r.IntN(6) == 0
	ordered := r.IntN(3) == 0
	for range 1 + r.IntN(3)*r.IntN(2) {
		g.source(ordered)
	}
	for range r.IntN(8) {
		g.operator(ordered)
	}
	for i := range p.cfg.Stages {
		if g.uses[i] == 0 {
			g.sink(StageID(i))
		}
	}
	g.sizes()
	if r.IntN(2) == 0 {
		for i := range p.cfg.Stages {
			for k := range p.cfg.Stages[i].Ports {
				p.cfg.Stages[i].Ports[k].Spillable = true
			}
		}
	}
	return p
}

func (g *gen) add(s Stage, op simOp) StageID {
	id := StageID(len(g.p.cfg.Stages))
	s.Name = fmt.Sprintf("%s%d", opNames[op.kind], id)
	if op.kind != opLimit && op.kind != opSort {
		switch g.r.IntN(4) {
		case 0:
			s.MaxWorkers = 1
		case 1:
			s.MinWorkers = 1 + g.r.IntN(2)
			s.MaxWorkers = s.MinWorkers + g.r.IntN(4)
		case 2:
			s.MaxWorkers = 1 + g.r.IntN(8)
		}
	}
	s.TaskBlocks = []int{0, 0, 1, 3}[g.r.IntN(4)]
	op.ns = int64(1) << g.r.IntN(14)
	op.skew = g.r.IntN(4) == 0
	op.early = g.r.IntN(2) == 0
	if op.factor == 0 {
		op.factor = 1
	}
	g.p.cfg.Stages = append(g.p.cfg.Stages, s)
	g.p.ops = append(g.p.ops, op)
	g.p.splits = append(g.p.splits, nil)
	g.uses = append(g.uses, 0)
	for _, pt := range s.Ports {
		g.uses[pt.From]++
	}
	return id
}

func (g *gen) source(ordered bool) {
	id := g.add(Stage{Source: true, Ordered: ordered || g.r.IntN(5) == 0}, simOp{kind: opRead, retries: g.r.IntN(6) == 0})
	n := g.r.IntN(12)
	if g.r.IntN(10) == 0 {
		n = 0
	}
	for range n {
		rows := g.r.IntN(20)
		if g.r.IntN(10) == 0 {
			rows *= 5
		}
		g.p.splits[id] = append(g.p.splits[id], rows)
	}
	g.free = append(g.free, id)
}

// pickInput prefers stages that nobody uses yet; others make forks.
func (g *gen) pickInput() StageID {
	id := g.free[g.r.IntN(len(g.free))]
	if g.uses[id] > 0 && g.r.IntN(3) > 0 {
		id = g.free[len(g.free)-1]
	}
	return id
}

func (g *gen) operator(ordered bool) {
	s := Stage{Ordered: ordered || g.r.IntN(6) == 0, NoCPU: g.r.IntN(6) == 0}
	op := simOp{kind: opMap, blocking: g.r.IntN(8) == 0, retries: g.r.IntN(8) == 0}
	switch g.r.IntN(10) {
	case 0:
		op.kind, op.keep = opFilter, uint64(g.r.IntN(101))
	case 1:
		op.kind, op.times = opExpand, 1+g.r.IntN(4)
	case 2:
		op.kind, op.limit, s.MaxWorkers = opLimit, g.r.IntN(60), 1
	case 3:
		op.kind, s.Barrier, s.MaxWorkers = opSort, true, 1+g.r.IntN(4)
	case 4:
		op.kind, op.window, s.NoCPU, s.Ordered = opAsync, 1+g.r.IntN(5), true, false
	case 5, 6:
		op.factor = []float64{0.02, 0.1, 0.5, 2, 10, 50}[g.r.IntN(6)]
	}
	if g.r.IntN(12) == 0 {
		s.OffHeap = int64(g.r.IntN(400)) << 10
	}
	s.Ports = []Port{{From: g.pickInput()}}
	if g.r.IntN(3) == 0 && op.kind != opLimit {
		phases := g.r.IntN(2) == 0
		for range 1 + g.r.IntN(2) {
			pt := Port{From: g.pickInput()}
			if phases {
				pt.Phase = g.r.IntN(3)
				pt.Spillable = true
			}
			s.Ports = append(s.Ports, pt)
		}
		s.Ports[0].Spillable = phases
	}
	g.free = append(g.free, g.add(s, op))
}

func (g *gen) sink(from StageID) {
	s := Stage{Ports: []Port{{From: from}}, Ordered: g.p.cfg.Stages[from].Ordered}
	g.add(s, simOp{kind: opSink, factor: []float64{0, 0.1, 1}[g.r.IntN(3)] + 1e-9, retries: g.r.IntN(8) == 0})
}

// sizes chooses the budget, from the least possible on, and what rows and blocks weigh.
func (g *gen) sizes() {
	r, p := g.r, g.p
	var fixed int64
	for _, s := range p.cfg.Stages {
		fixed += s.OffHeap * int64(max(1, s.MinWorkers))
	}
	least := int64(len(p.cfg.Stages))*512<<10 + fixed
	p.cfg.BudgetBytes = least + least*int64(r.IntN(20))*int64(r.IntN(2))
	if r.IntN(2) == 0 {
		p.cfg.BlockBytes = int64(16+r.IntN(16)) << (10 + r.IntN(5))
	}
	p.rowBytes = int64(100) << r.IntN(10)
	p.big = r.IntN(4) == 0
	p.seal = int64(32<<10) << r.IntN(4)
	p.listNs = int64(r.IntN(2)) << r.IntN(12)
	switch r.IntN(16) {
	case 0:
		p.cancelAt = int64(1) << r.IntN(20)
	case 1:
		p.drainAt = int64(1) << r.IntN(20)
	}
}
