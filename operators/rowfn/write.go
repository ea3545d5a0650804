package rowfn

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
)

// putter appends the value at p to a builder and returns about how many bytes it took.
type putter func(p unsafe.Pointer) int64

// encoder makes columns of one Go type: it binds builders of its Arrow type.
type encoder struct {
	typ  arrow.DataType
	bind func(b array.Builder) putter
}

// timestamps are written in microseconds of UTC, which every reader knows.
var timestampType = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

const maxDepth = 16

// encode finds how a t becomes a column.
func encode(f field, t reflect.Type, depth int) (encoder, error) {
	if depth > maxDepth {
		return encoder{}, fmt.Errorf("%s nests deeper than %d", t, maxDepth)
	}
	switch {
	case t == timeType:
		return encoder{timestampType, func(b array.Builder) putter {
			tb := b.(*array.TimestampBuilder)
			return func(p unsafe.Pointer) int64 {
				tb.Append(arrow.Timestamp((*time.Time)(p).UnixMicro()))
				return 8
			}
		}}, nil
	case t == durationType:
		return scalar[arrow.Duration](&arrow.DurationType{Unit: arrow.Nanosecond}), nil
	case t.Kind() == reflect.Pointer:
		return encodePointer(f, t, depth)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return encodeBytes(f), nil
	case t.Kind() == reflect.Slice:
		return encodeSlice(f, t, depth)
	case t.Kind() == reflect.Struct:
		return encodeStruct(t, depth)
	}
	return encodeKind(t)
}

func encodeKind(t reflect.Type) (encoder, error) {
	switch t.Kind() {
	case reflect.Bool:
		return scalar[bool](arrow.FixedWidthTypes.Boolean), nil
	case reflect.Int8:
		return scalar[int8](arrow.PrimitiveTypes.Int8), nil
	case reflect.Int16:
		return scalar[int16](arrow.PrimitiveTypes.Int16), nil
	case reflect.Int32:
		return scalar[int32](arrow.PrimitiveTypes.Int32), nil
	case reflect.Int64, reflect.Int:
		return scalar[int64](arrow.PrimitiveTypes.Int64), nil
	case reflect.Uint8:
		return scalar[uint8](arrow.PrimitiveTypes.Uint8), nil
	case reflect.Uint16:
		return scalar[uint16](arrow.PrimitiveTypes.Uint16), nil
	case reflect.Uint32:
		return scalar[uint32](arrow.PrimitiveTypes.Uint32), nil
	case reflect.Uint64, reflect.Uint:
		return scalar[uint64](arrow.PrimitiveTypes.Uint64), nil
	case reflect.Float32:
		return scalar[float32](arrow.PrimitiveTypes.Float32), nil
	case reflect.Float64:
		return scalar[float64](arrow.PrimitiveTypes.Float64), nil
	case reflect.String:
		return encoder{arrow.BinaryTypes.String, func(b array.Builder) putter {
			sb := b.(*array.StringBuilder)
			return func(p unsafe.Pointer) int64 {
				s := *(*string)(p)
				sb.Append(s)
				return int64(len(s)) + 4
			}
		}}, nil
	}
	return encoder{}, fmt.Errorf("a field of type %s has no column type", t)
}

// scalar encodes values of one width by builders that have Append(T).
func scalar[T any](dt arrow.DataType) encoder {
	return encoder{dt, func(b array.Builder) putter {
		app := b.(interface{ Append(T) })
		var t T
		size := int64(unsafe.Sizeof(t))
		return func(p unsafe.Pointer) int64 {
			app.Append(*(*T)(p))
			return size
		}
	}}
}

func encodePointer(f field, t reflect.Type, depth int) (encoder, error) {
	e, err := encode(f, t.Elem(), depth+1)
	if err != nil {
		return e, err
	}
	inner := e.bind
	e.bind = func(b array.Builder) putter {
		put := inner(b)
		return func(p unsafe.Pointer) int64 {
			v := *(*unsafe.Pointer)(p)
			if v == nil {
				b.AppendNull()
				return 1
			}
			return put(v)
		}
	}
	return e, nil
}

// encodeBytes writes nil as null.
func encodeBytes(f field) encoder {
	put := func(b *array.BinaryBuilder, p unsafe.Pointer) int64 {
		v := *(*[]byte)(p)
		if v == nil {
			b.AppendNull()
			return 4
		}
		b.Append(v)
		return int64(len(v)) + 4
	}
	if f.image {
		return encoder{block.Image, func(b array.Builder) putter {
			bb := b.(*array.ExtensionBuilder).Builder.(*array.BinaryBuilder)
			return func(p unsafe.Pointer) int64 { return put(bb, p) }
		}}
	}
	return encoder{arrow.BinaryTypes.Binary, func(b array.Builder) putter {
		bb := b.(*array.BinaryBuilder)
		return func(p unsafe.Pointer) int64 { return put(bb, p) }
	}}
}

// encodeSlice writes nil as null.
func encodeSlice(f field, t reflect.Type, depth int) (encoder, error) {
	e, err := encode(f, t.Elem(), depth+1)
	if err != nil {
		return e, err
	}
	size := t.Elem().Size()
	inner := e.bind
	return encoder{arrow.ListOf(e.typ), func(b array.Builder) putter {
		lb := b.(*array.ListBuilder)
		put := inner(lb.ValueBuilder())
		return func(p unsafe.Pointer) int64 {
			h := (*sliceHeader)(p)
			if h.data == nil {
				lb.AppendNull()
				return 4
			}
			lb.Append(true)
			n := int64(4)
			for k := range h.len {
				n += put(unsafe.Add(h.data, uintptr(k)*size))
			}
			return n
		}
	}}, nil
}

func encodeStruct(t reflect.Type, depth int) (encoder, error) {
	fields, _, err := fieldsOf(t, nil)
	if err != nil {
		return encoder{}, err
	}
	if len(fields) == 0 {
		return encoder{}, fmt.Errorf("%s has no field that is a column", t)
	}
	encs := make([]encoder, len(fields))
	af := make([]arrow.Field, len(fields))
	for i, f := range fields {
		if encs[i], err = encode(f, f.typ, depth+1); err != nil {
			return encoder{}, err
		}
		af[i] = arrow.Field{Name: f.name, Type: encs[i].typ, Nullable: true}
	}
	return encoder{arrow.StructOf(af...), func(b array.Builder) putter {
		sb := b.(*array.StructBuilder)
		puts := make([]putter, len(fields))
		for i := range puts {
			puts[i] = encs[i].bind(sb.FieldBuilder(i))
		}
		return func(p unsafe.Pointer) int64 {
			sb.Append(true)
			n := int64(0)
			for i, put := range puts {
				n += put(unsafe.Add(p, fields[i].offset))
			}
			return n
		}
	}}, nil
}
