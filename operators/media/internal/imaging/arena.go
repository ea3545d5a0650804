package imaging

// keepScratchBytes is how much scratch memory a worker keeps between pictures: enough for a
// 12-megapixel 4:2:0 photo and its working copies. What one giant picture needed goes back.
const keepScratchBytes = 32 << 20

// slabBytes is the smallest piece that an arena asks for, so that small pictures share one.
const slabBytes = 1 << 20

// arena hands out scratch memory that is all taken back at once. Pictures are the garbage
// collector's whole load, so the memory is reused from picture to picture and never zeroed.
type arena struct {
	slabs [][]byte
	slab  int
	off   int
}

// alloc returns n bytes with undefined contents, valid until reset.
func (a *arena) alloc(n int) []byte {
	for a.slab < len(a.slabs) {
		if s := a.slabs[a.slab]; a.off+n <= len(s) {
			b := s[a.off : a.off+n : a.off+n]
			a.off += (n + 63) &^ 63
			return b
		}
		a.slab++
		a.off = 0
	}
	a.slabs = append(a.slabs, make([]byte, max(n, slabBytes)))
	return a.alloc(n)
}

// mark and release nest: what was allocated after mark is taken back by release.
func (a *arena) mark() (slab, off int) { return a.slab, a.off }
func (a *arena) release(slab, off int) { a.slab, a.off = slab, off }
func (a *arena) reset()                { a.slab, a.off = 0, 0; a.trim() }

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

func (a *arena) trim() {
	if a.bytes() > keepScratchBytes {
		a.slabs = nil
	}
}
