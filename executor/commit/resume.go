package commit

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Restager is a Target that can look at its staged parts, so that a run which goes on after a crash knows early that what it had
// committed is still there.
type Restager interface {
	dataset.Target
	// Restage returns those of a run's committed parts that are not staged whole any more, and deletes what else is staged.
	Restage(ctx context.Context, run string, committed []dataset.Receipt) (missing []dataset.Receipt, err error)
}

// Resumed tells how much of a run earlier attempts had committed.
type Resumed struct {
	Run          string // "" if the run began just now
	Ranges, Done int64  // of input, as journaled so far
}

// resume opens the log of an unfinished run for another attempt and starts the committer.
func (m *Manager) resume(ctx context.Context, p *preparation, u *past, foreign []dataset.Receipt) error {
	m.cfg.Run, m.cfg.attempt = u.run, u.attempt+1
	m.take(p, DecisionKind(u.begin.Mode), foreign)
	if m.adds() && len(p.chain.Live) == 0 {
		m.kind = Fresh
	}
	m.ended, m.carried = u.ended, u.fails
	m.number = u.begin.Previous + 1
	m.in.base = u.begin.FirstOrdinal
	m.seq.Store(u.begin.FirstSeq)
	for _, r := range u.parts {
		m.seq.Store(max(m.seq.Load(), r.Part.Seq+1))
	}
	m.mu.committed, m.mu.recorded = u.parts, u.generations
	m.past = u
	m.resumed.Run = u.run
	m.done = map[uint32]*doneSet{}
	for id, s := range u.sources {
		m.done[id] = &s.done
		m.adoptPast(id, s)
	}
	log, err := openRunLog(ctx, m.store, u.run, m.cfg.attempt, u.last, u.end)
	if err != nil {
		return err
	}
	m.log = log
	if err := m.append(kindAttempt, attemptRecord{Attempt: m.cfg.attempt, Owner: m.cfg.owner(), Command: m.cfg.Options.Command,
		Backends: m.cfg.Backends, Started: m.cfg.Now().UTC()}); err != nil {
		return errors.Join(err, log.close())
	}
	if err := log.sync(ctx); err != nil { // what this attempt stages is named by its number, so the next must not take it again
		return errors.Join(err, log.close())
	}
	crashpoint("run resumed")
	if err := m.compact(ctx, u); err != nil {
		return errors.Join(err, log.close())
	}
	u.parts = nil
	m.start(ctx)
	return nil
}

// Resumed tells how much earlier attempts had committed, once the sources were listed.
func (m *Manager) Resumed() Resumed { return m.resumed }

// Ended tells whether earlier attempts have made every row durable, so that only publishing is left.
func (m *Manager) Ended() bool { return m.ended }

// adoptPast makes the state of a source what it was at the end of the journal.
func (m *Manager) adoptPast(own uint32, s *pastSource) {
	state := &sourceState{next: max(s.next, m.in.base), digest: s.digest, known: s.known, shift: s.shift, listed: s.listed}
	if s.known {
		state.last = lastFile{ref: s.lastFile.ref(), ordinal: s.lastOrdinal}
	}
	m.in.sources[own] = state
	m.mu.shift[m.global(own)] = s.shift
}

// own is the number of a source in the log, whose identities name it otherwise: the number must not depend on what else runs.
func (m *Manager) own(source uint32) uint32 {
	for i, s := range m.cfg.Sources {
		if s == source {
			return uint32(i)
		}
	}
	return source
}

// global is the inverse of own.
func (m *Manager) global(own uint32) uint32 {
	if int(own) < len(m.cfg.Sources) {
		return m.cfg.Sources[own]
	}
	return own
}

// doneOf returns what earlier attempts have committed of a file, ascending.
func (m *Manager) doneOf(f *block.File) []Interval {
	if m.done == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doneLocked(f)
}

var everything = []Interval{{0, wholeFile}}

func (m *Manager) doneLocked(f *block.File) []Interval {
	if m.ended {
		return everything
	}
	set := m.done[m.own(f.Source)]
	if set == nil {
		return nil
	}
	return set.of(f.Ordinal+m.mu.shift[f.Source], nil)
}

// unseen returns the rows of b that this sink does not have from an earlier attempt, or nil.
func (m *Manager) unseen(rt dataset.Runtime, b *block.Block) (*block.Block, error) {
	if m.ended {
		return nil, nil
	}
	if m.done == nil {
		return b.Retain(), nil
	}
	keep, all := unseenRows(b, m.doneOf)
	switch {
	case all:
		return b.Retain(), nil
	case len(keep) == 0:
		return nil, nil
	}
	out, err := block.Take(rt.Allocator(), b, keep)
	if err != nil {
		return nil, fmt.Errorf("leave out rows that were committed before: %w", err)
	}
	return out, nil
}

// unseenRows returns the rows of b whose origin is not done; all is true if that is every row.
func unseenRows(b *block.Block, doneOf func(*block.File) []Interval) (keep []uint32, all bool) {
	if b.Identity().Len() == 0 {
		return nil, true
	}
	all = true
	var done []Interval
	var file *block.File
	of := func(f *block.File) []Interval {
		if f != file {
			file, done = f, doneOf(f)
		}
		return done
	}
	b.Identity().Runs(func(r *block.Run) {
		if r.N > 0 && touches(of(r.File), r.First, lastOf(r)) {
			all = false
		}
	})
	if all {
		return nil, true
	}
	all = true
	keep = make([]uint32, 0, b.NumRows())
	for i := range b.NumRows() {
		if id := b.Identity().At(i); id.File != nil && holds(of(id.File), id.Position) {
			all = false
		} else {
			keep = append(keep, uint32(i))
		}
	}
	return keep, all
}

// lastOf is the position of the last row of a run.
func lastOf(r *block.Run) uint64 {
	if r.Offsets != nil {
		return r.First + uint64(r.Offsets[r.N-1])
	}
	return r.First + uint64(r.N-1)*uint64(r.Stride)
}
