package child

import (
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/store"
)

// Slabs gives pieces of shared memory, charged to the stage.
type Slabs struct {
	shared  *store.Shared
	account block.Account // nil charges nothing
}

// Slab is a piece of shared memory with one owner, who frees it. As an allocator it is what Arrow buffers that lie in it are freed by.
type Slab struct {
	// Bytes are what it holds, as long as it is not freed.
	Bytes []byte
	// Place is where other processes find them.
	Place Place
	from  *Slabs
}

var _ memory.Allocator = (*Slab)(nil)

// Place is where bytes lie in shared memory: the path of a segment, offset, length. It crosses as a list.
type Place struct {
	Path  string
	At, N int64
}

// MarshalJSON implements json.Marshaler.
func (p Place) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.Path, p.At, p.N}) }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Place) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.Path, &p.At, &p.N})
}

// StreamBytes is how much room the stream of a record needs, as codec.StreamEncoder makes it; rarely it needs more.
func StreamBytes(cols []arrow.Array) int {
	size := int64(16<<10) + int64(len(cols))*512
	for _, c := range cols {
		live := block.ArrayBytes(c)
		size += live + live/64
	}
	return int(size)
}

// OpenSlabs opens shared memory for a stage, of which it keeps at most idle bytes that nobody uses; 0: any.
func OpenSlabs(mem memory.Allocator, idle int64) (*Slabs, error) {
	cfg := store.SharedConfig{Idle: idle}
	if a, ok := mem.(*block.Allocator); ok {
		cfg.Pool = a.Pool()
	}
	shared, err := store.OpenShared(cfg)
	if err != nil {
		return nil, err
	}
	s := &Slabs{shared: shared}
	s.account, _ = mem.(block.Account)
	return s, nil
}

// Charge takes bytes of the stage's budget beside what slabs take, or gives them back.
func (s *Slabs) Charge(n int64) {
	switch {
	case s.account == nil:
	case n > 0:
		s.account.Charge(n)
	case n < 0:
		s.account.Refund(-n)
	}
}

// Crowded says that more than half of what may be had is in use: what lives long should be copied out.
func (s *Slabs) Crowded() bool {
	st := s.shared.Stats()
	return st.InUseBytes > st.LimitBytes/2
}

// Close gives the shared memory back, as soon as the last slab is.
func (s *Slabs) Close() error { return s.shared.Close() }

// Get gives n bytes with any contents. A full folder ends the run: the message says how to make it larger.
func (s *Slabs) Get(n int) (*Slab, error) {
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
	return &Slab{Bytes: b, Place: Place{filepath.Join(s.shared.Dir(), at.Segment), at.Offset, int64(cap(b))}, from: s}, nil
}

// Return gives the slab back; a nil one is nothing.
func (s *Slab) Return() {
	if s == nil || s.Bytes == nil {
		return
	}
	charge := int64(cap(s.Bytes))
	s.from.shared.Free(s.Bytes)
	s.Bytes = nil
	if s.from.account != nil {
		s.from.account.Refund(charge)
	}
}

// Buffer hands the first n bytes over to an Arrow buffer, which frees the slab when it is released.
func (s *Slab) Buffer(n int) *memory.Buffer {
	return memory.NewBufferWithAllocator(s.Bytes[:n], s)
}

// Allocate implements memory.Allocator: a slab does not grow.
func (*Slab) Allocate(size int) []byte { return memory.DefaultAllocator.Allocate(size) }

// Reallocate implements memory.Allocator: nobody grows a buffer that was read.
func (*Slab) Reallocate(size int, b []byte) []byte {
	return append(memory.DefaultAllocator.Allocate(size)[:0], b...)[:size]
}

// Free implements memory.Allocator.
func (s *Slab) Free([]byte) { s.Return() }
