package pool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
)

// fake makes a replica whose requests take d, or fail.
func fake(t *testing.T, name string, d time.Duration, fail func() error) (*gputest.Model, Replica) {
	m := gputest.New(t, gpu.Info{Name: name}, func(ctx context.Context, _ *gpu.Request) ([]gpu.Tensor, error) {
		if fail != nil {
			if err := fail(); err != nil {
				return nil, err
			}
		}
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	return m, Replica{Name: name, Model: m}
}

// ask has one request done.
func ask(ctx context.Context, p *Pool) error {
	return p.Do(ctx, func(ctx context.Context, m gpu.Model, enter func(context.Context) error) error {
		if err := enter(ctx); err != nil {
			return err
		}
		r, err := m.Infer(ctx, &gpu.Request{})
		if err == nil {
			r.Release()
		}
		return err
	})
}

// askMany keeps callers busy with requests, and returns the errors.
func askMany(p *Pool, callers, each int) (errs []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				if err := ask(context.Background(), p); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return errs
}

// TestWindowFollowsTheLoad: the window grows while nothing waits at the replica, and comes down when something does.
func TestWindowFollowsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := fake(t, "a", 20*time.Millisecond, nil)
		waiting := 0
		m.Busy = func() gpu.Load { return gpu.Load{Running: 4, Waiting: waiting} }
		p := New(Config{Window: 24}, []Replica{r})
		if errs := askMany(p, 40, 60); len(errs) != 0 {
			t.Fatal(errs)
		}
		if m.Most() < 20 || m.Most() > 24 {
			t.Errorf("an idle replica had %d requests in flight at most, want nearly 24", m.Most())
		}
		waiting = 10
		askMany(p, 40, 60)
		if w := p.mu.replicas[0].window.whole(); w > 2 {
			t.Errorf("the window of a replica where requests wait is %d", w)
		}
	})
}

// TestWindowWithoutLoad: a replica that works on four requests at once and says nothing gets about twice as many.
func TestWindowWithoutLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 4)
		m := gputest.New(t, gpu.Info{}, func(context.Context, *gpu.Request) ([]gpu.Tensor, error) {
			slots <- struct{}{}
			time.Sleep(10 * time.Millisecond)
			<-slots
			return nil, nil
		})
		p := New(Config{Window: 32}, []Replica{{"a", m}})
		begun := time.Now()
		if errs := askMany(p, 40, 50); len(errs) != 0 {
			t.Fatal(errs)
		}
		if took := time.Since(begun); took > 5500*time.Millisecond { // 2,000 requests, four at a time, 10 ms each: 5 s
			t.Errorf("2000 requests took %v", took)
		}
		if w := p.mu.replicas[0].window.whole(); w < 4 || w > 12 {
			t.Errorf("the window is %d, want about 8", w)
		}
	})
}

// TestLeastLoad: of two replicas, one three times as fast, neither waits for the other.
func TestLeastLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast, a := fake(t, "fast", 10*time.Millisecond, nil)
		slow, b := fake(t, "slow", 30*time.Millisecond, nil)
		p := New(Config{Parallel: 2, Fixed: true}, []Replica{a, b})
		begun := time.Now()
		if errs := askMany(p, 6, 100); len(errs) != 0 {
			t.Fatal(errs)
		}
		// Two at a time each: 200 and 67 requests a second, 2.25 s for all of them if both are always busy.
		if took := time.Since(begun); took > 3200*time.Millisecond || slow.Requests() < 80 {
			t.Errorf("%d requests went to the fast replica and %d to the slow one, in %v", fast.Requests(), slow.Requests(), took)
		}
	})
}

// TestEjectionAndReturn: a replica that dies gets nothing until it lives again, and then its share.
func TestEjectionAndReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ma, a := fake(t, "a", 10*time.Millisecond, nil)
		mb, b := fake(t, "b", 10*time.Millisecond, nil)
		p := New(Config{}, []Replica{a, b})
		mb.Kill(&dataset.TransientError{Err: errors.New("connection reset")})
		if errs := askMany(p, 4, 20); len(errs) != 0 {
			t.Fatal(errs)
		}
		lost := mb.Requests()
		if lost > 8 || ma.Requests() < 80 {
			t.Errorf("the dead replica got %d requests, the other %d", lost, ma.Requests())
		}
		mb.Revive()
		time.Sleep(longestWait)
		if probe := p.Probe(); probe == nil {
			t.Error("nobody asks the replica")
		} else {
			probe(t.Context())
		}
		if errs := askMany(p, 4, 20); len(errs) != 0 {
			t.Fatal(errs)
		}
		if mb.Requests()-lost < 20 {
			t.Errorf("the returned replica got %d requests of 80", mb.Requests()-lost)
		}
		var notes []string
		for _, n := range p.Notes() {
			notes = append(notes, n.Class)
		}
		if s := strings.Join(notes, ", "); s != "replica ejected, replica returned" {
			t.Errorf("notes are %s", s)
		}
	})
}

// TestAllDownForAWhile: requests wait for a replica to come back, if it does within the patience.
func TestAllDownForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, r := fake(t, "a", time.Millisecond, nil)
		p := New(Config{Patience: time.Minute}, []Replica{r})
		m.Kill(&dataset.TransientError{Err: errors.New("connection refused")})
		time.AfterFunc(30*time.Second, m.Revive)
		if errs := askMany(p, 3, 2); len(errs) != 0 {
			t.Fatal(errs)
		}
		m.Kill(&dataset.TransientError{Err: errors.New("connection refused")})
		begun := time.Now()
		err := ask(t.Context(), p)
		if _, fatal := errors.AsType[*dataset.FatalError](err); !fatal || time.Since(begun) > 70*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestFailuresByClass(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      error
		tries    int // 0: the run ends
		request  bool
		requests int
	}{
		{"refused", &dataset.TransientError{Err: errors.New("queue full")}, 4, false, 4},
		{"at fault", gpu.ErrRequest, 1, true, 1},
		{"odd", errors.New("INTERNAL"), 2, true, 2},
		{"fatal", &dataset.FatalError{Err: errors.New("no such model")}, 0, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := fake(t, "a", time.Millisecond, func() error { return c.err })
				p := New(Config{Tries: 4}, []Replica{r})
				err := ask(t.Context(), p)
				f, ok := errors.AsType[*Failure](err)
				if ok != (c.tries > 0) || ok && (f.Tries != c.tries || f.Request != c.request || f.Replica != "a") || !errors.Is(err, errors.Unwrap(c.err)) && !errors.Is(err, c.err) {
					t.Errorf("error is %#v (%v)", f, err)
				}
				if m.Requests() != c.requests {
					t.Errorf("%d requests were made, want %d", m.Requests(), c.requests)
				}
			})
		})
	}
}

// TestAfter: a replica that says when to come again is left alone until then.
func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		_, r := fake(t, "a", time.Millisecond, func() error {
			if first {
				first = false
				return &dataset.TransientError{Err: errors.New("busy"), After: 20 * time.Second}
			}
			return nil
		})
		p := New(Config{}, []Replica{r})
		begun := time.Now()
		if err := ask(t.Context(), p); err != nil || time.Since(begun) < 20*time.Second || time.Since(begun) > 25*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

func TestCancelEndsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r := fake(t, "a", time.Hour, nil)
		p := New(Config{}, []Replica{r})
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("stopped")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := ask(ctx, p); !errors.Is(err, cause) {
					t.Errorf("error is %v", err)
				}
			})
		}
		wg.Wait()
	})
}
