package write

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// maxBound is the longest minimum or maximum kept of byte strings; longer ones
// are cut, the maximum upwards.
const maxBound = 64

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
	orderBytes  // lexicographic, unsigned
	orderSigned // big-endian two's complement of one width
	orderBool
)

// bounds are the smallest and largest value of a column chunk. Integers are
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
	if s.order == orderSigned && len(a) > 0 && len(b) > 0 && (a[0]^b[0])&0x80 != 0 {
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

// statistics writes the bounds down. Zeros of floats carry the sign that makes
// the range include both zeros, as the format asks.
func (s *bounds) statistics(nulls int64) thrift.Null[meta.Statistics] {
	st := meta.Statistics{NullCount: thrift.New(nulls)}
	if !s.any {
		return thrift.New(st)
	}
	set := func(lo, hi []byte, loExact, hiExact bool) {
		st.MinValue, st.MaxValue = thrift.New(lo), thrift.New(hi)
		st.IsMinValueExact, st.IsMaxValueExact = thrift.New(loExact), thrift.New(hiExact)
	}
	le := binary.LittleEndian
	switch s.order {
	case orderInt32, orderUint32:
		set(le.AppendUint32(nil, uint32(s.min)), le.AppendUint32(nil, uint32(s.max)), true, true)
	case orderInt64:
		set(le.AppendUint64(nil, uint64(s.min)), le.AppendUint64(nil, uint64(s.max)), true, true)
	case orderUint64:
		set(le.AppendUint64(nil, uint64(s.min)^1<<63), le.AppendUint64(nil, uint64(s.max)^1<<63), true, true)
	case orderBool:
		set([]byte{byte(s.min)}, []byte{byte(s.max)}, true, true)
	case orderFloat:
		lo, hi := signedZeros(s.fmin, s.fmax)
		set(le.AppendUint32(nil, math.Float32bits(float32(lo))), le.AppendUint32(nil, math.Float32bits(float32(hi))), true, true)
	case orderDouble:
		lo, hi := signedZeros(s.fmin, s.fmax)
		set(le.AppendUint64(nil, math.Float64bits(lo)), le.AppendUint64(nil, math.Float64bits(hi)), true, true)
	case orderSigned:
		set(bytes.Clone(s.bmin), bytes.Clone(s.bmax), true, true)
	case orderBytes:
		lo := s.bmin[:min(len(s.bmin), maxBound)]
		hi, ok := cutUp(s.bmax)
		if ok {
			set(bytes.Clone(lo), hi, len(lo) == len(s.bmin), len(s.bmax) <= maxBound)
		}
	}
	return thrift.New(st)
}

func signedZeros(lo, hi float64) (float64, float64) {
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	return lo, hi
}

// cutUp shortens a maximum to the next larger string of at most maxBound
// bytes; ok is false when there is none.
func cutUp(v []byte) (out []byte, ok bool) {
	if len(v) <= maxBound {
		return bytes.Clone(v), true
	}
	out = bytes.Clone(v[:maxBound])
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] != 0xFF {
			out[i]++
			return out[:i+1], true
		}
	}
	return nil, false
}

// columnOrder gives the order of a leaf's statistics.
func columnOrder(phys format.Type, unsigned bool) order {
	switch {
	case phys == format.Int32 && unsigned:
		return orderUint32
	case phys == format.Int32:
		return orderInt32
	case phys == format.Int64 && unsigned:
		return orderUint64
	case phys == format.Int64:
		return orderInt64
	case phys == format.Float:
		return orderFloat
	case phys == format.Double:
		return orderDouble
	case phys == format.Boolean:
		return orderBool
	case phys == format.ByteArray, phys == format.FixedLenByteArray:
		return orderBytes
	}
	return orderNone
}
