package block

import (
	"math/bits"
	"sync"
	"unsafe"
)

// Account is what an allocator charges: the permit of a task or of a stage. Sizes are capacities in bytes.
type Account interface {
	// Charge takes n bytes, waiting for them if need be. It may panic with an error that the stage boundary recovers when the bytes
	// can never be had.
	Charge(n int64)
	// Refund gives n bytes back. It is called from any goroutine.
	Refund(n int64)
}

const (
	minPooled = 64 << 10 // smaller buffers come from the Go heap: the runtime's own size classes serve them well
	align     = 64
)

// Pool recycles buffers of 64 KiB and more in size classes, four to the octave, so that memory goes from one stage to the next
// without waiting for the garbage collector and without being touched for the first time again. Idle capacity counts against the
// limit given to NewPool together with what is in use.
type Pool struct {
	mu struct {
		sync.Mutex
		free   map[int][][]byte
		idle   int64
		inUse  int64
		beside int64 // bytes of the limit that lie elsewhere
		fresh  int64 // bytes ever made
		reused int64 // bytes ever served from free lists
	}
	limit int64
}

// NewPool makes a pool that keeps idle buffers only while they and the buffers in use stay within limit bytes.
func NewPool(limit int64) *Pool {
	p := &Pool{limit: limit}
	p.mu.free = map[int][][]byte{}
	return p
}

// PoolStats are byte counts of a Pool.
type PoolStats struct{ IdleBytes, InUseBytes, FreshBytes, ReusedBytes int64 }

// Stats returns the pool's present counts.
func (p *Pool) Stats() PoolStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return PoolStats{p.mu.idle, p.mu.inUse, p.mu.fresh, p.mu.reused}
}

// ClassBytes returns the capacity that a request of n bytes is served with, which is what it is charged.
func ClassBytes(n int) int {
	if n < minPooled {
		return (n + align - 1) / align * align
	}
	step := 1 << (bits.Len(uint(n-1)) - 3) // a quarter of the power of two below n
	return (n + step - 1) / step * step
}

// get returns a buffer of class capacity c and whether it is known to be zero.
func (p *Pool) get(c int) (buf []byte, zeroed bool) {
	p.mu.Lock()
	p.mu.inUse += int64(c)
	if list := p.mu.free[c]; len(list) > 0 {
		buf = list[len(list)-1]
		p.mu.free[c] = list[:len(list)-1]
		p.mu.idle -= int64(c)
		p.mu.reused += int64(c)
		p.mu.Unlock()
		return buf, false
	}
	p.mu.fresh += int64(c)
	p.trimOver()
	p.mu.Unlock()
	return make([]byte, c), true
}

func (p *Pool) put(buf []byte) {
	c := cap(buf)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.inUse -= int64(c)
	if p.mu.inUse+p.mu.beside+p.mu.idle+int64(c) <= p.limit {
		p.mu.free[c] = append(p.mu.free[c], buf[:c])
		p.mu.idle += int64(c)
	}
}

// Beside tells the pool that n more (or, below zero, fewer) bytes of its limit are held elsewhere, as in shared memory, in use or idle: idle
// buffers give way to them.
func (p *Pool) Beside(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.beside += n
	p.trimOver()
}

// trimOver drops idle buffers until the limit holds; called with the lock held.
func (p *Pool) trimOver() {
	if over := p.mu.inUse + p.mu.beside + p.mu.idle - p.limit; over > 0 {
		p.trim(over)
	}
}

// trim drops idle buffers of at least n bytes in total; called with the lock held.
func (p *Pool) trim(n int64) {
	for c, list := range p.mu.free {
		for len(list) > 0 && n > 0 {
			list[len(list)-1] = nil
			list = list[:len(list)-1]
			p.mu.idle -= int64(c)
			n -= int64(c)
		}
		p.mu.free[c] = list
		if n <= 0 {
			return
		}
	}
}

// Trim drops all idle buffers.
func (p *Pool) Trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trim(p.mu.idle)
}

// Allocator is an Arrow memory.Allocator that serves buffers from a pool and charges their capacity to an account. It is safe for
// concurrent use. A buffer may be freed by any goroutine, long after the task that made it ended.
type Allocator struct {
	pool    *Pool
	account Account
}

// NewAllocator makes an allocator. A nil account charges nothing.
func NewAllocator(pool *Pool, account Account) *Allocator { return &Allocator{pool, account} }

// Budget is the memory budget, in bytes, that the allocator's pool belongs to. Who gathers rows before writing them gathers a small part of it.
func (a *Allocator) Budget() int64 { return a.pool.limit }

// Pool returns the pool that the buffers come from, and Account what they are charged to, which may be nil: for allocators that take memory
// elsewhere within the same budget.
func (a *Allocator) Pool() *Pool { return a.pool }

// Account returns what buffers are charged to; nil charges nothing.
func (a *Allocator) Account() Account { return a.account }

// Allocate returns a zeroed buffer of size bytes, aligned to 64.
func (a *Allocator) Allocate(size int) []byte {
	return a.allocate(size, true)
}

// AllocateDirty is Allocate without the promise of zeroes, for callers that overwrite every byte.
func (a *Allocator) AllocateDirty(size int) []byte {
	return a.allocate(size, false)
}

func (a *Allocator) allocate(size int, zero bool) []byte {
	c := ClassBytes(size)
	if a.account != nil && c > 0 {
		a.account.Charge(int64(c))
	}
	if c >= minPooled {
		buf, zeroed := a.pool.get(c)
		if zero && !zeroed {
			clear(buf[:c]) // the rest of the capacity too: Reallocate grows into it
		}
		return buf[:size]
	}
	return smallAligned(size, c)
}

// smallAligned makes a buffer of the Go heap whose first byte is at a multiple of 64 and whose capacity is exactly c.
func smallAligned(size, c int) []byte {
	if c == 0 {
		return []byte{}
	}
	raw := make([]byte, c+align)
	shift := int(-uintptr(unsafe.Pointer(&raw[0])) & (align - 1))
	return raw[shift : shift+size : shift+c]
}

// Reallocate returns a buffer of size bytes with the contents of b, which must not be used again.
func (a *Allocator) Reallocate(size int, b []byte) []byte {
	if size <= cap(b) {
		return b[:size] // as it is, like Arrow's own allocators: kernels write past the length of a buffer before they grow it
	}
	out := a.allocate(size, false)
	n := copy(out, b)
	clear(out[n:])
	a.Free(b)
	return out
}

// Free gives b back.
func (a *Allocator) Free(b []byte) {
	c := cap(b)
	if c >= minPooled {
		poison(b[:c])
		a.pool.put(b[:0:c])
	}
	if a.account != nil && c > 0 {
		a.account.Refund(int64(c))
	}
}
