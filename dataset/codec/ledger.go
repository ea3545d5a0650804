package codec

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// ledger is an allocator that remembers what it gave out, so that a decoding that failed can be undone whatever references were
// lost on the way. After void, frees of what it gave out do nothing.
//
// It also bounds what a decoding may take: metadata that was tampered with can ask Arrow's reader to expand buffers to any size.
type ledger struct {
	mem  memory.Allocator
	mu   sync.Mutex
	held map[*byte][]byte
	left int64
	dead bool
}

// errGreedy is what the ledger panics with; it is about the bytes, not about the allocator.
type errGreedy struct{ size int }

func (e errGreedy) Error() string {
	return fmt.Sprintf("a buffer of %d bytes is more than the frame can need", e.size)
}

// RuntimeError marks the panic as one that the bytes caused.
func (errGreedy) RuntimeError() {}

func (l *ledger) spend(size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left -= int64(size); l.left < 0 {
		panic(errGreedy{size})
	}
}

type dirty interface{ AllocateDirty(size int) []byte }

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	if d, ok := mem.(dirty); ok {
		return memory.NewBufferWithAllocator(d.AllocateDirty(size), mem)
	}
	return memory.NewBufferWithAllocator(mem.Allocate(size), mem)
}

// Allocate implements memory.Allocator.
func (l *ledger) Allocate(size int) []byte {
	l.spend(size)
	return l.note(l.mem.Allocate(size))
}

// AllocateDirty is Allocate for buffers that are overwritten as a whole.
func (l *ledger) AllocateDirty(size int) []byte {
	if d, ok := l.mem.(dirty); ok {
		l.spend(size)
		return l.note(d.AllocateDirty(size))
	}
	return l.Allocate(size)
}

func (l *ledger) note(b []byte) []byte {
	if cap(b) > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held == nil {
			l.held = map[*byte][]byte{}
		}
		l.held[key(b)] = b
	}
	return b
}

func key(b []byte) *byte { return &b[:1][0] }

// Reallocate implements memory.Allocator.
func (l *ledger) Reallocate(size int, b []byte) []byte {
	l.spend(size - len(b))
	if cap(b) > 0 {
		l.mu.Lock()
		delete(l.held, key(b))
		l.mu.Unlock()
	}
	return l.note(l.mem.Reallocate(size, b))
}

// Free implements memory.Allocator.
func (l *ledger) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	l.mu.Lock()
	_, ok := l.held[key(b)]
	delete(l.held, key(b))
	dead := l.dead
	l.mu.Unlock()
	if ok && !dead {
		l.mem.Free(b)
	}
}

// void frees everything that is held.
func (l *ledger) void() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, b := range l.held {
		l.mem.Free(b)
	}
	l.held = nil
}
