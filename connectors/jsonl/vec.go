package jsonl

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// minVecBytes is the first allocation of a vector: one cache line, so that an unused column costs nothing worth counting.
const minVecBytes = 64

// vec is a growing array of fixed-width values in one Arrow buffer. It is a plain slice append without the per-call
// bookkeeping of arrow's builders, because the parser appends every value of every row through it.
type vec[T any] struct {
	mem  memory.Allocator
	buf  *memory.Buffer
	v    []T
	n    int
	hint int // values held by the previous block: the first allocation of the next one
}

func (x *vec[T]) init(mem memory.Allocator) { x.mem = mem }

func (x *vec[T]) push(val T) {
	if x.n == len(x.v) {
		x.grow(1)
	}
	x.v[x.n] = val
	x.n++
}

// grow makes room for at least more further values.
func (x *vec[T]) grow(more int) {
	var zero T
	width := int(unsafe.Sizeof(zero))
	want := max(2*len(x.v), x.n+more, minVecBytes/width)
	if x.buf == nil {
		x.buf = memory.NewResizableBuffer(x.mem)
		want = max(want, x.hint)
	}
	x.buf.Reserve(want * width)
	b := x.buf.Buf()
	x.v = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/width)
}

// room returns the free tail of the vector, at least need values long; the caller adds what it wrote to n.
func (x *vec[T]) room(need int) []T {
	if len(x.v)-x.n < need {
		x.grow(need)
	}
	return x.v[x.n:]
}

func (x *vec[T]) bytes() int {
	var zero T
	return x.n * int(unsafe.Sizeof(zero))
}

// take hands the filled buffer to the caller and empties the vector. The buffer is never nil: Arrow wants one even for
// arrays without values.
func (x *vec[T]) take() *memory.Buffer {
	if x.buf == nil {
		x.buf = memory.NewResizableBuffer(x.mem)
	}
	b := x.buf
	b.ResizeNoShrink(x.bytes())
	x.hint = x.n + x.n/16
	x.buf, x.v, x.n = nil, nil, 0
	return b
}

func (x *vec[T]) release() {
	if x.buf != nil {
		x.buf.Release()
	}
	x.buf, x.v, x.n = nil, nil, 0
}

// validity is the null bitmap of a column, allocated at the first null: most columns never have one.
type validity struct {
	bits  vec[byte]
	n     int
	nulls int
}

func (b *validity) valid() {
	if b.nulls != 0 {
		b.set(true)
		return
	}
	b.n++
}

func (b *validity) null() {
	if b.nulls == 0 {
		b.start()
	}
	b.nulls++
	b.set(false)
}

// start writes the ones of the values before the first null.
func (b *validity) start() {
	size := (b.n + 8) / 8
	b.bits.n = 0
	dst := b.bits.room(size)
	for i := range size {
		dst[i] = 0xff
	}
	b.bits.n = size
}

func (b *validity) set(ok bool) {
	for b.n/8 >= b.bits.n {
		b.bits.push(0)
	}
	mask := byte(1) << (b.n & 7)
	if ok {
		b.bits.v[b.n/8] |= mask
	} else {
		b.bits.v[b.n/8] &^= mask
	}
	b.n++
}

// truncate drops every value from n on. Rows are undone rarely (a broken line, a repeated key), so it counts bits.
func (b *validity) truncate(n int) {
	for ; b.n > n; b.n-- {
		i := b.n - 1
		if b.nulls != 0 && b.bits.v[i/8]&(1<<(i&7)) == 0 {
			b.nulls--
			if b.nulls == 0 {
				b.bits.n = 0
			}
		}
	}
}

// take returns the bitmap (nil when nothing is null) and the null count, and empties the column's state.
func (b *validity) take() (*memory.Buffer, int) {
	nulls := b.nulls
	b.n, b.nulls = 0, 0
	if nulls == 0 {
		b.bits.release()
		return nil, 0
	}
	return b.bits.take(), nulls
}
