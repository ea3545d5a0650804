package expr

import "sync"

// arena lends zeroed bitmaps for the time of one evaluation, so that a filter that runs block after block allocates
// nothing but its results. They are a bit per row and do not count against the caller's allocator.
type arena struct {
	slab []uint64
	used int
	more int // words asked for beyond the slab
}

// maxArena bounds, in words, what a pooled arena keeps between evaluations: 2 MiB.
const maxArena = 256 << 10

var arenas = sync.Pool{New: func() any { return new(arena) }}

func (a *arena) words(n int) []uint64 {
	if a.used+n > len(a.slab) {
		a.more += n
		return make([]uint64, n)
	}
	w := a.slab[a.used : a.used+n : a.used+n]
	a.used += n
	clear(w)
	return w
}

// recycle gives everything back. The next evaluation finds a slab as large as this one needed.
func (a *arena) recycle() {
	if need := a.used + a.more; a.more > 0 && need <= maxArena {
		a.slab = make([]uint64, need+need/4)
	}
	a.used, a.more = 0, 0
	arenas.Put(a)
}

// words returns a zeroed bitmap of one bit per row that lasts until the evaluation ends.
func (c *evalCtx) words() []uint64 { return c.scratch.words(wordsFor(c.n)) }
