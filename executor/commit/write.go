package commit

import (
	"cmp"
	"context"
	"errors"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// mostReady bounds how far writing may run ahead of committing: closed parts keep their memory until they are committed.
const mostReady = 4

// Write hands the rows of b, which it borrows, to the writers of a lane. Calls on one lane must not overlap.
func (m *Manager) Write(ctx context.Context, rt dataset.Runtime, lane int, b *block.Block) error {
	if b.NumRows() == 0 {
		return m.Err()
	}
	if m.target == nil {
		return m.writePlain(ctx, rt, lane, b)
	}
	b, err := m.unseen(rt, b)
	if err != nil || b == nil {
		return errors.Join(err, m.Err())
	}
	defer b.Release()
	if err := m.room(ctx, rt); err != nil {
		return err
	}
	if m.exact {
		return m.writeExact(ctx, rt, b)
	}
	pieces, err := m.assign(b)
	if err != nil {
		return m.fail(err)
	}
	for _, p := range pieces {
		if err == nil {
			err = m.writePiece(ctx, rt, lane, p, b)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range pieces {
		p.gen.busy--
		if err == nil && (m.partFull(p.gen, lane) || m.overfull(p.gen)) {
			m.closeGeneration(p.gen)
		}
		m.maybeReady(p.gen)
	}
	if err != nil {
		return m.failLocked(err)
	}
	return m.mu.err
}

// room waits until the committer has caught up.
func (m *Manager) room(ctx context.Context, rt dataset.Runtime) error {
	for {
		m.mu.Lock()
		err, n, progress := m.mu.err, len(m.mu.ready)+m.mu.busy, m.mu.progress
		m.mu.Unlock()
		if err != nil || n < mostReady {
			return err
		}
		if err := rt.Blocking("the commit of finished parts", func() error {
			select {
			case <-progress:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}); err != nil {
			return err
		}
	}
}

// piece is a stretch of rows of a block that goes to one generation.
type piece struct {
	gen      *generation
	from, to int
}

// assign binds the tokens of b that are not bound yet, and says which rows go where. Each piece counts as busy on its generation.
func (m *Manager) assign(b *block.Block) ([]piece, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var first *generation
	mixed, rows, err := false, int64(0), error(nil)
	b.Tokens(func(t *block.Token, n int64) {
		g, gerr := m.bind(t)
		if first == nil {
			first = g
		}
		err = cmp.Or(err, gerr)
		mixed = mixed || g != first
		rows += n
	})
	if err != nil {
		return nil, err
	}
	if rows == 0 { // no identity: nothing tells when its source range is done, so it waits for the end
		first = m.current(deferred)
	}
	pieces := []piece{{first, 0, b.NumRows()}}
	if mixed || rows > 0 && rows < int64(b.NumRows()) {
		pieces = m.cutByGeneration(b)
	}
	for _, p := range pieces {
		p.gen.busy++
	}
	return pieces, nil
}

// bind returns the generation of a token, binding it to the current one if it has none. The lock is held.
func (m *Manager) bind(t *block.Token) (*generation, error) {
	bd := m.binding(t)
	if bd == nil {
		return nil, errNoState
	}
	if bd.gen == nil {
		bd.gen = m.current(m.classOf(t))
		bd.gen.live++
	}
	return bd.gen, nil
}

// cutByGeneration divides a block whose tokens, which are bound, belong to several generations: it was coalesced across a boundary.
func (m *Manager) cutByGeneration(b *block.Block) []piece {
	var out []piece
	for _, s := range tokenStretches(b) {
		g := m.current(deferred)
		if s.token != nil {
			g = m.binding(s.token).gen
		}
		if n := len(out); n > 0 && out[n-1].gen == g {
			out[n-1].to = s.to
		} else {
			out = append(out, piece{g, s.from, s.to})
		}
	}
	return out
}

// tokenStretch is a range of rows that have one token, or none.
type tokenStretch struct {
	token    *block.Token
	from, to int
}

// tokenStretches divides a block by the tokens of its rows. Halves are divided further only where tokens meet, so that the cost is
// that of the boundaries.
func tokenStretches(b *block.Block) []tokenStretch {
	var out []tokenStretch
	var divide func(b *block.Block, at int)
	divide = func(b *block.Block, at int) {
		var token *block.Token
		tokens, rows, n := 0, int64(0), b.NumRows()
		b.Tokens(func(t *block.Token, k int64) {
			token = t
			tokens++
			rows += k
		})
		if tokens > 1 || tokens == 1 && rows < int64(n) {
			for _, half := range [][2]int{{0, n / 2}, {n / 2, n}} {
				part := b.Slice(half[0], half[1]-half[0])
				divide(part, at+half[0])
				part.Release() // the whole block is held, so no token drains here
			}
			return
		}
		if k := len(out); k > 0 && out[k-1].token == token {
			out[k-1].to = at + n
		} else {
			out = append(out, tokenStretch{token, at, at + n})
		}
	}
	divide(b, 0)
	return out
}

// writePiece writes a stretch of rows to a generation's parts of this lane.
func (m *Manager) writePiece(ctx context.Context, rt dataset.Runtime, lane int, p piece, b *block.Block) error {
	if p.from != 0 || p.to != b.NumRows() {
		b = b.Slice(p.from, p.to-p.from)
		defer b.Release()
	}
	if len(m.by) > 0 {
		return m.writePartitioned(ctx, rt, lane, p.gen, b)
	}
	part, err := m.openPart(ctx, rt, p.gen, partKey{lane: lane})
	if err != nil {
		return err
	}
	return part.w.Write(ctx, b)
}

// openPart returns the open part of a lane, opening it if need be. It first makes another part whole, if too many are open.
func (m *Manager) openPart(ctx context.Context, rt dataset.Runtime, g *generation, key partKey) (*openPart, error) {
	m.mu.Lock()
	part := g.parts[key]
	m.mu.Unlock()
	if part != nil {
		return part, nil
	}
	if !m.exact {
		if err := m.evict(ctx, rt, key.lane, max(2, m.cfg.OpenParts/m.cfg.Lanes)-1); err != nil {
			return nil, err
		}
	}
	return m.newPart(ctx, rt, g, key, nil)
}

// newPart opens a part.
func (m *Manager) newPart(ctx context.Context, rt dataset.Runtime, g *generation, key partKey, values map[string]string) (*openPart, error) {
	at := dataset.Part{Seq: m.seq.Add(1) - 1, Run: m.cfg.Run, Attempt: m.cfg.attempt, Partition: values}
	w, err := m.cfg.Sink.NewWriter(ctx, rt, at, m.cfg.Schema)
	if err != nil {
		return nil, err
	}
	part := &openPart{gen: g, key: key, w: w}
	m.mu.Lock()
	g.parts[key] = part
	m.mu.lanes[key.lane] = append(m.mu.lanes[key.lane], part)
	m.mu.Unlock()
	return part, nil
}

// evict closes the parts of a lane whose generations are the oldest, until at most keep are open.
func (m *Manager) evict(ctx context.Context, rt dataset.Runtime, lane int, keep int) error {
	for {
		m.mu.Lock()
		var victim *openPart
		open := 0
		for _, p := range m.mu.lanes[lane] {
			if p.gen.queued { // the committer's
				continue
			}
			if open++; victim == nil || p.gen.id < victim.gen.id {
				victim = p
			}
		}
		if open > keep {
			victim.gen.busy++
			m.forget(victim)
		} else {
			victim = nil
		}
		m.mu.Unlock()
		if victim == nil {
			return nil
		}
		var r dataset.Receipt
		err := rt.Blocking("the commit of a part", func() (err error) {
			r, err = victim.w.Commit(ctx)
			return err
		})
		m.mu.Lock()
		victim.gen.ready = append(victim.gen.ready, r)
		victim.gen.busy--
		if err != nil {
			_ = m.failLocked(err) // before the generation can become ready without its part
		}
		m.maybeReady(victim.gen)
		m.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// forget takes a part from the lists of open ones. The lock is held.
func (m *Manager) forget(p *openPart) {
	delete(p.gen.parts, p.key)
	lane := m.mu.lanes[p.key.lane]
	for i := range lane {
		if lane[i] == p {
			lane[i] = lane[len(lane)-1]
			lane[len(lane)-1] = nil
			m.mu.lanes[p.key.lane] = lane[:len(lane)-1]
			return
		}
	}
}

// partFull tells whether a part of the lane in the generation has reached its size. The lock is held; the lane's writers are its own.
func (m *Manager) partFull(g *generation, lane int) bool {
	for _, p := range m.mu.lanes[lane] {
		if p.gen == g && p.w.Bytes()+p.w.Buffered() >= m.cfg.Options.PartBytes {
			return true
		}
	}
	return false
}
