package commit

import (
	"context"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"sort"
)

// An exact run (ordered, with a seed) gives the same bytes whatever the sizes of blocks and the speed of things. A generation is
// looked at after every checkRows rows, and if a part is full it ends before the next row that has another origin than the one
// before: there the ranges of input can be cut too, though a token may lie across.
const checkRows = 1024

// writeExact writes a block of an exact run. There is one lane, and rows come in source order.
func (m *Manager) writeExact(ctx context.Context, rt dataset.Runtime, b *block.Block) error {
	const every = int64(checkRows)
	for _, s := range m.classes(b) {
		for at := s.from; at < s.to; {
			n, err := m.stepExact(ctx, rt, b, s, at, every)
			if err != nil {
				return m.fail(err)
			}
			at += n
		}
	}
	return m.Err()
}

// stepExact writes the rows of a stretch from at on, up to the next look, and returns their number.
func (m *Manager) stepExact(ctx context.Context, rt dataset.Runtime, b *block.Block, s stretch, at int, every int64) (int, error) {
	m.mu.Lock()
	g := m.current(s.class)
	if g.full && m.newOrigin(b, s.class, at) {
		m.closeGeneration(g)
		g = m.current(s.class)
	}
	n := min(s.to-at, int(every-g.rows%every))
	if g.full {
		n = min(n, nextOrigin(b, at, s.to)-at)
	}
	part := b.Slice(at, n)
	var err error
	part.Tokens(func(t *block.Token, _ int64) {
		if err == nil {
			err = m.bindExact(t, g, part)
		}
	})
	m.noteOrigin(b, s.class, at+n-1)
	g.busy++
	g.rows += int64(n)
	m.mu.Unlock()
	if err == nil {
		err = m.writePiece(ctx, rt, 0, piece{g, 0, n}, part)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && g.rows%every == 0 {
		g.full = g.full || m.anyFull(g)
	}
	g.busy--
	if err != nil {
		_ = m.failLocked(err) // before the generation can become ready without these rows
	}
	m.maybeReady(g)
	part.Release() // b holds the rows too, so no token drains here
	return n, err
}

// anyFull tells whether a part of a generation has reached its size, which depends on the rows alone. The lock is held.
func (m *Manager) anyFull(g *generation) bool {
	for _, p := range g.parts {
		if p.w.Bytes() >= m.cfg.Options.PartBytes {
			return true
		}
	}
	return false
}

// stretch is a range of rows of one class.
type stretch struct {
	class    int
	from, to int
}

// classes divides the rows of b by class; nearly always there is one.
func (m *Manager) classes(b *block.Block) []stretch {
	class, mixed, tokens := deferred, false, 0
	b.Tokens(func(t *block.Token, _ int64) {
		c := m.classOf(t)
		mixed = mixed || tokens > 0 && c != class
		class = c
		tokens++
	})
	if !mixed {
		return []stretch{{class, 0, b.NumRows()}}
	}
	var out []stretch
	for _, ts := range tokenStretches(b) {
		c := deferred
		if ts.token != nil {
			c = m.classOf(ts.token)
		}
		if n := len(out); n > 0 && out[n-1].class == c {
			out[n-1].to = ts.to
		} else {
			out = append(out, stretch{c, ts.from, ts.to})
		}
	}
	return out
}

// origin is where the last row of a class came from.
type origin struct {
	file *block.File
	pos  uint64
}

func originOf(b *block.Block, row int) origin {
	if b.Identity().Len() == 0 {
		return origin{}
	}
	id := b.Identity().At(row)
	return origin{id.File, id.Position}
}

// nextOrigin returns the first row behind at, below to, that has another origin than row at, or to. Rows of one origin follow each
// other; there may be very many (a flat map), so they are leapt over.
func nextOrigin(b *block.Block, at, to int) int {
	o := originOf(b, at)
	same, step := at, 1
	for same+step < to && originOf(b, same+step) == o {
		same += step
		step *= 2
	}
	return same + 1 + sort.Search(min(step, to-same)-1, func(i int) bool { return originOf(b, same+1+i) != o })
}

func (m *Manager) newOrigin(b *block.Block, class, row int) bool {
	o := originOf(b, row)
	return o.file == nil || o != m.mu.origins[class]
}

func (m *Manager) noteOrigin(b *block.Block, class, row int) { m.mu.origins[class] = originOf(b, row) }

// bindExact binds a token to g; if it is bound already, to g from the first of its rows in part on. A cut is right only if the rows
// of a token come in the order of their positions. Where they do not (a dataset united with itself) nothing more is committed before
// the end: no generation that has rows of an undrained token is committed yet, so that is always possible.
func (m *Manager) bindExact(t *block.Token, g *generation, part *block.Block) error {
	bd := m.binding(t)
	if bd == nil {
		return errNoState
	}
	first, last, err := rowsOf(t, part)
	if err != nil {
		return err
	}
	if bd.high.file == first.file && first.pos < bd.high.pos || last.file == first.file && last.pos < first.pos {
		m.postpone()
	}
	bd.high = last
	switch {
	case bd.gen == nil:
		bd.gen = g
		g.live++
	case bd.last() != g:
		bd.more = append(bd.more, cut{g, first.file, first.pos})
		g.live++
	}
	return nil
}

// postpone makes all generations that are not ready, and all later ones, commit at the end. The lock is held.
func (m *Manager) postpone() {
	m.mu.postponed = true
	for g := range m.mu.open {
		g.late = true
	}
}

// rowsOf returns where the first and the last row of a token in part come from.
func rowsOf(t *block.Token, part *block.Block) (first, last origin, err error) {
	tokens := 0
	part.Tokens(func(*block.Token, int64) { tokens++ })
	if tokens == 1 {
		return originOf(part, 0), originOf(part, part.NumRows()-1), nil
	}
	for _, ts := range tokenStretches(part) {
		if ts.token == t {
			if last = originOf(part, ts.to-1); first.file == nil {
				first = originOf(part, ts.from)
			}
		}
	}
	if first.file == nil {
		err = errNoToken
	}
	return first, last, err
}
