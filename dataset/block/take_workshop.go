package block

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dirty is implemented by allocators that can leave out the zeroing.
type dirty interface{ AllocateDirty(size int) []byte }

// NewBuffer makes a buffer of size bytes whose contents the caller overwrites; it is not zeroed where the allocator can do without.
func NewBuffer(mem memory.Allocator, size int) *memory.Buffer {
	if d, ok := mem.(dirty); ok {
		return memory.NewBufferWithAllocator(d.AllocateDirty(size), mem)
	}
	return memory.NewBufferWithAllocator(mem.Allocate(size), mem)
}

// workshop owns one reference to everything made while an array is built, so that an error or a panic of the allocator leaves
// nothing behind. What the finished array holds, it holds by references of its own.
type workshop struct {
	mem  memory.Allocator
	bufs []*memory.Buffer
	made []*array.Data
}

func (w *workshop) close() {
	for _, d := range w.made {
		d.Release()
	}
	for _, b := range w.bufs {
		b.Release()
	}
}

func (w *workshop) buffer(size int) *memory.Buffer {
	b := NewBuffer(w.mem, size)
	w.bufs = append(w.bufs, b)
	return b
}

// bits makes a zeroed bitmap of n bits.
func (w *workshop) bits(n int) *memory.Buffer {
	b := w.buffer((n + 7) / 8)
	clear(b.Bytes())
	return b
}

func (w *workshop) data(dt arrow.DataType, n int, bufs []*memory.Buffer, children []arrow.ArrayData, nulls int) *array.Data {
	d := array.NewData(dt, n, bufs, children, nulls, 0)
	w.made = append(w.made, d)
	return d
}

func (w *workshop) dictData(dt arrow.DataType, n int, bufs []*memory.Buffer, nulls int, dict *array.Data) *array.Data {
	d := array.NewDataWithDictionary(dt, n, bufs, nulls, 0, dict)
	w.made = append(w.made, d)
	return d
}

// keep takes over the reference to an array made elsewhere and returns its data.
func (w *workshop) keep(a arrow.Array) *array.Data {
	d := a.Data().(*array.Data)
	d.Retain()
	a.Release()
	w.made = append(w.made, d)
	return d
}

// view returns the bytes of b as a slice of T; b may be nil.
func view[T any](b *memory.Buffer) []T {
	if b == nil || b.Len() == 0 {
		return nil
	}
	var t T
	p := b.Bytes()
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), len(p)/int(unsafe.Sizeof(t)))
}

// bufferAt returns buffer i of d or nil.
func bufferAt(d *array.Data, i int) *memory.Buffer {
	if b := d.Buffers(); i < len(b) {
		return b[i]
	}
	return nil
}

// validity returns the bitmap of d, or nil if no element is null. Types without a bitmap have none.
func validity(d *array.Data) []byte {
	if d.NullN() == 0 {
		return nil
	}
	if b := bufferAt(d, 0); b != nil {
		return b.Bytes()
	}
	return nil
}
