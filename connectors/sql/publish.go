package sql

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// publisher is what the sinks of all databases have in common: how rehearsing, removing and finishing fit together. In a database they are
// one transaction, so that readers see the old rows or the new ones.
type publisher struct {
	// begin opens a transaction that makes the table hold the parts, in place of everything else if clear is set. It returns nil when the
	// parts were all published before.
	begin func(ctx context.Context, clear bool, parts []dataset.Receipt) (publication, error)
	mu    struct {
		sync.Mutex
		held  *rehearsal
		clear bool // old rows go with the next Finish
	}
}

// rehearse does everything but commit.
func (p *publisher) rehearse(ctx context.Context, remove, parts []dataset.Receipt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.letGo(); err != nil {
		return err
	}
	pub, err := p.begin(ctx, len(remove) > 0, parts)
	if err != nil || pub == nil {
		return err
	}
	p.mu.held = &rehearsal{pub, partNames(parts)}
	return nil
}

// remove notes that the rows of old parts go. Finish, which follows, does it, in the transaction that brings the new ones.
func (p *publisher) remove(keep []dataset.Receipt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.clear = p.mu.held == nil || !slices.Equal(p.mu.held.parts, partNames(keep))
}

// finish publishes the parts.
func (p *publisher) finish(ctx context.Context, parts []dataset.Receipt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear := p.mu.clear
	p.mu.clear = false
	if h := p.mu.held; h != nil && !clear && slices.Equal(h.parts, partNames(parts)) {
		p.mu.held = nil
		return h.pub.commit(ctx)
	}
	if err := p.letGo(); err != nil {
		return err
	}
	pub, err := p.begin(ctx, clear, parts)
	if err != nil || pub == nil {
		return err
	}
	return pub.commit(ctx)
}

// release lets go of a transaction that was not finished.
func (p *publisher) release() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.letGo()
}

// letGo is release with the lock held.
func (p *publisher) letGo() error {
	h := p.mu.held
	p.mu.held = nil
	if h == nil {
		return nil
	}
	return h.pub.rollback()
}

// guarded is a storage whose lock, when it is given back, takes an unfinished transaction with it.
type guarded struct {
	dataset.Storage
	p *publisher
}

// Lock implements dataset.Storage.
func (g guarded) Lock(ctx context.Context, name string, owner []byte) (release func() error, err error) {
	unlock, err := g.Storage.Lock(ctx, name, owner)
	if err != nil {
		return nil, err
	}
	return func() error { return errors.Join(g.p.release(), unlock()) }, nil
}
