package store

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sluice-data/sluice/dataset/block"
)

// Errors of shared memory.
var (
	// ErrFull says that the folder or the limit has no room; whoever can goes on with memory of its own.
	ErrFull = errors.New("shared memory is full")
	// ErrStale says that a Span is of an earlier use of its slot.
	ErrStale = errors.New("the shared memory was given back")
	// ErrNotShared says that bytes do not lie in a segment.
	ErrNotShared = errors.New("the bytes are not in shared memory")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("the shared memory is closed")
)

// SharedConfig says where shared memory is and how much may be had.
type SharedConfig struct {
	// Dir is where segments lie; empty means DefaultDir(). Other processes must see the same folder: servers that call shm_open need /dev/shm.
	Dir string
	// Limit is the most bytes that all segments together take, idle ones too; 0 means half of what Dir has free now.
	Limit int64
	// Idle, if not 0, is the most bytes that are kept though nobody uses them: above it segments that are idle are removed, and larger slots get a segment
	// of their own, so that they can be. Each then costs as much as to touch its pages again.
	Idle int64
	// Pool, if not nil, is told what segments take, so that its idle memory gives way and both stay within one budget.
	Pool *block.Pool
}

// Shared is the shared memory of one owner: a program, usually. It is safe for concurrent use.
type Shared struct {
	dir   string
	limit int64
	idle  int64
	pool  *block.Pool
	owner *owner

	// where is a snapshot of the segments by address, so that finding the segment of some bytes takes no lock.
	where atomic.Pointer[[]*segment]

	mu struct {
		sync.Mutex
		byClass map[int][]*segment
		byName  map[string]*segment
		mapped  int64
		inUse   int64
		made    int64
		recycle int64
		closed  bool
	}
}

// OpenShared opens shared memory, after it has removed what dead owners left in the folder.
func OpenShared(cfg SharedConfig) (*Shared, error) {
	if cfg.Dir == "" {
		cfg.Dir = DefaultDir()
	}
	_, free, err := spaceOf(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open shared memory: %w", err)
	}
	if cfg.Limit == 0 {
		cfg.Limit = free / 2
	}
	if _, err := Sweep(cfg.Dir); err != nil {
		return nil, fmt.Errorf("open shared memory: %w", err)
	}
	o, err := newOwner(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open shared memory: %w", err)
	}
	s := &Shared{dir: cfg.Dir, limit: cfg.Limit, idle: cfg.Idle, pool: cfg.Pool, owner: o}
	s.mu.byClass, s.mu.byName = map[int][]*segment{}, map[string]*segment{}
	s.where.Store(&[]*segment{})
	return s, nil
}

// Dir returns the folder of the segments.
func (s *Shared) Dir() string { return s.dir }

// SharedStats are counts of a Shared, in bytes.
type SharedStats struct {
	Segments      int
	MappedBytes   int64 // of all segments
	InUseBytes    int64 // of slots in use, as charged
	FreshBytes    int64 // of slots ever given out for the first time since their segment was made
	RecycledBytes int64 // of slots ever given out again
	LimitBytes    int64 // what all segments together may take
}

// Stats returns the present counts.
func (s *Shared) Stats() SharedStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return SharedStats{len(s.mu.byName), s.mu.mapped, s.mu.inUse, s.mu.made, s.mu.recycle, s.limit}
}

// Alloc gives n bytes of shared memory with any contents, at a multiple of 64, and of the capacity ClassBytes(n). They are the caller's until Free.
// The error is ErrFull when there is no room.
func (s *Shared) Alloc(n int) ([]byte, error) { return s.alloc(n, nil) }

func (s *Shared) alloc(n int, account block.Account) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("allocate shared memory: %d bytes", n)
	}
	class := ClassBytes(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.withFree(class)
	if err != nil {
		return nil, fmt.Errorf("allocate %d bytes of shared memory: %w", n, err)
	}
	b := g.take(account)
	s.mu.inUse += int64(class)
	if i, _ := s.slotOf(g, b); *g.generation(i) > 1 {
		s.mu.recycle += int64(class)
	} else {
		s.mu.made += int64(class)
	}
	return b[:n], nil
}

// withFree returns a segment of the class that has a free slot, a new one if need be; called with the lock held.
func (s *Shared) withFree(class int) (*segment, error) {
	if s.mu.closed {
		return nil, ErrClosed
	}
	for _, g := range s.mu.byClass[class] {
		if len(g.free) > 0 {
			return g, nil
		}
	}
	slots := slotsOf(class)
	if s.idle > 0 {
		slots = max(1, min(slots, int(s.idle/int64(class))/slotsPerMake))
	}
	size := segmentBytes(class, slots)
	if s.mu.mapped+size > s.limit {
		s.trim(s.mu.mapped + size - s.limit)
	}
	if left := s.limit - s.mu.mapped; size > left { // a smaller segment may still fit
		fit := (left - int64(headerBytes(slots)) - pageBytes) / int64(class)
		if fit < 1 {
			return nil, fmt.Errorf("%w: %d of the limit of %d bytes are used", ErrFull, s.mu.mapped, s.limit)
		}
		slots = int(fit)
		size = segmentBytes(class, slots)
	}
	g, err := s.make(class, slots, size)
	if errors.Is(err, ErrFull) && slots > 1 {
		g, err = s.make(class, 1, segmentBytes(class, 1))
	}
	return g, err
}

// make creates and maps a segment.
func (s *Shared) make(class, slots int, size int64) (*segment, error) {
	name := s.owner.next()
	mem, err := createMapped(s.dir, name, size)
	if err != nil {
		return nil, err
	}
	g := newSegment(name, mem, class, slots)
	s.mu.byClass[class] = append(s.mu.byClass[class], g)
	s.mu.byName[name] = g
	s.publish()
	s.count(size)
	return g, nil
}

