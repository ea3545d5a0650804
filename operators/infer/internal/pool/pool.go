package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

// Config is how a pool works. Zero values mean the defaults.
type Config struct {
	Window   int           // requests in flight at a replica, at most; default 32
	Ahead    int           // requests beyond the window that are made ready for a replica; default 1
	Tries    int           // of a request that fails by no fault of its own; default 6
	Patience time.Duration // how long no replica may be healthy before the run ends; default 2 min
	Parallel int           // what a replica works on at once; 0: unknown
	Fixed    bool          // the window is Parallel and stays
}

// Pool is the replicas of one model. It is safe for concurrent use.
type Pool struct {
	cfg Config
	mu  struct {
		sync.Mutex
		replicas []*replica
		change   chan struct{} // closed when something may be free
		notes    []Note
		down     time.Time // since when no replica was healthy; zero while one is
		last     error     // why the last one was ejected
	}
}

// Note is something that happened to a replica, for the run's warnings.
type Note struct{ Class, Text string }

// Waits of a replica that was ejected, and how long asking for health or load may take.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
	askTime     = 3 * time.Second
	healthyFor  = 100 * time.Millisecond // a replica found healthy is not asked again so soon
	loadEvery   = 50 * time.Millisecond
)

// New makes a pool. It does not close the models.
func New(cfg Config, replicas []Replica) *Pool {
	if cfg.Window == 0 {
		cfg.Window = 32
	}
	if cfg.Ahead == 0 {
		cfg.Ahead = 1
	}
	if cfg.Tries == 0 {
		cfg.Tries = 6
	}
	if cfg.Patience == 0 {
		cfg.Patience = 2 * time.Minute
	}
	p := &Pool{cfg: cfg}
	p.mu.change = make(chan struct{})
	for _, r := range replicas {
		p.mu.replicas = append(p.mu.replicas, &replica{Replica: r, window: newWindow(cfg.Parallel, cfg.Window, cfg.Fixed)})
	}
	return p
}

// signal wakes all who wait; called with the lock held.
func (p *Pool) signal() {
	close(p.mu.change)
	p.mu.change = make(chan struct{})
}

// note keeps something for Notes; called with the lock held.
func (p *Pool) note(class, format string, a ...any) {
	if len(p.mu.notes) < 100 {
		p.mu.notes = append(p.mu.notes, Note{class, fmt.Sprintf(format, a...)})
	}
}

// Notes returns what happened since the last call.
func (p *Pool) Notes() []Note {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.mu.notes
	p.mu.notes = nil
	return n
}

// Room is how many more requests the replicas could begin to work on now.
func (p *Pool) Room() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.mu.replicas {
		if !r.ejected {
			n += max(0, r.window.whole()-r.assigned)
		}
	}
	return n
}

// assign waits for a replica with room and gives it one more request. Replicas of avoid are taken only when there is no other healthy one.
func (p *Pool) assign(ctx context.Context, avoid []*replica) (*replica, error) {
	for {
		p.mu.Lock()
		now := time.Now()
		r, others := p.best(now, avoid)
		if r != nil {
			r.assigned++
			p.mu.Unlock()
			return r, nil
		}
		probe, wake := p.due(now, others)
		change := p.mu.change
		var gone error
		if d := p.mu.down; !d.IsZero() && now.Sub(d) >= p.cfg.Patience {
			gone = p.unreachable()
		}
		p.mu.Unlock()
		switch {
		case gone != nil:
			return nil, &dataset.FatalError{Err: gone}
		case probe != nil:
			p.probe(ctx, probe)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			continue
		}
		if err := wait(ctx, change, wake.Sub(now)); err != nil {
			return nil, err
		}
	}
}

// unreachable says which replicas did not answer; called with the lock held.
func (p *Pool) unreachable() error {
	var names []string
	for _, r := range p.mu.replicas {
		names = append(names, r.Name)
	}
	return fmt.Errorf("no replica was healthy for %v (%s); the last one said: %w", p.cfg.Patience, strings.Join(names, ", "), p.mu.last)
}

// best picks the replica that would be done first; others says that a healthy one exists which is only full.
func (p *Pool) best(now time.Time, avoid []*replica) (best *replica, others bool) {
	for _, spare := range []bool{true, false} {
		for _, r := range p.mu.replicas {
			if spare && slices.Contains(avoid, r) || r.ejected {
				continue
			}
			others = true
			if r.room(now, p.cfg.Ahead) && (best == nil || r.cost() < best.cost()) {
				best = r
			}
		}
		if others { // replicas that this request knows already come only when no other is healthy
			return best, true
		}
	}
	return nil, false
}

// due returns an ejected replica that should be asked now, if no healthy one exists, and when to look again.
func (p *Pool) due(now time.Time, healthy bool) (probe *replica, wake time.Time) {
	wake = now.Add(longestWait)
	for _, r := range p.mu.replicas {
		switch {
		case !r.ejected && now.Before(r.pause):
			wake = earlier(wake, r.pause)
		case r.ejected && !r.probing && !healthy && !now.Before(r.next):
			r.probing = true
			return r, wake
		case r.ejected && !r.probing:
			wake = earlier(wake, r.next)
		}
	}
	if d := p.mu.down; !d.IsZero() {
		wake = earlier(wake, d.Add(p.cfg.Patience))
	}
	return nil, wake
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// wait waits for a change, or for d, or for the end of ctx.
func wait(ctx context.Context, change <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(max(d, time.Millisecond))
	defer t.Stop()
	select {
	case <-change:
	case <-t.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// enter waits until r may work on one more request.
func (p *Pool) enter(ctx context.Context, r *replica) error {
	for {
		p.mu.Lock()
		if r.ejected {
			p.mu.Unlock()
			return &dataset.TransientError{Err: errEjected}
		}
		if r.flying < r.window.whole() {
			r.flying++
			if r.flying >= r.window.whole() {
				r.window.full = true
			}
			p.mu.Unlock()
			return nil
		}
		change := p.mu.change
		p.mu.Unlock()
		if err := wait(ctx, change, longestWait); err != nil {
			return err
		}
	}
}

// errEjected ends a request that was made ready for a replica which was ejected meanwhile.
var errEjected = errors.New("the replica was ejected before the request was sent")

// poll asks r for its load and changes its window.
func (p *Pool) poll(ctx context.Context, r *replica) {
	ask, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var load *gpu.Load
	if l, err := r.Model.Load(ask); err == nil {
		load = &l
	} else if !errors.Is(err, gpu.ErrUnsupported) {
		return // a replica that cannot answer is found out by its requests
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r.window.heed(load)
	p.signal()
}
