package operators

import (
	"context"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/operators/internal/fetch"
)

// gate bounds what the downloads of one instance hold. Rows leave in the order in which they came, so a slow row holds up those that are
// done behind it. Two rules keep that bounded and moving: only rows close behind the oldest may start, and only so many bytes may be held; but the
// oldest row always may, so that it never waits for memory that rows behind it hold. It is safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	oldest uint64 // the first row that has not left
	ahead  uint64 // how many rows from there may be under way
	bytes  int64
	most   int64
	change chan struct{} // closed when anything changes
}

func newGate(most int64, ahead uint64) *gate {
	return &gate{ahead: ahead, most: most, change: make(chan struct{})}
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

// start waits until row seq is close enough behind the oldest.
func (g *gate) start(ctx context.Context, seq uint64) error {
	return g.wait(ctx, func() bool { return seq < g.oldest+g.ahead })
}

// take waits for room for n bytes of row seq.
func (g *gate) take(ctx context.Context, seq uint64, n int64) error {
	return g.wait(ctx, func() bool {
		if seq > g.oldest && g.bytes+n > g.most {
			return false
		}
		g.bytes += n
		return true
	})
}

// add changes the bytes held without waiting.
func (g *gate) add(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bytes += n
	if n < 0 {
		g.signal()
	}
}

// leave says that rows below seq have left.
func (g *gate) leave(seq uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.oldest = seq
	g.signal()
}

// bodyRoom is the fetch.Sink of one row: buffers of the stage's budget, let in by the gate.
type bodyRoom struct {
	gate *gate
	mem  memory.Allocator
	seq  uint64
	held int64 // what the gate let in for this row
}

var _ fetch.Sink = (*bodyRoom)(nil)

// Room implements fetch.Sink.
func (r *bodyRoom) Room(ctx context.Context, size int64) ([]byte, error) {
	if err := r.gate.take(ctx, r.seq, size); err != nil {
		return nil, err
	}
	r.held += size
	return r.mem.Allocate(int(size)), nil
}

// Grow implements fetch.Sink. The gate is told afterwards: a body that is half read must not wait for others.
func (r *bodyRoom) Grow(_ context.Context, b []byte, size int64) ([]byte, error) {
	r.gate.add(size - r.held)
	r.held = size
	return r.mem.Reallocate(int(size), b), nil
}

// Drop implements fetch.Sink.
func (r *bodyRoom) Drop(b []byte) {
	r.mem.Free(b)
	r.gate.add(-r.held)
	r.held = 0
}
