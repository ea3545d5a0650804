package commit

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/dataset"
)

// committers is how many parts are made durable at once: it is mostly waiting for the disk.
const committers = 4

// commitLoop is the committer: it makes the parts of ready generations durable and writes their records. It ends when ctx does, or
// after a failure.
func (m *Manager) commitLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wake:
		}
		m.mu.Lock()
		gens, err := m.mu.ready, m.mu.err
		m.mu.ready, m.mu.busy = nil, len(gens)
		m.mu.Unlock()
		if err == nil {
			err = m.commit(ctx, gens)
		}
		if err != nil {
			releaseOverflow(gens)
		}
		if errors.Is(err, errFrozen) { // the run fails for another reason, which is on its way
			return
		}
		m.mu.Lock()
		if err != nil && m.mu.err == nil {
			m.mu.err = err
		}
		m.mu.busy = 0
		close(m.mu.progress)
		m.mu.progress = make(chan struct{})
		m.mu.Unlock()
		if err != nil {
			if ctx.Err() == nil {
				m.cfg.Failed(err)
			}
			return
		}
	}
}

// madeGeneration is a generation whose parts are durable.
type madeGeneration struct {
	*generation
	receipts []dataset.Receipt
}

// commit makes the parts of generations durable and records those that may be, all in one record.
func (m *Manager) commit(ctx context.Context, gens []*generation) error {
	if len(gens) == 0 {
		return nil
	}
	var later []dataset.Receipt
	var fails, lateFails failTally
	made := make([]*madeGeneration, 0, len(gens))
	for _, g := range gens {
		parts, err := m.commitParts(ctx, g)
		if err != nil {
			return err
		}
		if g.late {
			later = append(later, parts...)
			parts = nil
			lateFails.take(&g.fails)
		}
		made = append(made, &madeGeneration{g, parts})
	}
	crashpoint("parts durable")
	rec := &generationRecord{}
	for _, g := range m.inOrder(made) {
		if g.late {
			continue
		}
		fails.take(&g.fails)
		rec.Generations = append(rec.Generations, g.id)
		rec.Parts = append(rec.Parts, g.receipts...)
		for _, s := range g.done.list {
			rec.done.add(s)
		}
	}
	if len(rec.Generations) > 0 {
		if err := m.writeRecord(ctx, rec, fails); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.committed = append(m.mu.committed, rec.Parts...)
	m.mu.deferred = append(m.mu.deferred, later...)
	m.mu.rest.take(&lateFails)
	return nil
}

// inOrder returns the generations that may be recorded now. In an ordered run none is before those that came before it, so that what
// is committed is always the beginning of the result, and parts that a later attempt writes sort behind it.
func (m *Manager) inOrder(made []*madeGeneration) []*madeGeneration {
	if !m.cfg.Options.Ordered {
		return made
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.held = append(m.mu.held, made...)
	slices.SortFunc(m.mu.held, func(a, b *madeGeneration) int { return cmp.Compare(a.order, b.order) })
	n := 0
	for n < len(m.mu.held) && m.mu.held[n].order <= m.mu.recordedUp+1 { // deferred ones have order 0
		m.mu.recordedUp = max(m.mu.recordedUp, m.mu.held[n].order)
		n++
	}
	out := slices.Clone(m.mu.held[:n])
	m.mu.held = slices.Delete(m.mu.held, 0, n)
	return out
}

// writeRecord writes a generation record: the commit point.
func (m *Manager) writeRecord(ctx context.Context, rec *generationRecord, fails failTally) error {
	rec.Read, rec.Failed = fails.read, fails.failed
	if len(rec.Parts) == 0 && len(rec.done.list) == 0 && rec.Failed == 0 && len(fails.dead) == 0 {
		return nil
	}
	var err error
	if rec.Dead, err = m.writeDead(ctx, fails.dead); err != nil {
		return err
	}
	if err := m.cfg.BeforeCommit(ctx); err != nil {
		return err
	}
	payload, err := rec.encode()
	if err != nil {
		return err
	}
	m.mu.Lock()
	frozen := m.mu.frozen
	m.mu.recorded++
	m.mu.fails.add(rec)
	m.mu.Unlock()
	if frozen {
		return errFrozen
	}
	if err := m.log.append(kindGeneration, payload); err != nil {
		return err
	}
	crashpoint("generation appended")
	if err := m.log.sync(ctx); err != nil {
		return err
	}
	crashpoint("generation committed")
	return nil
}

// commitParts makes the open parts of a generation durable. On a failure the others are aborted: none of them counts.
func (m *Manager) commitParts(ctx context.Context, g *generation) ([]dataset.Receipt, error) {
	m.mu.Lock()
	open := make([]*openPart, 0, len(g.parts))
	for _, p := range g.parts {
		open = append(open, p)
	}
	for _, p := range open {
		m.forget(p)
	}
	receipts, over := slices.Clone(g.ready), g.over
	m.mu.Unlock()
	done := make([]dataset.Receipt, len(open))
	var eg errgroup.Group
	eg.SetLimit(committers)
	for i, p := range open {
		eg.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = &dataset.PanicError{Op: m.cfg.Sink.Name(), Where: "the end of a part", Value: v, Stack: debug.Stack()}
				}
			}()
			done[i], err = p.w.Commit(ctx)
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	receipts = append(receipts, done...)
	if over == nil {
		return receipts, nil
	}
	more, err := m.drain(ctx, over)
	return append(receipts, more...), err
}

// idle waits until the committer has nothing to do, or failed.
func (m *Manager) idle(ctx context.Context) error {
	for {
		m.mu.Lock()
		err, n, progress := m.mu.err, len(m.mu.ready)+m.mu.busy, m.mu.progress
		m.mu.Unlock()
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Checkpoint closes the open generations (not in an exact run) and waits until everything that has drained is committed. It is how a run that is
// interrupted keeps what it has; Abort follows.
func (m *Manager) Checkpoint(ctx context.Context) error {
	if m.target == nil {
		return nil
	}
	m.mu.Lock()
	for _, g := range m.mu.current {
		if g != nil && !m.exact { // an exact run cuts its parts by the rows alone
			m.closeGeneration(g)
		}
	}
	m.mu.Unlock()
	return m.idle(ctx)
}

// abortParts aborts every part that is open.
func (m *Manager) abortParts(ctx context.Context) error {
	m.mu.Lock()
	var open []*openPart
	for _, lane := range m.mu.lanes {
		open = append(open, lane...)
	}
	for _, p := range open {
		m.forget(p)
	}
	gens := slices.AppendSeq(slices.Clone(m.mu.ready), maps.Keys(m.mu.open))
	m.mu.Unlock()
	releaseOverflow(gens)
	var errs []error
	for _, p := range open {
		errs = append(errs, p.w.Abort(ctx))
	}
	return errors.Join(errs...)
}

// releaseOverflow frees what rows of generations that will not commit take.
func releaseOverflow(gens []*generation) {
	for _, g := range gens {
		if g.over != nil {
			g.over.release()
		}
	}
}
