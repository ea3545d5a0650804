package read

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
)

// slack is kept behind every scratch buffer so that bit unpacking and short
// copies may read in whole words past the last value.
const slack = 64

// scratch is a reusable buffer of the allocator, without Arrow's header.
type scratch struct {
	mem memory.Allocator
	b   []byte
}

// grow returns n bytes, of which the first keep ones are those of before.
func (s *scratch) grow(n, keep int) []byte {
	if n+slack > len(s.b) {
		nb := mem.Dirty(s.mem, max(n+slack, len(s.b)*3/2))
		copy(nb, s.b[:keep])
		s.release()
		s.b = nb
	}
	return s.b[:n]
}

func (s *scratch) release() {
	if s.b != nil {
		s.mem.Free(s.b)
		s.b = nil
	}
}

// view reinterprets bytes as values of T; the length is cut to whole values.
func view[T any](b []byte) []T {
	var zero T
	n := len(b) / int(unsafe.Sizeof(zero))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// asBytes is the inverse of view.
func asBytes[T any](v []T) []byte {
	var zero T
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}
