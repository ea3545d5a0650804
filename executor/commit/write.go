package commit

import (
	"context"
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
		if err == nil && m.partFull(p.gen, lane) {
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
	var gens []tokenGen
	mixed, err := false, error(nil)
	b.Tokens(func(t *block.Token, _ int64) {
		bd := m.binding(t)
		if bd == nil {
			err = errNoState
			return
		}
		if bd.gen == nil {
			bd.gen = m.current(m.classOf(t))
			bd.gen.live++
		}
		gens = append(gens, tokenGen{t, bd.gen})
		mixed = mixed || bd.gen != gens[0].gen
	})
	if err != nil {
		return nil, err
	}
	var pieces []piece
	switch {
	case len(gens) == 0: // no identity: nothing tells when its source range is done, so it waits for the end
		pieces = []piece{{m.current(deferred), 0, b.NumRows()}}
	case !mixed:
		pieces = []piece{{gens[0].gen, 0, b.NumRows()}}
	default:
		if pieces, err = cutByGeneration(b, gens); err != nil {
			return nil, err
		}
	}
	for _, p := range pieces {
		p.gen.busy++
		p.gen.rows += int64(p.to - p.from)
	}
	return pieces, nil
}

type tokenGen struct {
	token *block.Token
	gen   *generation
}

// cutByGeneration divides a block whose tokens belong to several generations: it was coalesced across a boundary.
func cutByGeneration(b *block.Block, gens []tokenGen) ([]piece, error) {
	find := rowTokens(b)
	var out []piece
	for i := range b.NumRows() {
		t := find(i)
		var g *generation
		for _, tg := range gens {
			if tg.token == t {
				g = tg.gen
			}
		}
		if g == nil {
			return nil, errNoToken
		}
		if n := len(out); n > 0 && out[n-1].gen == g {
			out[n-1].to++
		} else {
			out = append(out, piece{g, i, i + 1})
		}
	}
	return out, nil
}

// rowTokens returns the function that finds the token of a row, by the run that its origin lies in.
func rowTokens(b *block.Block) func(row int) *block.Token {
	type stretch struct {
		file     *block.File
		from, to uint64
		token    *block.Token
	}
	var all []stretch
	b.Identity().Runs(func(r *block.Run) {
		if r.N == 0 {
			return
		}
		last := r.First + uint64(r.N-1)*uint64(r.Stride)
		if r.Offsets != nil {
			last = r.First + uint64(r.Offsets[r.N-1])
		}
		all = append(all, stretch{r.File, r.First, last, r.Token})
	})
	at := 0
	return func(row int) *block.Token {
		id := b.Identity().At(row)
		for range all {
			if s := &all[at]; s.file == id.File && s.from <= id.Position && id.Position <= s.to {
				return s.token
			}
			at = (at + 1) % len(all) // rows mostly follow each other
		}
		return nil
	}
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
	part, err := m.openPart(ctx, rt, p.gen, partKey{lane: lane}, nil)
	if err != nil {
		return err
	}
	return part.w.Write(ctx, b)
}

// openPart returns the open part of a key, opening it if need be. Of a partitioned sink it first makes another part whole, if too
// many are open.
func (m *Manager) openPart(ctx context.Context, rt dataset.Runtime, g *generation, key partKey, values map[string]string) (*openPart, error) {
	m.mu.Lock()
	part := g.parts[key]
	m.mu.Unlock()
	if part != nil {
		return part, nil
	}
	if !m.exact {
		if err := m.evict(ctx, rt, key.lane, nil, max(2, m.cfg.OpenParts/m.cfg.Lanes)-1); err != nil {
			return nil, err
		}
	}
	at := dataset.Part{Seq: m.seq.Add(1) - 1, Run: m.cfg.Run, Attempt: 1, Partition: values}
	w, err := m.cfg.Sink.NewWriter(ctx, rt, at, m.cfg.Schema)
	if err != nil {
		return nil, err
	}
	part = &openPart{gen: g, key: key, w: w}
	m.mu.Lock()
	g.parts[key] = part
	m.mu.lanes[key.lane] = append(m.mu.lanes[key.lane], part)
	m.mu.Unlock()
	return part, nil
}

// evict closes the parts of a lane (of one generation, if given) that were not written to for longest, until at most keep are open.
func (m *Manager) evict(ctx context.Context, rt dataset.Runtime, lane int, only *generation, keep int) error {
	for {
		m.mu.Lock()
		var victim *openPart
		open := 0
		for _, p := range m.mu.lanes[lane] {
			if only != nil && p.gen != only || p.gen.queued { // the committer's
				continue
			}
			if open++; victim == nil || p.last < victim.last {
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
