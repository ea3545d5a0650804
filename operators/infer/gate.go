package infer

import (
	"context"
	"sync"
)

// gate bounds what the requests of one instance hold, on the goroutines that carry them: bytes of tensors, backed by a reservation; how far a
// request may run ahead of the oldest row that is not complete; and how many compute (decode, tokenize, read answers) at once. No request
// waits here for one behind it, so that the oldest always gets on. It is safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	oldest int64 // input bytes before the oldest row that is not complete
	ahead  int64
	used   int64
	room   int64 // reserved
	cpus   int
	change chan struct{} // closed when anything changes
}

func newGate(room, ahead int64, cpus int) *gate {
	return &gate{room: room, ahead: ahead, cpus: max(1, cpus), change: make(chan struct{})}
}

// wait waits until ok, which is called with the lock held, and may take what it finds.
func (g *gate) wait(ctx context.Context, ok func() bool) error {
	for {
		g.mu.Lock()
		if ok() {
			g.mu.Unlock()
			return nil
		}
		change := g.change
		g.mu.Unlock()
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (g *gate) signal() {
	close(g.change)
	g.change = make(chan struct{})
}

// take waits until a request whose first row is at byte pos of the input may hold n bytes, n being at most the room.
func (g *gate) take(ctx context.Context, pos, n int64) error {
	return g.wait(ctx, func() bool {
		if pos > g.oldest+g.ahead || g.used+n > g.room {
			return false
		}
		g.used += n
		return true
	})
}

// give gives n bytes back.
func (g *gate) give(n int64) { g.with(func() { g.used -= n }) }

// compute runs f when a processor is free.
func (g *gate) compute(ctx context.Context, f func() error) error {
	if err := g.wait(ctx, func() bool {
		if g.cpus == 0 {
			return false
		}
		g.cpus--
		return true
	}); err != nil {
		return err
	}
	defer g.with(func() { g.cpus++ })
	return f()
}

// grow adds n bytes to the room.
func (g *gate) grow(n int64) { g.with(func() { g.room += n }) }

// leave says that all rows before byte pos of the input are complete.
func (g *gate) leave(pos int64) { g.with(func() { g.oldest = max(g.oldest, pos) }) }

func (g *gate) with(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
	g.signal()
}
