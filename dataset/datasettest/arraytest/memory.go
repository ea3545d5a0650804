package arraytest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// Memory is a memory.Allocator for tests. Buffers are aligned to 64 and, where zeroes are not promised, filled with garbage; freed
// memory is overwritten; double and foreign frees panic; what is still held is known by its stack. It is safe for concurrent use.
type Memory struct {
	mu    sync.Mutex
	held  map[*byte]allocation
	bytes int64
	peak  int64
	// charged is what Charge took and Refund has not given back.
	charged int64
	// FailAfter, if positive, makes the allocator panic with ErrNoMemory at that allocation and all later ones.
	FailAfter int
	count     int
}

type allocation struct {
	size  int
	stack [12]uintptr // where it was made; a whole trace each time would be slow
}

func (a allocation) trace() string {
	var s strings.Builder
	frames := runtime.CallersFrames(a.stack[:])
	for {
		f, more := frames.Next()
		fmt.Fprintf(&s, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return s.String()
		}
	}
}

// ErrNoMemory is what an exhausted Memory panics with.
var ErrNoMemory = fmt.Errorf("allocate memory: the test allows no more")

// NewMemory makes an allocator that fails the test at its end if anything is still held.
func NewMemory(tb testing.TB) *Memory {
	m := &Memory{held: map[*byte]allocation{}}
	tb.Cleanup(func() {
		if !tb.Failed() {
			m.Check(tb)
		}
	})
	return m
}

// Check fails the test if anything is held.
func (m *Memory) Check(tb testing.TB) {
	tb.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.held {
		tb.Errorf("%d bytes were not freed (%d in all); one buffer of %d came from:\n%s", m.bytes, len(m.held), a.size, a.trace())
		return
	}
	if m.charged != 0 {
		tb.Errorf("%d bytes that were charged for other memory were not refunded", m.charged)
	}
}

// Charge notes n bytes of memory that was made elsewhere, as block.Account says.
func (m *Memory) Charge(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.charged += n
}

// Refund takes n bytes off what was charged.
func (m *Memory) Refund(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.charged -= n; m.charged < 0 {
		panic("refund memory: more than was charged")
	}
}

// Bytes returns what is held now; Peak the most that was held at once.
func (m *Memory) Bytes() int64 { m.mu.Lock(); defer m.mu.Unlock(); return m.bytes }

// Peak returns the most bytes that were held at once.
func (m *Memory) Peak() int64 { m.mu.Lock(); defer m.mu.Unlock(); return m.peak }

// Allocations returns how many buffers were ever made.
func (m *Memory) Allocations() int { m.mu.Lock(); defer m.mu.Unlock(); return m.count }

// Allocate returns a zeroed buffer.
func (m *Memory) Allocate(size int) []byte { return m.make(size, 0) }

// AllocateDirty returns a buffer full of garbage.
func (m *Memory) AllocateDirty(size int) []byte { return m.make(size, 0xA5) }

func (m *Memory) make(size int, fill byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	if m.FailAfter > 0 && m.count >= m.FailAfter {
		panic(ErrNoMemory)
	}
	if size == 0 {
		return []byte{}
	}
	raw := make([]byte, size+64)
	shift := int(-uintptr(unsafe.Pointer(&raw[0])) & 63)
	b := raw[shift : shift+size : shift+size]
	if fill != 0 {
		for i := range b {
			b[i] = fill
		}
	}
	a := allocation{size: size}
	runtime.Callers(3, a.stack[:])
	m.held[&b[0]] = a
	m.bytes += int64(size)
	m.peak = max(m.peak, m.bytes)
	return b
}

// Reallocate moves b into a buffer of another size.
func (m *Memory) Reallocate(size int, b []byte) []byte {
	out := m.Allocate(size)
	copy(out, b)
	m.Free(b)
	return out
}

// Free gives b back and overwrites it.
func (m *Memory) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	b = b[:cap(b)]
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.held[&b[0]]
	if !ok {
		panic("free memory: the buffer is not held")
	}
	delete(m.held, &b[0])
	m.bytes -= int64(a.size)
	for i := range b {
		b[i] = 0xDB
	}
}
