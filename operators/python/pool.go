package python

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// token is the right to run one process, and the memory that is reserved for it.
type token struct {
	reserved int64    // bytes of the budget
	release  []func() // gives back what was reserved by us; the scheduler reserved the rest
	need     atomic.Int64
}

// pool are the processes of one instance. Calls take a process, or start one if there is a token for it.
type pool struct {
	op      *op
	most    int
	idle    chan *proc
	tokens  chan *token
	broken  chan struct{} // closed when no process can ever be started
	base    atomic.Int64  // what a process that has just loaded takes; 0: not known yet
	wanting atomic.Int64  // calls in flight

	mu struct {
		sync.Mutex
		live  map[*proc]struct{}
		wait  *backoff.ExponentialBackOff
		ends  int // processes that died since the last call that ended well
		cause error
	}
	ends  sync.WaitGroup // of processes that end by themselves
	given int            // tokens ever made and not taken back; used by the operator's goroutine
}

// Restarts wait longer and longer, unless calls end well between them.
const (
	firstWait  = 100 * time.Millisecond
	longWait   = 30 * time.Second
	maxStarts  = 3 // starts in a row that may die
	chunkBytes = 16 << 20
)

func newPool(o *op, most int) *pool {
	p := &pool{op: o, most: most, idle: make(chan *proc, most), tokens: make(chan *token, most), broken: make(chan struct{})}
	p.mu.live = map[*proc]struct{}{}
	p.mu.wait = backoff.NewExponentialBackOff()
	p.mu.wait.InitialInterval, p.mu.wait.MaxInterval, p.mu.wait.Multiplier = firstWait, longWait, 2
	return p
}

// acquire gives a process that is ready.
func (p *pool) acquire(ctx context.Context) (*proc, error) {
	select {
	case <-p.broken:
		return nil, p.failure()
	default:
	}
	select {
	case pr := <-p.idle:
		return pr, nil
	default:
	}
	select {
	case pr := <-p.idle:
		return pr, nil
	case t := <-p.tokens:
		return p.launch(ctx, t)
	case <-p.broken:
		return nil, p.failure()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// launch starts a process and has it load the class. A process that dies meanwhile is started again a few times; an exception is the program's
// and would come again.
func (p *pool) launch(ctx context.Context, t *token) (*proc, error) {
	for try := 1; ; try++ {
		if err := p.pause(ctx); err != nil {
			p.tokens <- t
			return nil, err
		}
		pr, err := p.start(ctx, t)
		if err == nil {
			return pr, nil
		}
		if ctx.Err() != nil {
			p.tokens <- t
			return nil, context.Cause(ctx)
		}
		if d, ok := errors.AsType[*child.Died](err); ok && !d.Final && try < maxStarts {
			p.died()
			continue
		}
		err = p.give(fmt.Errorf("start %s: %w", p.op.spec.p.Target, err))
		p.tokens <- t // for close, which frees what it reserved
		return nil, err
	}
}

// start starts one process.
func (p *pool) start(ctx context.Context, t *token) (*proc, error) {
	s := p.op.spec
	ctx, cancel := context.WithTimeoutCause(ctx, s.p.StartTimeout,
		&child.Died{Text: fmt.Sprintf("loading takes longer than start_timeout=%v", s.p.StartTimeout), Kind: "process start", Final: true})
	defer cancel()
	pr, err := startProc(launch{python: p.op.python, target: s.p.Target, log: p.op.log, limit: p.op.limit, env: p.op.env})
	if err != nil {
		return nil, err
	}
	pr.token = t // before settle may see it
	p.mu.Lock()
	p.mu.live[pr] = struct{}{}
	p.mu.Unlock()
	if err = pr.started(ctx); err == nil {
		err = pr.exchange(ctx, p.op.load, &reply{})
	}
	if err != nil {
		if r, ok := errors.AsType[*raised](err); ok {
			p.op.log.Error("python", "loading", s.p.Target, "traceback", r.traceback)
		}
		p.drop(pr)
		return nil, err
	}
	if n, ok := child.MemoryOf(pr.Pid); ok {
		p.base.CompareAndSwap(0, n)
		t.need.Store(n)
	} else {
		p.base.CompareAndSwap(0, 1)
	}
	return pr, nil
}

// give notes that no process can be started.
func (p *pool) give(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.cause == nil {
		p.mu.cause = &dataset.FatalError{Err: err}
		close(p.broken)
	}
	return p.mu.cause
}

func (p *pool) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.cause
}

// put takes a process back after a call.
func (p *pool) put(pr *proc) {
	pr.calls++
	if n := pr.calls; n&(n-1) == 0 || n&63 == 0 { // reading it costs some 20 µs
		if n, ok := child.MemoryOf(pr.Pid); ok {
			pr.token.need.Store(n)
		}
	}
	p.mu.Lock()
	p.mu.ends = 0
	p.mu.wait.Reset()
	p.mu.Unlock()
	p.idle <- pr
}

// bury ends a process that died or was killed; another may be started in its place.
func (p *pool) bury(pr *proc) {
	p.died()
	t := pr.token
	p.drop(pr)
	p.tokens <- t
}

func (p *pool) drop(pr *proc) {
	p.mu.Lock()
	delete(p.mu.live, pr)
	p.mu.Unlock()
	pr.end()
}

func (p *pool) died() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.ends++
}

