package sortkey

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const maxDepth = 32

// check refuses types that have no order.
func check(dt arrow.DataType, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the type nests deeper than %d", maxDepth)
	}
	switch t := dt.(type) {
	case arrow.ExtensionType:
		return check(t.StorageType(), depth+1)
	case *arrow.DictionaryType:
		return check(t.ValueType, depth+1)
	case *arrow.StructType:
		for _, f := range t.Fields() {
			if err := check(f.Type, depth+1); err != nil {
				return err
			}
		}
		return nil
	case *arrow.ListType:
		return check(t.Elem(), depth+1)
	case *arrow.LargeListType:
		return check(t.Elem(), depth+1)
	case *arrow.FixedSizeListType:
		return check(t.Elem(), depth+1)
	}
	switch dt.ID() {
	case arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY,
		arrow.FIXED_SIZE_BINARY, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION,
		arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return nil
	}
	return fmt.Errorf("%s has no order; sort by something computed from it", dt)
}

// value reads one array.
type value struct {
	arr   arrow.Array
	nulls bool
	put   func(dst []byte, i int) []byte // the bytes of element i, which is not null
}

func (v *value) null(i int) bool { return v.nulls && v.arr.IsNull(i) }

// plain appends raw bytes.
func (v *value) plain(dst []byte, i int) []byte {
	return append(dst, v.arr.(*array.Binary).Value(i)...)
}

func bind(a arrow.Array) value {
	v := value{arr: a, nulls: a.NullN() != 0}
	switch a := a.(type) {
	case *array.Null:
		v.nulls, v.put = true, func(dst []byte, _ int) []byte { return dst }
	case *array.Boolean:
		v.put = func(dst []byte, i int) []byte {
			if a.Value(i) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Float16:
		v.put = func(dst []byte, i int) []byte { return putFloat32(dst, a.Value(i).Float32()) }
	case *array.Float32:
		x := a.Values()
		v.put = func(dst []byte, i int) []byte { return putFloat32(dst, x[i]) }
	case *array.Float64:
		x := a.Values()
		v.put = func(dst []byte, i int) []byte { return putFloat64(dst, x[i]) }
	case *array.Decimal128:
		v.put = func(dst []byte, i int) []byte {
			d := a.Value(i)
			return put64(put64(dst, uint64(d.HighBits())^1<<63), d.LowBits())
		}
	case *array.Decimal256:
		v.put = func(dst []byte, i int) []byte {
			w := a.Value(i).Array()
			return put64(put64(put64(put64(dst, w[3]^1<<63), w[2]), w[1]), w[0])
		}
	case *array.FixedSizeBinary:
		v.put = func(dst []byte, i int) []byte { return append(dst, a.Value(i)...) }
	default:
		v.put = bindOther(a)
	}
	return v
}

func bindOther(a arrow.Array) func(dst []byte, i int) []byte {
	switch a := a.(type) {
	case *array.Dictionary:
		d := bind(a.Dictionary())
		return func(dst []byte, i int) []byte { return d.element(dst, a.GetValueIndex(i)) }
	case array.ExtensionArray:
		return bind(a.Storage()).put
	case *array.Struct:
		f := make([]value, a.NumField())
		for k := range f {
			f[k] = bind(a.Field(k))
		}
		return func(dst []byte, i int) []byte {
			for k := range f {
				dst = f[k].element(dst, i)
			}
			return dst
		}
	case array.ListLike:
		e := bind(a.ListValues())
		return func(dst []byte, i int) []byte {
			from, to := a.ValueOffsets(i)
			for x := from; x < to; x++ {
				dst = e.element(append(dst, 1), int(x))
			}
			return append(dst, 0)
		}
	case *array.Binary:
		return func(dst []byte, i int) []byte { return escape(dst, a.Value(i)) }
	case *array.LargeBinary:
		return func(dst []byte, i int) []byte { return escape(dst, a.Value(i)) }
	case *array.String:
		return func(dst []byte, i int) []byte { return escape(dst, textBytes(a.Value(i))) }
	case *array.LargeString:
		return func(dst []byte, i int) []byte { return escape(dst, textBytes(a.Value(i))) }
	}
	return bindInt(a)
}

// element appends a value inside another one; nulls are above.
func (v *value) element(dst []byte, i int) []byte {
	if v.null(i) {
		return append(dst, nullLast)
	}
	return v.put(append(dst, present), i)
}

func bindInt(a arrow.Array) func(dst []byte, i int) []byte {
	switch a := a.(type) {
	case *array.Int8:
		return signed(a.Values(), 1)
	case *array.Int16:
		return signed(a.Values(), 2)
	case *array.Int32:
		return signed(a.Values(), 4)
	case *array.Int64:
		return signed(a.Values(), 8)
	case *array.Date32:
		return signed(a.Values(), 4)
	case *array.Date64:
		return signed(a.Values(), 8)
	case *array.Time32:
		return signed(a.Values(), 4)
	case *array.Time64:
		return signed(a.Values(), 8)
	case *array.Timestamp:
		return signed(a.Values(), 8)
	case *array.Duration:
		return signed(a.Values(), 8)
	case *array.Uint8:
		return unsigned(a.Values(), 1)
	case *array.Uint16:
		return unsigned(a.Values(), 2)
	case *array.Uint32:
		return unsigned(a.Values(), 4)
	case *array.Uint64:
		return unsigned(a.Values(), 8)
	case *array.Decimal32:
		return signed(a.Values(), 4)
	case *array.Decimal64:
		return signed(a.Values(), 8)
	}
	panic(fmt.Sprintf("sortkey: no case for %s, which check let through", a.DataType())) //nolint // own-bug assertion
}

func signed[T ~int8 | ~int16 | ~int32 | ~int64](x []T, width int) func(dst []byte, i int) []byte {
	flip := uint64(1) << (8*width - 1)
	return func(dst []byte, i int) []byte { return putInt(dst, uint64(x[i])^flip, width) }
}

func unsigned[T ~uint8 | ~uint16 | ~uint32 | ~uint64](x []T, width int) func(dst []byte, i int) []byte {
	return func(dst []byte, i int) []byte { return putInt(dst, uint64(x[i]), width) }
}

func putInt(dst []byte, v uint64, width int) []byte {
	switch width {
	case 8:
		return put64(dst, v)
	case 4:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	case 2:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	}
	return append(dst, byte(v))
}

func put64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

func putFloat64(dst []byte, f float64) []byte {
	b := math.Float64bits(f)
	switch {
	case f != f:
		b = 0x7ff8 << 48
	case f == 0:
		b = 0
	}
	if b>>63 != 0 {
		return put64(dst, ^b)
	}
	return put64(dst, b|1<<63)
}

func putFloat32(dst []byte, f float32) []byte {
	b := math.Float32bits(f)
	switch {
	case f != f:
		b = 0x7fc0 << 16
	case f == 0:
		b = 0
	}
	if b>>31 != 0 {
		return binary.BigEndian.AppendUint32(dst, ^b)
	}
	return binary.BigEndian.AppendUint32(dst, b|1<<31)
}

// textBytes views a string as bytes, which are only read.
func textBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// escape appends text so that no text is the beginning of another.
func escape(dst, p []byte) []byte {
	for {
		z := bytes.IndexByte(p, 0)
		if z < 0 {
			return append(append(dst, p...), 0, 0)
		}
		dst = append(append(dst, p[:z]...), 0, 0xff)
		p = p[z+1:]
	}
}
