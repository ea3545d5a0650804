package relational

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// arena is the memory of an instance's state. The engine's allocator may wait, and a sort that waits cannot spill; so rows that are held
// are copied into memory of the arena's own, which was reserved before. Buffers are pooled from run to run.
type arena struct {
	pool *block.Pool
	mem  memory.Allocator
	used atomic.Int64
	held []func() // reservations
	size int64    // their sum
}

func newArena() *arena {
	a := &arena{pool: block.NewPool(1 << 62)}
	a.mem = block.NewAllocator(a.pool, a)
	return a
}

// Charge implements block.Account; what is charged was reserved before.
func (a *arena) Charge(n int64) { a.used.Add(n) }

// Refund implements block.Account.
func (a *arena) Refund(n int64) { a.used.Add(-n) }

// try reserves so much that n bytes are reserved in all; false if there is no room for it.
func (a *arena) try(rt dataset.Runtime, n int64) bool {
	if n <= a.size {
		return true
	}
	release, ok := rt.TryReserve(n - a.size)
	if ok {
		a.held, a.size = append(a.held, release), n
	}
	return ok
}

// wait is try that waits.
func (a *arena) wait(ctx context.Context, rt dataset.Runtime, n int64) error {
	if a.try(rt, n) {
		return nil
	}
	release, err := rt.Reserve(ctx, n-a.size)
	if err != nil {
		return err
	}
	a.held, a.size = append(a.held, release), n
	return nil
}

// release gives all reservations back, and the pool's idle buffers with them.
func (a *arena) release() {
	a.pool.Trim()
	for _, f := range a.held {
		f()
	}
	a.held, a.size = nil, 0
}