// pause waits before a start when processes have been dying.
func (p *pool) pause(ctx context.Context) error {
	p.mu.Lock()
	wait := time.Duration(0)
	if p.mu.ends > 1 {
		wait = p.mu.wait.NextBackOff()
	}
	p.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// admit makes tokens as work and memory allow. It is called on the operator's goroutine.
func (p *pool) admit(rt dataset.Runtime) {
	p.settle(rt)
	if p.given == 0 {
		p.given = 1
		p.tokens <- &token{reserved: p.op.spec.Needs().OffHeapBytes}
		return
	}
	base := p.base.Load()
	for base > 0 && p.given < p.most && int64(p.given) < p.wanting.Load() {
		t := &token{}
		if !t.reserve(rt, base) {
			return
		}
		p.given++
		p.tokens <- t
	}
}

// settle reserves what processes have grown by. Where the budget has no room a process is let go, unless it is the only one.
func (p *pool) settle(rt dataset.Runtime) {
	p.mu.Lock()
	live := make([]*proc, 0, len(p.mu.live))
	for pr := range p.mu.live {
		live = append(live, pr)
	}
	p.mu.Unlock()
	for _, pr := range live {
		t := pr.token
		grown := t.need.Load() - t.reserved
		if grown < chunkBytes/2 || t.reserve(rt, grown) {
			continue
		}
		if p.given > 1 && p.retire(pr) {
			rt.Warn("python processes were let go for want of memory",
				fmt.Sprintf("a process of %s took %s", p.op.spec.p.Target, child.MiB(t.need.Load())))
			continue
		}
		p.op.slabs.Charge(grown) // owed: the stage waits until others give memory back
		t.reserved += grown
		t.release = append(t.release, func() { p.op.slabs.Charge(-grown) })
	}
}

// retire ends a process for good if it is idle now.
func (p *pool) retire(pr *proc) bool {
	for range len(p.idle) {
		select {
		case x := <-p.idle:
			if x == pr {
				p.given--
				p.ends.Go(func() { p.finish(x) })
				return true
			}
			p.idle <- x
		default:
			return false
		}
	}
	return false
}

// reserve takes n bytes of the budget, or nothing.
func (t *token) reserve(rt dataset.Runtime, n int64) bool {
	var got []func()
	for left := n; left > 0; left -= chunkBytes {
		release, ok := rt.TryReserve(min(left, chunkBytes))
		if !ok {
			for _, f := range got {
				f()
			}
			return false
		}
		got = append(got, release)
	}
	t.release = append(t.release, got...)
	t.reserved += n
	return true
}

func (t *token) free() {
	for _, f := range t.release {
		f()
	}
	t.release = nil
}

// finish lets the object of a process close, and frees what was reserved for it.
func (p *pool) finish(pr *proc) {
	if err := pr.finish(); err != nil {
		p.op.log.Warn("python", "closing", p.op.spec.p.Target, "error", err.Error())
	}
	p.drop(pr)
	pr.token.free()
}

// close ends all processes, which may close their objects first, all at the same time. No call is in flight any more.
func (p *pool) close() {
	for len(p.idle) > 0 {
		pr := <-p.idle
		p.ends.Go(func() { p.finish(pr) })
	}
	p.ends.Wait()
	for len(p.tokens) > 0 {
		(<-p.tokens).free()
	}
}
