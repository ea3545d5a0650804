package gpu

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow/float16"
)

// PutFloat writes v as element i of data of type t. Whole types take whole numbers within their range only.
func PutFloat(data []byte, t DataType, i int, v float64) error {
	switch t {
	case FP32:
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(v)))
	case FP64:
		binary.LittleEndian.PutUint64(data[8*i:], math.Float64bits(v))
	case FP16:
		binary.LittleEndian.PutUint16(data[2*i:], float16.New(float32(v)).Uint16())
	case BF16:
		binary.LittleEndian.PutUint16(data[2*i:], bfloat(float32(v)))
	case Bool:
		data[i] = 0
		if v != 0 {
			data[i] = 1
		}
	default:
		if v != math.Trunc(v) || v < -(1<<63) || v >= 1<<63 {
			return fmt.Errorf("%v is no whole number that %s holds", v, t)
		}
		return PutInt(data, t, i, int64(v))
	}
	return nil
}

// bfloat rounds to the nearest bfloat16, ties to even; a NaN stays one.
func bfloat(v float32) uint16 {
	bits := math.Float32bits(v)
	if v != v {
		return uint16(bits>>16) | 0x40
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// PutInt writes v as element i of data of type t, if t can hold it.
func PutInt(data []byte, t DataType, i int, v int64) error {
	low, high := int64(0), int64(0)
	switch t {
	case Int8:
		low, high = math.MinInt8, math.MaxInt8
	case Int16:
		low, high = math.MinInt16, math.MaxInt16
	case Int32:
		low, high = math.MinInt32, math.MaxInt32
	case Int64:
		low, high = math.MinInt64, math.MaxInt64
	case Uint8:
		high = math.MaxUint8
	case Uint16:
		high = math.MaxUint16
	case Uint32:
		high = math.MaxUint32
	case Uint64:
		high = math.MaxInt64
	default:
		return PutFloat(data, t, i, float64(v))
	}
	if v < low || v > high {
		return fmt.Errorf("%d does not fit %s", v, t)
	}
	switch t.Size() {
	case 1:
		data[i] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(data[2*i:], uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(data[4*i:], uint32(v))
	default:
		binary.LittleEndian.PutUint64(data[8*i:], uint64(v))
	}
	return nil
}

// Float reads element i of data of type t.
func Float(data []byte, t DataType, i int) float64 {
	switch t {
	case FP32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	case FP64:
		return math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	case FP16:
		return float64(float16.FromLEBytes(data[2*i:]).Float32())
	case BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16))
	case Uint64:
		return float64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return float64(Int(data, t, i))
}

// Int reads element i of data of a whole type or BOOL; 0 for others.
func Int(data []byte, t DataType, i int) int64 {
	switch t {
	case Bool, Uint8:
		return int64(data[i])
	case Int8:
		return int64(int8(data[i]))
	case Uint16:
		return int64(binary.LittleEndian.Uint16(data[2*i:]))
	case Int16:
		return int64(int16(binary.LittleEndian.Uint16(data[2*i:])))
	case Uint32:
		return int64(binary.LittleEndian.Uint32(data[4*i:]))
	case Int32:
		return int64(int32(binary.LittleEndian.Uint32(data[4*i:])))
	case Int64, Uint64:
		return int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return 0
}

// Floats reads all of data of type t into dst, which has room for them, and returns it.
func Floats(dst []float32, data []byte, t DataType) []float32 {
	n := len(data) / max(1, t.Size())
	dst = dst[:n]
	if t == FP32 {
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		return dst
	}
	for i := range dst {
		dst[i] = float32(Float(data, t, i))
	}
	return dst
}