func (s *Shared) count(n int64) {
	s.mu.mapped += n
	if s.pool != nil {
		s.pool.Beside(n)
	}
}

// publish renews the snapshot by address.
func (s *Shared) publish() {
	list := make([]*segment, 0, len(s.mu.byName))
	for _, g := range s.mu.byName {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *segment) int {
		if a.base < b.base {
			return -1
		}
		return 1
	})
	s.where.Store(&list)
}

// segmentOf finds the segment that some bytes begin in, and their offset in it.
func (s *Shared) segmentOf(b []byte) (*segment, int) {
	p := unsafe.SliceData(b)
	if p == nil {
		return nil, 0
	}
	at := uintptr(unsafe.Pointer(p))
	list := *s.where.Load()
	i, found := slices.BinarySearchFunc(list, at, func(g *segment, at uintptr) int {
		switch {
		case g.base < at:
			return -1
		case g.base > at:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	if i < 0 || at-list[i].base >= uintptr(len(list[i].mem)) {
		return nil, 0
	}
	return list[i], int(at - list[i].base)
}

func (s *Shared) slotOf(g *segment, b []byte) (int, bool) {
	return g.slotAt(int(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - g.base))
}

// Owns says whether bytes begin in a segment of the store.
func (s *Shared) Owns(b []byte) bool {
	g, _ := s.segmentOf(b)
	return g != nil
}

// Locate tells where bytes lie that are in use and belong to one slot.
func (s *Shared) Locate(b []byte) (Span, bool) {
	g, off := s.segmentOf(b)
	if g == nil {
		return Span{}, false
	}
	i, ok := g.slotAt(off)
	if !ok || off+len(b) > g.data+(i+1)*g.class {
		return Span{}, false
	}
	gen := atomic.LoadUint64(g.generation(i))
	return Span{g.name, int64(off), int64(len(b)), gen}, gen%2 == 1
}

// Resolve returns the bytes of a span; they stay the ones meant only while somebody is known to use the slot. The error is ErrStale for a span of
// another generation, and ErrNotShared for one that is in no slot.
func (s *Shared) Resolve(at Span) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, i, err := s.find(at)
	if err != nil {
		return nil, err
	}
	end := g.data + (i+1)*g.class
	return g.mem[at.Offset : at.Offset+at.Len : end], nil
}

// find checks a span; called with the lock held.
func (s *Shared) find(at Span) (*segment, int, error) {
	g := s.mu.byName[at.Segment]
	if g == nil || at.Len < 0 || at.Offset < 0 || at.Offset > int64(len(g.mem)) {
		return nil, 0, fmt.Errorf("%w: %s [%d, %d)", ErrNotShared, at.Segment, at.Offset, at.Offset+at.Len)
	}
	i, ok := g.slotAt(int(at.Offset))
	if !ok || at.Len > int64(g.data+(i+1)*g.class)-at.Offset {
		return nil, 0, fmt.Errorf("%w: %s [%d, %d) is not in one slot", ErrNotShared, at.Segment, at.Offset, at.Offset+at.Len)
	}
	if gen := *g.generation(i); gen != at.Generation || gen%2 == 0 {
		return nil, 0, fmt.Errorf("%w: slot %d of %s is at generation %d, not %d", ErrStale, i, at.Segment, gen, at.Generation)
	}
	return g, i, nil
}

// Free gives bytes of Alloc back. They may still be pinned by connections, which keep the slot and its charge.
func (s *Shared) Free(b []byte) {
	g, off := s.segmentOf(b[:cap(b)])
	if g == nil {
		panic("shared memory: bytes were freed that are not its own")
	}
	i, _ := g.slotAt(off)
	s.mu.Lock()
	refund := s.drop(g, i)
	s.mu.Unlock()
	refund()
}

// drop takes one user from a slot; the function returned is called without the lock.
func (s *Shared) drop(g *segment, i int) (refund func()) {
	last, account := g.drop(i)
	if !last {
		return func() {}
	}
	s.mu.inUse -= int64(g.class)
	switch unused := s.mu.mapped - s.mu.inUse; {
	case !g.idle():
	case s.mu.closed:
		s.remove(g)
	case s.idle > 0 && unused > s.idle:
		s.trim(unused - s.idle)
	}
	if account == nil {
		return func() {}
	}
	class := int64(g.class)
	return func() { account.Refund(class) }
}

// Trim removes all segments that nobody uses.
func (s *Shared) Trim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim(s.mu.mapped)
}

// trim removes idle segments of at least n bytes, as far as there are any; called with the lock held.
func (s *Shared) trim(n int64) {
	for _, g := range s.mu.byName {
		if n <= 0 {
			return
		}
		if g.idle() {
			n -= int64(len(g.mem))
			s.remove(g)
		}
	}
}

// remove unlinks and unmaps an idle segment; called with the lock held.
func (s *Shared) remove(g *segment) {
	s.unlink(g)
	delete(s.mu.byName, g.name)
	s.mu.byClass[g.class] = slices.DeleteFunc(s.mu.byClass[g.class], func(x *segment) bool { return x == g })
	s.publish()
	s.count(-int64(len(g.mem)))
	unmap(g.mem)
	g.mem = nil
}

func (s *Shared) unlink(g *segment) {
	if !g.gone {
		g.gone = true
		removeFile(s.dir, g.name)
	}
}

// Close removes the names of all segments and their owner's lock. Slots that are still in use stay readable until they are freed.
func (s *Shared) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.closed {
		return nil
	}
	s.mu.closed = true
	for _, g := range s.mu.byName {
		s.unlink(g)
		if g.idle() {
			s.remove(g)
		}
	}
	return s.owner.close()
}
