package write

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// maxBound is the longest minimum or maximum kept of byte strings; longer ones
// are cut, the maximum upwards.
const maxBound = 64

// statistics writes the bounds down for a column chunk.
func (s *bounds) statistics(nulls int64) thrift.Null[meta.Statistics] {
	st := meta.Statistics{NullCount: thrift.New(nulls)}
	if e := s.ends(); e.ok {
		st.MinValue, st.MaxValue = thrift.New(bytes.Clone(e.lo)), thrift.New(bytes.Clone(e.hi))
		st.IsMinValueExact, st.IsMaxValueExact = thrift.New(e.loExact), thrift.New(e.hiExact)
	}
	return thrift.New(st)
}

// ends are bounds as files have them; not ok if there are none.
type ends struct {
	lo, hi           []byte // valid until the next value
	loExact, hiExact bool
	ok               bool
}

// ends encodes the bounds. Zeros of floats carry the sign that makes the range include both zeros, as the format asks.
func (s *bounds) ends() ends {
	if !s.any {
		return ends{}
	}
	whole := func(lo, hi []byte) ends { return ends{lo, hi, true, true, true} }
	le := binary.LittleEndian
	switch s.order {
	case orderInt32, orderUint32:
		return whole(le.AppendUint32(nil, uint32(s.min)), le.AppendUint32(nil, uint32(s.max)))
	case orderInt64:
		return whole(le.AppendUint64(nil, uint64(s.min)), le.AppendUint64(nil, uint64(s.max)))
	case orderUint64:
		return whole(le.AppendUint64(nil, uint64(s.min)^1<<63), le.AppendUint64(nil, uint64(s.max)^1<<63))
	case orderBool:
		return whole([]byte{byte(s.min)}, []byte{byte(s.max)})
	case orderFloat:
		lo, hi := signedZeros(s.fmin, s.fmax)
		return whole(le.AppendUint32(nil, math.Float32bits(float32(lo))), le.AppendUint32(nil, math.Float32bits(float32(hi))))
	case orderDouble:
		lo, hi := signedZeros(s.fmin, s.fmax)
		return whole(le.AppendUint64(nil, math.Float64bits(lo)), le.AppendUint64(nil, math.Float64bits(hi)))
	case orderHalf:
		lo, hi := signedZeros(s.fmin, s.fmax)
		return whole(float16.New(float32(lo)).ToLEBytes(), float16.New(float32(hi)).ToLEBytes())
	case orderSigned:
		return whole(s.bmin, s.bmax)
	case orderBytes:
		lo := s.bmin[:min(len(s.bmin), maxBound)]
		hi, ok := cutUp(s.bmax)
		return ends{lo, hi, len(lo) == len(s.bmin), len(s.bmax) <= maxBound, ok}
	}
	return ends{}
}

// compare compares encoded bounds.
func (o order) compare(a, b []byte) int {
	le := binary.LittleEndian
	switch o {
	case orderInt32:
		return cmp.Compare(int32(le.Uint32(a)), int32(le.Uint32(b)))
	case orderUint32:
		return cmp.Compare(le.Uint32(a), le.Uint32(b))
	case orderInt64:
		return cmp.Compare(int64(le.Uint64(a)), int64(le.Uint64(b)))
	case orderUint64:
		return cmp.Compare(le.Uint64(a), le.Uint64(b))
	case orderFloat:
		return cmp.Compare(math.Float32frombits(le.Uint32(a)), math.Float32frombits(le.Uint32(b)))
	case orderDouble:
		return cmp.Compare(math.Float64frombits(le.Uint64(a)), math.Float64frombits(le.Uint64(b)))
	case orderHalf:
		return cmp.Compare(float16.FromLEBytes(a).Float32(), float16.FromLEBytes(b).Float32())
	case orderSigned:
		switch {
		case lessSigned(a, b):
			return -1
		case lessSigned(b, a):
			return 1
		}
		return 0
	}
	return bytes.Compare(a, b)
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
		return v, true
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

// columnOrder gives the order of a leaf's statistics. Values of fixed length that are too long to be kept have none: cut ones would not be of
// the column's type.
func columnOrder(phys format.Type, unsigned bool, width int) order {
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
	case phys == format.ByteArray, phys == format.FixedLenByteArray && width <= maxBound:
		return orderBytes
	}
	return orderNone
}
