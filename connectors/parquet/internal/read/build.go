package read

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
)

// maxData is the most bytes that one array of byte arrays can address.
const maxData = math.MaxInt32

// shape says which buffers a builder fills.
type shape uint8

const (
	shapeFixed shape = iota
	shapeBits
	shapeBytes
)

// builder collects the slots of one leaf column for one batch. Its buffers
// become the array's; they are taken from the allocator and released or handed
// over at the end of every batch.
type builder struct {
	mem   memory.Allocator
	shape shape
	width int // shapeFixed: bytes per slot
	limit int // shapeBytes: bytes after which the column is full

	n     int // slots
	nulls int
	valid *memory.Buffer // nil until the first null
	fixed *memory.Buffer
	off   *memory.Buffer // shapeBytes: n+1 int32
	data  *memory.Buffer
	size  int // bytes of data
	dense int // shapeBytes: values read for the segment in progress

	perSlot float64 // shapeBytes: bytes of a slot, as the file says, then as the last batch had them
}

func (b *builder) release() {
	for _, p := range []**memory.Buffer{&b.valid, &b.fixed, &b.off, &b.data} {
		if *p != nil {
			(*p).Release()
			*p = nil
		}
	}
	b.n, b.nulls, b.size, b.dense = 0, 0, 0, 0
}

// grow makes room for n bytes in a buffer, at least doubling it.
func (b *builder) grow(p **memory.Buffer, n int) []byte {
	switch {
	case *p == nil:
		*p = memory.NewBufferWithAllocator(mem.Dirty(b.mem, (max(n, 1)+63)&^63), b.mem)
	case n > (*p).Cap():
		(*p).Reserve(max(n, (*p).Cap()*2))
	}
	(*p).ResizeNoShrink(n)
	return (*p).Bytes()
}

// growBits is grow for bitmaps, whose last byte is written in part only: the
// rest of it must not depend on what the memory held before.
func (b *builder) growBits(p **memory.Buffer, bits int) []byte {
	n := int(bitutil.BytesForBits(int64(bits)))
	have := 0
	if *p != nil {
		have = (*p).Len()
	}
	out := b.grow(p, n)
	if n > have {
		clear(out[have:])
	}
	return out
}

// expect takes room for n more slots at once.
func (b *builder) expect(n int) {
	switch b.shape {
	case shapeFixed:
		b.grow(&b.fixed, (b.n+n)*b.width)
	case shapeBits:
		b.growBits(&b.fixed, b.n+n)
	case shapeBytes:
		b.offsets(n)
		// An eighth more than before is within what seal lets pass. Growing by doubling would copy everything once or twice.
		if more := min(int(b.perSlot*float64(n)*9/8), b.limit-b.size); more > 0 {
			if need := b.size + more + slack; b.data == nil || need > b.data.Cap() {
				b.grow(&b.data, need)
			}
		}
	}
}

// slots returns the bytes of the next n fixed slots.
func (b *builder) slots(n int) []byte {
	return b.grow(&b.fixed, (b.n+n)*b.width)[b.n*b.width:]
}

// offsets returns the end offsets of the next n slots.
func (b *builder) offsets(n int) []int32 {
	fresh := b.off == nil
	o := view[int32](b.grow(&b.off, (b.n+n+1)*4))
	if fresh {
		o[0] = 0
	}
	return o[b.n+1:]
}

// reserveBytes makes room for n values of total bytes, plus the slack that
// short copies need. The values' end offsets go to off, densely; where the
// segment has nulls, spread moves them to their slots.
func (b *builder) reserveBytes(n, total int) (dst []byte, off []int32, err error) {
	if total > b.limit-b.size {
		return nil, nil, errFull
	}
	if b.data == nil || b.size+total+slack > b.data.Len() {
		b.grow(&b.data, b.size+total+slack)
	}
	off = b.offsets(b.dense + n)
	off = off[b.dense : b.dense+n]
	b.dense += n
	return b.data.Bytes(), off, nil
}

// markValid notes n valid slots behind the present ones.
func (b *builder) markValid(n int) {
	if b.valid != nil {
		bitutil.SetBitsTo(b.bitmap(n), int64(b.n), int64(n), true)
	}
}

// bitmap returns the validity bitmap with room for n more slots. The first
// call marks all earlier slots valid.
func (b *builder) bitmap(n int) []byte {
	fresh := b.valid == nil
	bits := b.growBits(&b.valid, b.n+n)
	if fresh {
		bitutil.SetBitsTo(bits, 0, int64(b.n), true)
	}
	return bits
}

// finish adds a segment of n slots whose values are in place.
func (b *builder) finish(n, values int) {
	b.n += n
	b.nulls += n - values
	b.dense = 0
}

// rollback forgets what was read for the segment in progress.
func (b *builder) rollback(size int) { b.size, b.dense = size, 0 }

// spread moves the values of a segment of n slots, read densely, to the slots
// that are valid.
func (b *builder) spread(n, values int) error {
	if values == n {
		return nil
	}
	bits := b.valid.Bytes()
	switch b.shape {
	case shapeBytes:
		b.spreadOffsets(bits, n, values)
	case shapeBits:
		spreadBits(b.fixed.Bytes(), bits, b.n, n, values)
	case shapeFixed:
		s := b.slots(n)
		switch b.width {
		case 4:
			spreadWords(view[uint32](s), bits, b.n, n, values)
		case 8:
			spreadWords(view[uint64](s), bits, b.n, n, values)
		default:
			spreadSlots(s, b.width, bits, b.n, n, values)
		}
	default:
		return fmt.Errorf("unknown shape %d", b.shape)
	}
	return nil
}

// spreadWords works from the back without branches: a null takes the next
// value without consuming it and masks it to zero.
func spreadWords[T uint32 | uint64](s []T, bits []byte, off, n, j int) {
	s = s[:n]
	for i := n - 1; i >= 0; i-- {
		bit := bits[(off+i)>>3] >> (uint(off+i) & 7) & 1
		j -= int(bit)
		s[i] = s[j] & -T(bit)
	}
}

func spreadSlots(s []byte, w int, bits []byte, off, n, j int) {
	for i := n - 1; i >= 0; i-- {
		if bitutil.BitIsSet(bits, off+i) {
			j--
			copy(s[i*w:(i+1)*w], s[j*w:(j+1)*w])
		} else {
			clear(s[i*w : (i+1)*w])
		}
	}
}

func spreadBits(s, bits []byte, off, n, j int) {
	for i := n - 1; i >= 0; i-- {
		v := false
		if bitutil.BitIsSet(bits, off+i) {
			j--
			v = bitutil.BitIsSet(s, off+j)
		}
		bitutil.SetBitTo(s, off+i, v)
	}
}

// spreadOffsets repeats the end offset of the value before a null.
func (b *builder) spreadOffsets(bits []byte, n, j int) {
	o := b.offsets(n)
	before := view[int32](b.off.Bytes())[b.n]
	for i := n - 1; i >= 0; i-- {
		switch {
		case j > 0:
			o[i] = o[j-1]
		default:
			o[i] = before
		}
		j -= int(bits[(b.n+i)>>3] >> (uint(b.n+i) & 7) & 1)
	}
}
