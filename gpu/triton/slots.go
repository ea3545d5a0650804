package triton

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
	"github.com/sluice-data/sluice/gpu"
)

// slots is the memory of a model's requests: a ring of slots in shared memory that one request at a time owns, and plain memory where that is off or
// used up.
type slots struct {
	heap     *block.Allocator
	least    int // bytes of a slot
	capacity int // slots of shared memory in use at most

	callers sync.WaitGroup // of Infer, which hold slots

	mu struct {
		sync.Mutex
		shared  *store.Shared
		alloc   *store.Allocator
		off     bool           // the server refused it: nothing new is shared
		live    map[*byte]bool // handed out, by first byte; true for shared memory
		inUse   int            // shared ones
		flying  int            // of those, how many requests on the wire hold
		aside   int            // slots that the ring does without, since a server may still write there
		doomed  [][]byte       // of those, the ones whose server cannot be asked any more
		changed chan struct{}  // closed and replaced when a slot is given back
	}
}

func newSlots(heap *block.Allocator, opts gpu.Options) *slots {
	s := &slots{heap: heap, least: opts.SlotBytes, capacity: opts.Slots}
	s.mu.live = map[*byte]bool{}
	s.mu.changed = make(chan struct{})
	return s
}

// share turns shared memory on.
func (s *slots) share(sh *store.Shared) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.shared = sh
	s.mu.alloc = sh.Allocator(s.heap)
}

// unshare has new memory be plain: the server refused what is shared.
func (s *slots) unshare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.off = true
	s.wake()
}

// missed returns how many bytes shared memory had no room for.
func (s *slots) missed() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.alloc == nil {
		return 0
	}
	return s.mu.alloc.MissedBytes()
}

// sharing returns the allocator of shared memory if a ring of so many slots has one free; called with the lock held.
func (s *slots) sharing(capacity int) *store.Allocator {
	if s.mu.off || s.mu.inUse >= capacity || s.mu.aside > 2*s.capacity {
		return nil
	}
	return s.mu.alloc
}

// shared returns the store, nil when shared memory is off.
func (s *slots) shared() *store.Shared {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.shared
}

// Alloc implements gpu.Model. While all slots are in use it waits for a request on the wire to end; if there is none, waiting could last for ever, since callers
// may hold one slot and want another, and the memory is plain.
func (m *Model) Alloc(ctx context.Context, n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("allocate %d bytes for model %s: %w", n, m.name, gpu.ErrRequest)
	}
	if _, err := m.details(ctx); err != nil { // it decides about shared memory
		return nil, err
	}
	return m.slots.get(ctx, n)
}

// Free implements gpu.Model.
func (m *Model) Free(b []byte) { m.slots.free(b) }

func (s *slots) get(ctx context.Context, n int) ([]byte, error) {
	s.mu.Lock()
	for s.mu.alloc != nil && !s.mu.off && s.mu.inUse >= s.capacity && s.mu.flying > 0 {
		changed := s.mu.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for a slot of shared memory: %w", context.Cause(ctx))
		}
		s.mu.Lock()
	}
	alloc := s.sharing(s.capacity)
	s.mu.Unlock()
	b := s.make(alloc, max(n, s.least, 1))
	return b[:n], nil
}

// output gives room for an output without waiting; nil when there is no shared memory to be had.
func (s *slots) output(n int) []byte {
	s.mu.Lock()
	alloc := s.sharing(2 * s.capacity)
	s.mu.Unlock()
	if alloc == nil {
		return nil
	}
	b := s.make(alloc, max(n, s.least))
	if s.isShared(b) {
		return b[:n]
	}
	s.free(b)
	return nil
}

// make allocates and notes who must free it. Charging may wait, so the lock is not held.
func (s *slots) make(alloc *store.Allocator, n int) []byte {
	var b []byte
	if alloc != nil {
		b = alloc.AllocateDirty(n)
	} else {
		b = s.heap.AllocateDirty(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	shared := alloc != nil && s.mu.shared.Owns(b)
	s.mu.live[unsafe.SliceData(b)] = shared
	if shared {
		s.mu.inUse++
	}
	return b
}

func (s *slots) isShared(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.live[unsafe.SliceData(b)]
}

// owned says whether bytes came from Alloc and were not freed.
func (s *slots) owned(b []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.mu.live[unsafe.SliceData(b)]
	return ok && cap(b) > 0
}

// free gives bytes back for the next request.
func (s *slots) free(b []byte) {
	if cap(b) == 0 {
		return
	}
	p := unsafe.SliceData(b[:1])
	s.mu.Lock()
	shared, ok := s.mu.live[p]
	if !ok {
		s.mu.Unlock()
		panic("free: the bytes are not from Alloc, or were freed before")
	}
	delete(s.mu.live, p)
	alloc := s.mu.alloc
	if shared {
		s.mu.inUse--
		s.wake()
	}
	s.mu.Unlock()
	if shared {
		alloc.Free(b)
	} else {
		s.heap.Free(b)
	}
}

// setAside takes slots out of the ring whose request goes on without its caller, and returns those that the server may write to. Plain memory is free: it was
// copied to the message.
func (s *slots) setAside(list [][]byte) (shared [][]byte) {
	for _, b := range list {
		p := unsafe.SliceData(b[:1])
		s.mu.Lock()
		isShared := s.mu.live[p]
		if isShared {
			delete(s.mu.live, p)
			s.mu.inUse--
			s.mu.aside++
			shared = append(shared, b)
		}
		s.mu.Unlock()
		if !isShared {
			s.free(b)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake()
	return shared
}

// giveBack frees slots that were set aside: the server has answered.
func (s *slots) giveBack(aside [][]byte) {
	s.mu.Lock()
	s.mu.aside -= len(aside)
	alloc := s.mu.alloc
	s.wake()
	s.mu.Unlock()
	for _, b := range aside {
		alloc.Free(b)
	}
}

// doom leaves slots aside until the server is known to be gone, because it cannot be asked any more and may write to them.
func (s *slots) doom(aside [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.doomed = append(s.mu.doomed, aside...)
}

// released gives back what was doomed: the server that knew it is gone.
func (s *slots) released() {
	s.mu.Lock()
	doomed := s.mu.doomed
	s.mu.doomed = nil
	s.mu.Unlock()
	s.giveBack(doomed)
}

// fly counts requests on the wire, whose end frees slots.
func (s *slots) fly(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.flying += n
	s.wake()
}

func (s *slots) wake() {
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// close removes the shared memory. What a server still has mapped stays there, for it alone; answers that were not released keep theirs.
func (s *slots) close() error {
	s.released()
	if shared := s.shared(); shared != nil {
		return shared.Close()
	}
	return nil
}
