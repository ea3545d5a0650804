package python

import (
	"errors"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
)

// slabs gives pieces of shared memory, charged to the stage.
type slabs struct {
	shared  *store.Shared
	account block.Account // nil charges nothing
}

// slab is a piece of shared memory with one owner, who frees it. As an allocator it is what Arrow buffers that lie in it are freed by.
type slab struct {
	from  *slabs
	bytes []byte
	place place
}

var _ memory.Allocator = (*slab)(nil)

// openSlabs opens shared memory for a stage.
func openSlabs(mem memory.Allocator) (*slabs, error) {
	cfg := store.SharedConfig{}
	if a, ok := mem.(*block.Allocator); ok {
		cfg.Pool = a.Pool()
	}
	shared, err := store.OpenShared(cfg)
	if err != nil {
		return nil, err
	}
	s := &slabs{shared: shared}
	s.account, _ = mem.(block.Account)
	return s, nil
}

// get gives n bytes with any contents. A full folder ends the run: the message says how to make it larger.
func (s *slabs) get(n int) (*slab, error) {
	charge := int64(store.ClassBytes(n))
	if s.account != nil {
		s.account.Charge(charge)
	}
	b, err := s.shared.Alloc(n)
	if err != nil {
		if s.account != nil {
			s.account.Refund(charge)
		}
		if errors.Is(err, store.ErrFull) {
			err = &dataset.FatalError{Err: err}
		}
		return nil, err
	}
	at, _ := s.shared.Locate(b)
	return &slab{s, b, place{filepath.Join(s.shared.Dir(), at.Segment), at.Offset, int64(cap(b)), true}}, nil
}

// free gives the slab back; a nil one is nothing.
func (s *slab) free() {
	if s == nil || s.bytes == nil {
		return
	}
	charge := int64(cap(s.bytes))
	s.from.shared.Free(s.bytes)
	s.bytes = nil
	if s.from.account != nil {
		s.from.account.Refund(charge)
	}
}

// buffer hands the first n bytes over to an Arrow buffer, which frees the slab when it is released.
func (s *slab) buffer(n int) *memory.Buffer {
	return memory.NewBufferWithAllocator(s.bytes[:n], s)
}

// Allocate implements memory.Allocator: a slab does not grow.
func (*slab) Allocate(size int) []byte { return memory.DefaultAllocator.Allocate(size) }

// Reallocate implements memory.Allocator: nobody grows a buffer that was read.
func (*slab) Reallocate(size int, b []byte) []byte {
	return append(memory.DefaultAllocator.Allocate(size)[:0], b...)[:size]
}

// Free implements memory.Allocator.
func (s *slab) Free([]byte) { s.free() }
