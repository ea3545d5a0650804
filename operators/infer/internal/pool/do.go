package pool

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
)

// Failure is why a request was given up: it, or what it holds, is at fault.
type Failure struct {
	Replica string // the last one that was asked
	Tries   int
	Request bool // the request would fail anywhere; otherwise all tries were used up
	Err     error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Try makes the request ready for model m, calls enter, which waits for its turn, and has the model work. It is called anew for each try.
type Try func(ctx context.Context, m gpu.Model, enter func(ctx context.Context) error) error

// NotTheModel wraps an error of a Try that has nothing to do with the replica; Do returns it as it is.
type NotTheModel struct{ Err error }

// Error implements error.
func (e *NotTheModel) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotTheModel) Unwrap() error { return e.Err }

// Do has one request done. It returns nil, a *Failure, a *dataset.FatalError, the cause of the context's end, or what NotTheModel wrapped.
func (p *Pool) Do(ctx context.Context, try Try) error {
	var known []*replica
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = 50*time.Millisecond, 10*time.Second
	odd := false // an error that the model's contract does not name was seen once
	for tries := 1; ; tries++ {
		r, err := p.assign(ctx, known)
		if err != nil {
			return err
		}
		f := flight{p: p, r: r}
		err = try(ctx, r.Model, f.enter)
		if err == nil {
			f.land(ctx, true)
			return nil
		}
		f.land(ctx, false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if own, ok := errors.AsType[*NotTheModel](err); ok {
			return own.Err
		}
		if errors.Is(err, errEjected) {
			tries--
			continue
		}
		again, err := p.judge(ctx, r, err, tries, &odd)
		if !again {
			return err
		}
		if !slices.Contains(known, r) {
			known = append(known, r)
		}
		if err := p.pause(ctx, r, waits.NextBackOff()); err != nil {
			return err
		}
	}
}

// judge classes the failure of a try: whether to try again, or else what Do returns.
func (p *Pool) judge(ctx context.Context, r *replica, err error, tries int, odd *bool) (again bool, _ error) {
	if fatal, ok := errors.AsType[*dataset.FatalError](err); ok {
		return false, fatal
	}
	fail := &Failure{Replica: r.Name, Tries: tries, Err: err}
	if transient, ok := errors.AsType[*dataset.TransientError](err); ok {
		if p.healthy(ctx, r, err) {
			p.overloaded(r, transient.After)
		}
		return tries < p.cfg.Tries, fail
	}
	fail.Request = true
	if errors.Is(err, gpu.ErrRequest) {
		return false, fail
	}
	if !p.healthy(ctx, r, err) {
		fail.Request = false
		return tries < p.cfg.Tries, fail
	}
	// A healthy server said that something went wrong inside: often it is the request, now and then what was beside it in the
	// server's batch. One more try tells.
	first := !*odd
	*odd = true
	return first && tries < p.cfg.Tries, fail
}

// overloaded shrinks the window of a healthy replica that refused a request.
func (p *Pool) overloaded(r *replica, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.window.overloaded()
	if after > 0 {
		r.pause = time.Now().Add(min(after, p.cfg.Patience))
	}
}

// pause waits before the next try, if r is the only one that could take it.
func (p *Pool) pause(ctx context.Context, r *replica, d time.Duration) error {
	p.mu.Lock()
	alone := true
	for _, o := range p.mu.replicas {
		alone = alone && (o == r || o.ejected)
	}
	p.mu.Unlock()
	if !alone {
		return nil
	}
	return wait(ctx, nil, d)
}

// flight is one try at one replica.
type flight struct {
	p     *Pool
	r     *replica
	begun time.Time // zero until the replica works on it
}

func (f *flight) enter(ctx context.Context) error {
	if err := f.p.enter(ctx, f.r); err != nil {
		return err
	}
	f.begun = time.Now()
	return nil
}

// land ends the try.
func (f *flight) land(ctx context.Context, ok bool) {
	p, r := f.p, f.r
	p.mu.Lock()
	r.assigned--
	poll := false
	if !f.begun.IsZero() {
		r.flying--
		if ok {
			r.served++
			now := time.Now()
			if r.window.took(now.Sub(f.begun)) && now.Sub(r.polled) >= loadEvery {
				poll, r.polled = true, now
			}
		}
	}
	p.signal()
	p.mu.Unlock()
	if poll {
		p.poll(ctx, r)
	}
}
