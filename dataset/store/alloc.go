package store

import (
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// Allocator is an Arrow memory.Allocator whose buffers lie in shared memory, so that what is built with it can be handed to another process by
// Span, and charged to the account of the allocator it stands in for. Where shared memory is full it gives memory of that allocator instead: callers ask
// Locate. It is safe for concurrent use; buffers may be freed by any goroutine, at any time, also after the Shared was closed.
type Allocator struct {
	shared *Shared
	base   *block.Allocator
	missed atomic.Int64
}

var _ memory.Allocator = (*Allocator)(nil)

// Allocator makes an allocator over the shared memory.
func (s *Shared) Allocator(base *block.Allocator) *Allocator {
	return &Allocator{shared: s, base: base}
}

// MissedBytes returns how much was asked for that shared memory had no room for.
func (a *Allocator) MissedBytes() int64 { return a.missed.Load() }

// Allocate returns a zeroed buffer of size bytes, aligned to 64.
func (a *Allocator) Allocate(size int) []byte {
	b, shared := a.allocate(size)
	if shared {
		clear(b[:cap(b)]) // the rest of the capacity too: Reallocate grows into it
	}
	return b
}

// AllocateDirty is Allocate without the promise of zeroes.
func (a *Allocator) AllocateDirty(size int) []byte {
	b, _ := a.allocate(size)
	return b
}

// allocate says whether the bytes are shared and may have any contents; others are zeroed.
func (a *Allocator) allocate(size int) ([]byte, bool) {
	if size == 0 {
		return []byte{}, false
	}
	account := a.base.Account()
	class := int64(ClassBytes(size))
	if account != nil {
		account.Charge(class)
	}
	b, err := a.shared.alloc(size, account)
	if err == nil {
		return b, true
	}
	if account != nil {
		account.Refund(class)
	}
	a.missed.Add(int64(size))
	return a.base.Allocate(size), false
}

// Reallocate returns a buffer of size bytes with the contents of b, which must not be used again.
func (a *Allocator) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size]
	}
	out, shared := a.allocate(size)
	n := copy(out, b)
	if shared {
		clear(out[n:cap(out)])
	}
	a.Free(b)
	return out
}

// Free gives b back.
func (a *Allocator) Free(b []byte) {
	switch {
	case cap(b) == 0:
	case a.shared.Owns(b[:cap(b)]):
		a.shared.Free(b)
	default:
		a.base.Free(b)
	}
}
