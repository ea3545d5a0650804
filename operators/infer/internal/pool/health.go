package pool

import (
	"context"
	"time"
)

// eject takes r out of service; called with the lock held.
func (p *Pool) eject(r *replica, why error) {
	if r.ejected {
		return
	}
	now := time.Now()
	r.ejected, r.wait = true, firstWait
	r.next = now.Add(r.wait)
	r.lost += int64(r.flying)
	p.mu.last = why
	p.note("replica ejected", "%s: %v", r.Name, why)
	for _, o := range p.mu.replicas {
		if !o.ejected {
			p.signal()
			return
		}
	}
	p.mu.down = now
	p.signal()
}

// healthy asks r, unless it was found healthy a moment ago, and ejects it if it is not.
func (p *Pool) healthy(ctx context.Context, r *replica, suspected error) bool {
	p.mu.Lock()
	known, gone := time.Since(r.asked) < healthyFor, r.ejected
	p.mu.Unlock()
	if known || gone {
		return !gone
	}
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := r.Model.Healthy(ask)
	if ctx.Err() != nil {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.eject(r, suspected)
		return false
	}
	r.asked = time.Now()
	return true
}

// probe asks an ejected replica and takes it back if it is healthy. Its window begins anew. The caller has set probing.
func (p *Pool) probe(ctx context.Context, r *replica) {
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	err := r.Model.Healthy(ask)
	p.mu.Lock()
	defer p.mu.Unlock()
	r.probing = false
	now := time.Now()
	if err != nil {
		if ctx.Err() == nil {
			p.mu.last = err
		}
		r.wait = min(2*r.wait, longestWait)
		r.next = now.Add(r.wait)
		p.signal()
		return
	}
	r.ejected, r.asked, p.mu.down = false, now, time.Time{}
	r.window = newWindow(p.cfg.Parallel, p.cfg.Window, p.cfg.Fixed)
	p.note("replica returned", "%s", r.Name)
	p.signal()
}

// Probe returns what asks an ejected replica whose time has come, or nil. Replicas come back by it while others serve; while none does,
// requests that wait do the asking.
func (p *Pool) Probe() func(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for _, r := range p.mu.replicas {
		if r.ejected && !r.probing && !now.Before(r.next) {
			r.probing = true
			return func(ctx context.Context) { p.probe(ctx, r) }
		}
	}
	return nil
}

// Eject takes replica i out of service from the start: it did not answer when it was opened.
func (p *Pool) Eject(i int, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eject(p.mu.replicas[i], why)
}

// Ready says that r is healthy or worth asking: false while all replicas are ejected.
func (p *Pool) Ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.down.IsZero()
}
