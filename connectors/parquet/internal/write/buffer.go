package write

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
)

// buffer is a growing byte slice of the allocator.
type buffer struct {
	mem memory.Allocator
	b   []byte // allocation
	n   int    // bytes in use
}

// extend adds n bytes, whose content is undefined, and returns them.
func (b *buffer) extend(n int) []byte {
	if b.n+n > len(b.b) {
		nb := mem.Dirty(b.mem, max(b.n+n, len(b.b)*2, 512))
		copy(nb, b.b[:b.n])
		if b.b != nil {
			b.mem.Free(b.b)
		}
		b.b = nb
	}
	b.n += n
	return b.b[b.n-n : b.n : b.n]
}

func (b *buffer) append(p []byte) { copy(b.extend(len(p)), p) }
func (b *buffer) bytes() []byte   { return b.b[:b.n] }
func (b *buffer) held() int64     { return int64(len(b.b)) }
func (b *buffer) release()        { b.free(); b.n = 0 }

func (b *buffer) free() {
	if b.b != nil {
		b.mem.Free(b.b)
		b.b = nil
	}
}

// view reinterprets bytes as values of T.
func view[T any](b []byte) []T {
	var zero T
	if len(b) < int(unsafe.Sizeof(zero)) {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}
