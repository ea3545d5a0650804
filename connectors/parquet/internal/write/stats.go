package write

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/float16"
)

// order is how values of a column compare, which decides their statistics.
type order uint8

const (
	orderNone order = iota
	orderInt32
	orderUint32
	orderInt64
	orderUint64
	orderFloat
	orderDouble
	orderHalf   // numbers of two bytes
	orderBytes  // lexicographic, unsigned
	orderSigned // big-endian two's complement of one width
	orderBool
)

// bounds are the smallest and largest value of a page or a column chunk. Integers are
// kept as they are, mapped so that signed comparison is right; byte strings as
// copies.
type bounds struct {
	order    order
	any      bool
	min, max int64
	fmin     float64
	fmax     float64
	bmin     []byte
	bmax     []byte
	pmin     uint64 // first eight bytes of bmin and bmax, for inside
	pmax     uint64
}

func (s *bounds) reset() {
	s.any, s.bmin, s.bmax = false, s.bmin[:0], s.bmax[:0]
	s.pmin, s.pmax = 0, 0
}

// fixed looks at plain values of the column's width.
func (s *bounds) fixed(b []byte, width int) {
	if len(b) == 0 {
		return
	}
	switch s.order {
	case orderInt32:
		lo, hi := minMax(view[int32](b))
		s.ints(int64(lo), int64(hi))
	case orderUint32:
		lo, hi := minMax(view[uint32](b))
		s.ints(int64(lo), int64(hi))
	case orderInt64:
		lo, hi := minMax(view[int64](b))
		s.ints(lo, hi)
	case orderUint64:
		lo, hi := minMax(view[uint64](b))
		s.ints(int64(lo^1<<63), int64(hi^1<<63))
	case orderFloat:
		if lo, hi, ok := minMaxFloat(view[float32](b)); ok {
			s.floats(float64(lo), float64(hi))
		}
	case orderDouble:
		if lo, hi, ok := minMaxFloat(view[float64](b)); ok {
			s.floats(lo, hi)
		}
	case orderHalf:
		s.halves(b)
	case orderBytes, orderSigned:
		for ; len(b) >= width; b = b[width:] {
			s.bytes(b[:width])
		}
	}
}

func minMax[T int32 | uint32 | int64 | uint64](v []T) (lo, hi T) {
	lo, hi = v[0], v[0]
	for _, x := range v[1:] {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// minMaxFloat leaves NaN out; ok is false when there is nothing else.
func minMaxFloat[T float32 | float64](v []T) (lo, hi T, ok bool) {
	lo, hi = T(math.Inf(1)), T(math.Inf(-1))
	for _, x := range v {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
	}
	return lo, hi, lo <= hi
}

func (s *bounds) halves(b []byte) {
	for ; len(b) >= 2; b = b[2:] {
		if v := float16.FromLEBytes(b[:2]); !v.IsNaN() {
			s.floats(float64(v.Float32()), float64(v.Float32()))
		}
	}
}

func (s *bounds) ints(lo, hi int64) {
	if !s.any {
		s.any, s.min, s.max = true, lo, hi
		return
	}
	s.min, s.max = min(s.min, lo), max(s.max, hi)
}

func (s *bounds) floats(lo, hi float64) {
	if !s.any {
		s.any, s.fmin, s.fmax = true, lo, hi
		return
	}
	s.fmin, s.fmax = min(s.fmin, lo), max(s.fmax, hi)
}

// inside tells from the first eight bytes that v changes neither bound, which
// is so for nearly all values.
func (s *bounds) inside(v []byte) bool {
	if len(v) < 8 {
		return false
	}
	p := binary.BigEndian.Uint64(v)
	return p > s.pmin && p < s.pmax
}

func prefix(v []byte) uint64 {
	var b [8]byte
	copy(b[:], v)
	return binary.BigEndian.Uint64(b[:])
}

func (s *bounds) bytes(v []byte) {
	first := !s.any
	s.any = true
	if first || s.less(v, s.bmin) {
		s.bmin = append(s.bmin[:0], v...)
		s.pmin = prefix(v)
	}
	if first || s.less(s.bmax, v) {
		s.bmax = append(s.bmax[:0], v...)
		s.pmax = prefix(v)
	}
}

func (s *bounds) less(a, b []byte) bool {
	if s.order == orderSigned {
		return lessSigned(a, b)
	}
	return bytes.Compare(a, b) < 0
}

// lessSigned compares big-endian numbers of one width.
func lessSigned(a, b []byte) bool {
	if len(a) > 0 && len(b) > 0 && (a[0]^b[0])&0x80 != 0 {
		return a[0]&0x80 != 0
	}
	return bytes.Compare(a, b) < 0
}

// bools notes that a false or a true was seen.
func (s *bounds) bools(sawFalse, sawTrue bool) {
	if sawFalse {
		s.ints(0, 0)
	}
	if sawTrue {
		s.ints(1, 1)
	}
}

// merge widens the bounds by others of the same order.
func (s *bounds) merge(o *bounds) {
	if !o.any {
		return
	}
	switch s.order {
	case orderFloat, orderDouble, orderHalf:
		s.floats(o.fmin, o.fmax)
	case orderBytes, orderSigned:
		s.bytes(o.bmin)
		s.bytes(o.bmax)
	default:
		s.ints(o.min, o.max)
	}
}
