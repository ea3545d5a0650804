package imaging

// slabBytes is the smallest piece that an arena asks for, so that small pictures share one.
const slabBytes = 1 << 20

// arena hands out scratch memory that is all taken back at once. Pictures are the garbage
// collector's whole load, so the memory is reused from picture to picture and never zeroed.
//
// A picture that does not fit adds slabs; the next reset replaces them by one slab of the size that was needed, so that what is held
// follows the largest picture and not the order in which sizes came.
type arena struct {
	slabs []([]byte)
	slab  int
	off   int
	peak  int
}

// alloc returns n bytes with undefined contents, valid until reset.
func (a *arena) alloc(n int) []byte {
	for a.slab < len(a.slabs) {
		if s := a.slabs[a.slab]; a.off+n <= len(s) {
			b := s[a.off : a.off+n : a.off+n]
			a.off += (n + 63) &^ 63
			a.peak = max(a.peak, a.position())
			return b
		}
		a.slab++
		a.off = 0
	}
	a.slabs = append(a.slabs, make([]byte, max(n, slabBytes)))
	return a.alloc(n)
}

// position is the bytes up to the next free one, whole slabs before it included.
func (a *arena) position() int {
	n := a.off
	for _, s := range a.slabs[:a.slab] {
		n += len(s)
	}
	return n
}

// mark and release nest: what was allocated after mark is taken back by release.
func (a *arena) mark() (slab, off int) { return a.slab, a.off }
func (a *arena) release(slab, off int) { a.slab, a.off = slab, off }

// reset takes back everything.
func (a *arena) reset() {
	if len(a.slabs) > 1 {
		clear(a.slabs)
		a.slabs = append(a.slabs[:0], make([]byte, (a.peak+slabBytes-1)/slabBytes*slabBytes))
	}
	a.slab, a.off, a.peak = 0, 0, 0
}

// plane returns memory for h rows of w bytes. Rows are padded to 16 bytes and to a multiple of 8
// rows, so that kernels may write whole words and whole bands.
func (a *arena) plane(w, h int) ([]byte, int) {
	stride := (w + 15) &^ 15
	return a.alloc(stride*((h+7)&^7) + 16), stride
}

// bytes is the memory held, used or not.
func (a *arena) bytes() int {
	n := 0
	for _, s := range a.slabs {
		n += len(s)
	}
	return n
}
