package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
)

// common returns the type that both widen to without losing a value.
func common(a, b arrow.DataType) (arrow.DataType, bool) {
	switch {
	case arrow.TypeEqual(a, b), widens(b, a), refines(b, a):
		return a, true
	case widens(a, b), refines(a, b):
		return b, true
	}
	return nil, false
}

// refines tells that bytes of type from can be read as type to without any
// conversion: another width of offsets, a dictionary or none, a zone's name.
func refines(from, to arrow.DataType) bool {
	if d, ok := from.(*arrow.DictionaryType); ok {
		from = d.ValueType
	}
	if d, ok := to.(*arrow.DictionaryType); ok {
		to = d.ValueType
	}
	if f, ok := from.(*arrow.TimestampType); ok {
		t, ok := to.(*arrow.TimestampType)
		return ok && f.Unit == t.Unit && (f.TimeZone == "") == (t.TimeZone == "")
	}
	family := func(t arrow.DataType) arrow.Type {
		switch t.ID() {
		case arrow.LARGE_STRING:
			return arrow.STRING
		case arrow.LARGE_BINARY:
			return arrow.BINARY
		}
		return t.ID()
	}
	f := family(from)
	return (f == arrow.STRING || f == arrow.BINARY) && f == family(to)
}

// bitsOf describes numeric types: bits of integer precision, and the kind.
func bitsOf(t arrow.DataType) (bits int, signed, float bool) {
	switch t.ID() {
	case arrow.INT8:
		return 8, true, false
	case arrow.INT16:
		return 16, true, false
	case arrow.INT32:
		return 32, true, false
	case arrow.INT64:
		return 64, true, false
	case arrow.UINT8:
		return 8, false, false
	case arrow.UINT16:
		return 16, false, false
	case arrow.UINT32:
		return 32, false, false
	case arrow.UINT64:
		return 64, false, false
	case arrow.FLOAT32:
		return 24, true, true
	case arrow.FLOAT64:
		return 53, true, true
	}
	return 0, false, false
}

// widens tells that every value of from is one of to, for numbers.
func widens(from, to arrow.DataType) bool {
	fb, fs, ff := bitsOf(from)
	tb, ts, tf := bitsOf(to)
	switch {
	case fb == 0 || tb == 0 || fb >= tb || (ff && !tf):
		return false
	case tf || fs == ts:
		return true
	}
	return !fs // unsigned to a wider signed integer
}

// widen converts a to type to, which widens allows.
func widen(alloc memory.Allocator, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if !widens(a.DataType(), to) {
		return nil, fmt.Errorf("%s does not widen to %s", a.DataType(), to)
	}
	switch a := a.(type) {
	case *array.Int8:
		return widenFrom(alloc, a.Int8Values(), a, to), nil
	case *array.Int16:
		return widenFrom(alloc, a.Int16Values(), a, to), nil
	case *array.Int32:
		return widenFrom(alloc, a.Int32Values(), a, to), nil
	case *array.Uint8:
		return widenFrom(alloc, a.Uint8Values(), a, to), nil
	case *array.Uint16:
		return widenFrom(alloc, a.Uint16Values(), a, to), nil
	case *array.Uint32:
		return widenFrom(alloc, a.Uint32Values(), a, to), nil
	case *array.Float32:
		return widenFrom(alloc, a.Float32Values(), a, to), nil
	}
	return nil, fmt.Errorf("%s does not widen to %s", a.DataType(), to)
}

type number interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

func widenFrom[F number](alloc memory.Allocator, src []F, a arrow.Array, to arrow.DataType) arrow.Array {
	switch to.ID() {
	case arrow.INT16:
		return widenTo[int16](alloc, src, a, to)
	case arrow.INT32:
		return widenTo[int32](alloc, src, a, to)
	case arrow.INT64:
		return widenTo[int64](alloc, src, a, to)
	case arrow.UINT16:
		return widenTo[uint16](alloc, src, a, to)
	case arrow.UINT32:
		return widenTo[uint32](alloc, src, a, to)
	case arrow.UINT64:
		return widenTo[uint64](alloc, src, a, to)
	case arrow.FLOAT32:
		return widenTo[float32](alloc, src, a, to)
	}
	return widenTo[float64](alloc, src, a, to)
}

func widenTo[T, F number](alloc memory.Allocator, src []F, a arrow.Array, to arrow.DataType) arrow.Array {
	width := to.(arrow.FixedWidthDataType).Bytes()
	buf := memory.NewBufferWithAllocator(mem.Dirty(alloc, len(src)*width), alloc)
	defer buf.Release()
	dst := arrow.GetData[T](buf.Bytes())
	for i, v := range src {
		dst[i] = T(v)
	}
	var valid *memory.Buffer
	if a.NullN() > 0 && a.Data().Offset() == 0 {
		valid = a.Data().Buffers()[0]
	} else if a.NullN() > 0 {
		valid = memory.NewBufferWithAllocator(alloc.Allocate((len(src)+7)/8), alloc)
		defer valid.Release()
		copyBits(valid.Bytes(), a)
	}
	d := array.NewData(to, len(src), []*memory.Buffer{valid, buf}, nil, a.NullN(), 0)
	defer d.Release()
	return array.MakeFromData(d)
}

func copyBits(dst []byte, a arrow.Array) {
	for i := range a.Len() {
		if a.IsValid(i) {
			dst[i/8] |= 1 << (i % 8)
		}
	}
}
