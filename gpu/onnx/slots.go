//go:build onnx && cgo

package onnx

import (
	"context"
	"sync"
	"unsafe"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
)

// plainIdle is what is kept for reuse of memory that no budget knows of.
const plainIdle = 64 << 20

// slots is the memory of a model's inputs. It is recycled: a request's worth of it for each photo is more than a garbage collector should have to find.
type slots struct {
	mem *block.Allocator
	mu  *sync.Mutex
	// live are those handed out, by their first byte.
	live map[*byte][]byte
}

func newSlots(mem *block.Allocator) slots {
	if mem == nil {
		mem = block.NewAllocator(block.NewPool(plainIdle), nil)
	}
	return slots{mem, &sync.Mutex{}, map[*byte][]byte{}}
}

// Alloc implements gpu.Model: plain memory of Options.Memory. It never waits.
func (m *model) Alloc(_ context.Context, n int) ([]byte, error) {
	b := m.slots.mem.AllocateDirty(max(n, 1))
	m.slots.mu.Lock()
	defer m.slots.mu.Unlock()
	m.slots.live[unsafe.SliceData(b)] = b
	return b[:n], nil
}

// Free implements gpu.Model.
func (m *model) Free(b []byte) { m.slots.free(b) }

// free gives back what Alloc gave; other bytes are left alone.
func (s *slots) free(b []byte) {
	s.mu.Lock()
	whole, ok := s.live[unsafe.SliceData(b)]
	delete(s.live, unsafe.SliceData(b))
	s.mu.Unlock()
	if ok {
		s.mem.Free(whole)
	}
}

// taken frees the inputs of a request that were handed over.
func (s *slots) taken(req *gpu.Request) {
	for i := range req.Inputs {
		if d := req.Inputs[i].Data; cap(d) > 0 {
			s.free(d)
		}
	}
}

// close frees what nobody did.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, b := range s.live {
		delete(s.live, p)
		s.mem.Free(b)
	}
}
