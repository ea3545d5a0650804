package columns

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// minVecBytes is the first allocation of a vector: one cache line, so that an unused column costs nothing worth counting.
const minVecBytes = 64

// Vec is a growing array of fixed-width values in one Arrow buffer. It is a plain slice append without the per-call
// bookkeeping of arrow's builders, because the parser appends every value of every row through it.
type Vec[T any] struct {
	mem  memory.Allocator
	buf  *memory.Buffer
	V    []T // the room; the values are V[:N]
	N    int
	hint int // values held by the previous block: the first allocation of the next one
}

// Init sets the allocator.
func (x *Vec[T]) Init(mem memory.Allocator) { x.mem = mem }

// Push appends a value.
func (x *Vec[T]) Push(val T) {
	if x.N == len(x.V) {
		x.grow(1)
	}
	x.V[x.N] = val
	x.N++
}

// grow makes room for at least more further values.
func (x *Vec[T]) grow(more int) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	want := max(2*len(x.V), x.N+more, minVecBytes/width)
	if x.buf == nil {
		x.buf = memory.NewResizableBuffer(x.mem)
		want = max(want, x.hint)
	}
	x.buf.Reserve(want * width)
	b := x.buf.Buf()
	x.V = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/width)
}

// Room returns the free tail of the vector, at least need values long; the caller adds what it wrote to N.
func (x *Vec[T]) Room(need int) []T {
	if len(x.V)-x.N < need {
		x.grow(need)
	}
	return x.V[x.N:]
}

// Bytes is the size of the values.
func (x *Vec[T]) Bytes() int {
	var zero T
	return x.N * int(unsafe.Sizeof(zero))
}

// Take hands the filled buffer to the caller and empties the vector. The buffer is never nil: Arrow wants one even for
// arrays without values.
func (x *Vec[T]) Take() *memory.Buffer {
	if x.buf == nil {
		x.buf = memory.NewResizableBuffer(x.mem)
	}
	b := x.buf
	b.ResizeNoShrink(x.Bytes())
	x.hint = x.N + x.N/16
	x.buf, x.V, x.N = nil, nil, 0
	return b
}

// Release frees the buffer and empties the vector.
func (x *Vec[T]) Release() {
	if x.buf != nil {
		x.buf.Release()
	}
	x.buf, x.V, x.N = nil, nil, 0
}

// Validity is the null bitmap of a column, allocated at the first null: most columns never have one.
type Validity struct {
	Bits  Vec[byte]
	n     int
	nulls int
}

// Valid appends a value that is there.
func (b *Validity) Valid() {
	if b.nulls != 0 {
		b.set(true)
		return
	}
	b.n++
}

// Null appends a null.
func (b *Validity) Null() {
	if b.nulls == 0 {
		b.start()
	}
	b.nulls++
	b.set(false)
}

// start writes the ones of the values before the first null.
func (b *Validity) start() {
	size := (b.n + 8) / 8
	b.Bits.N = 0
	dst := b.Bits.Room(size)
	for i := range size {
		dst[i] = 0xff
	}
	b.Bits.N = size
}

func (b *Validity) set(ok bool) {
	for b.n/8 >= b.Bits.N {
		b.Bits.Push(0)
	}
	mask := byte(1) << (b.n & 7)
	if ok {
		b.Bits.V[b.n/8] |= mask
	} else {
		b.Bits.V[b.n/8] &^= mask
	}
	b.n++
}

// Truncate drops every value from n on. Rows are undone rarely (a broken line, a repeated key), so it counts bits.
func (b *Validity) Truncate(n int) {
	for ; b.n > n; b.n-- {
		i := b.n - 1
		if b.nulls != 0 && b.Bits.V[i/8]&(1<<(i&7)) == 0 {
			b.nulls--
			if b.nulls == 0 {
				b.Bits.N = 0
			}
		}
	}
}

// Take returns the bitmap (nil when nothing is null) and the null count, and empties the column's state.
func (b *Validity) Take() (*memory.Buffer, int) {
	nulls := b.nulls
	b.n, b.nulls = 0, 0
	if nulls == 0 {
		b.Bits.Release()
		return nil, 0
	}
	return b.Bits.Take(), nulls
}
