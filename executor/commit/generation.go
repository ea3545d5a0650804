package commit

import (
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// A class of generations commits by its own rule.
const (
	eager    = 0 // as soon as it is closed and drained
	deferred = 1 // its parts are made durable likewise, but the record is written at the end of the run
	classes  = 2
)

// generation is the rows of a set of ranges: open while it takes new ranges, then closed, ready once all tokens bound to it drained
// and no writer is at work on it, then committed. All fields are guarded by the manager's lock, apart from those of a part's writer,
// which belong to whoever counted himself in busy, or to the committer.
type generation struct {
	id     uint64
	class  int
	order  uint64 // among the eager ones
	opened time.Time
	closed bool
	queued bool
	live   int   // tokens bound to it that are not drained
	busy   int   // calls of Write that are at work on it
	rows   int64 // arrived, for the cuts of exact runs
	full   bool  // exact runs: to be cut before the next row of another origin
	late   bool  // its record is written at the end of the run
	done   spans
	parts  map[partKey]*openPart
	ready  []dataset.Receipt // parts that were closed early
	over   *overflow         // rows of partitions without an open part; nil: none
	fails  failTally         // of the tokens that drained
}

// partKey names an open part within a generation.
type partKey struct {
	lane      int
	partition string
}

// openPart is a part being written.
type openPart struct {
	gen *generation
	key partKey
	w   dataset.Writer
}

// current returns the open generation of a class, opening one if need be. The lock is held.
func (m *Manager) current(class int) *generation {
	if g := m.mu.current[class]; g != nil {
		return g
	}
	m.mu.generations++
	g := &generation{id: m.mu.generations, class: class, opened: m.cfg.Now(), parts: map[partKey]*openPart{}}
	g.late = class == deferred || m.mu.postponed
	if class == eager {
		m.mu.ordered++
		g.order = m.mu.ordered
	}
	m.mu.current[class] = g
	m.mu.open[g] = true
	return g
}

// closeGeneration stops a generation from taking new ranges. The lock is held.
func (m *Manager) closeGeneration(g *generation) {
	if g.closed {
		return
	}
	g.closed = true
	if m.mu.current[g.class] == g {
		m.mu.current[g.class] = nil
	}
	m.maybeReady(g)
}

// maybeReady hands a generation that nothing more can reach to the committer. The lock is held.
func (m *Manager) maybeReady(g *generation) {
	if !g.closed || g.queued || g.live > 0 || g.busy > 0 || m.mu.frozen {
		return
	}
	g.queued = true
	delete(m.mu.open, g)
	m.mu.ready = append(m.mu.ready, g)
	m.nudge()
}

// classOf returns the class of a token: that of the sources it was read from.
func (m *Manager) classOf(t *block.Token) int {
	for _, r := range t.Ranges {
		if m.cfg.Deferred(r.File.Source) {
			return deferred
		}
	}
	return eager
}

// Drained tells that no row of t is under way any more. It is called from any goroutine and does not wait.
func (m *Manager) Drained(t *block.Token) {
	if m.target == nil || m.ended {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.binding(t)
	if b == nil || m.mu.frozen {
		return
	}
	if b.gen == nil { // no row of it reached this sink
		if m.classOf(t) == eager && len(t.Ranges) > 0 && !m.mu.ended {
			g := m.current(eager)
			m.record(g, t.Ranges...)
			m.settleFails(b, t.Ranges, g)
			if len(g.done.list) > maxSpans && !m.exact {
				m.closeGeneration(g)
			}
		} else {
			m.mu.rest.take(&b.fails)
		}
		return
	}
	if !b.gen.late && !b.share(t.Ranges, func(g *generation, r block.Range) { m.record(g, r) }) {
		m.failLocked(errLostCut)
	}
	m.settleFails(b, t.Ranges, b.gen)
	b.gen.live--
	m.maybeReady(b.gen)
	for _, c := range b.more {
		c.gen.live--
		m.maybeReady(c.gen)
	}
}

// record adds ranges to what a generation holds, without what earlier attempts hold. The lock is held.
func (m *Manager) record(g *generation, ranges ...block.Range) {
	for _, r := range ranges {
		missing(m.doneLocked(r.File), r.First, r.End, func(first, end uint64) {
			g.done.add(span{source: m.own(r.File.Source), ordinal: r.File.Ordinal + m.mu.shift[r.File.Source], files: 1, first: first, end: end})
		})
	}
}

// Freeze makes the manager commit nothing more: the run is going to fail, and tokens that drain from now on drain because blocks are
// let go of, not because their rows were written. It may be called from any goroutine, any number of times; Abort follows.
func (m *Manager) Freeze() {
	m.mu.Lock()
	m.mu.frozen = true
	m.mu.Unlock()
}

// Tick closes the generation that has been open for too long, so that its rows are committed though no part is full.
func (m *Manager) Tick(now time.Time) {
	if m.target == nil || m.exact {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.mu.current[eager]
	if g != nil && now.Sub(g.opened) >= m.cfg.Options.CommitEvery {
		m.closeGeneration(g)
	}
}
