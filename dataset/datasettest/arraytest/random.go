package arraytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Types returns one of each kind of type that the engine carries, nested ones included.
func Types() []arrow.DataType {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	pair := arrow.StructOf(
		arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true},
		arrow.Field{Name: "c", Type: arrow.ListOf(arrow.PrimitiveTypes.Int8), Nullable: true},
	)
	return []arrow.DataType{
		arrow.Null, arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary,
		&arrow.FixedSizeBinaryType{ByteWidth: 3},
		arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us,
		arrow.FixedWidthTypes.Timestamp_us, arrow.FixedWidthTypes.Duration_ns,
		&arrow.Decimal128Type{Precision: 30, Scale: 4}, &arrow.Decimal256Type{Precision: 50, Scale: 4},
		dict,
		arrow.ListOf(arrow.PrimitiveTypes.Float32), arrow.ListOf(arrow.BinaryTypes.String), arrow.LargeListOf(arrow.PrimitiveTypes.Int64),
		arrow.ListOf(dict), arrow.ListOf(pair), arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int16)),
		arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32), arrow.FixedSizeListOf(2, arrow.BinaryTypes.String),
		pair, arrow.StructOf(arrow.Field{Name: "p", Type: pair, Nullable: true}),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64),
	}
}

// Random makes an array of n elements. About one in five is null unless nulls is false, which holds for every level. The
// array may begin with an offset into its buffers.
func Random(r *rand.Rand, mem memory.Allocator, dt arrow.DataType, n int, nulls bool) arrow.Array {
	lead, trail := r.IntN(20), r.IntN(5)
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	for range lead + n + trail {
		Append(r, b, nulls)
	}
	whole := b.NewArray()
	defer whole.Release()
	return array.NewSlice(whole, int64(lead), int64(lead+n))
}

// RandomRecord makes a record of n rows with a column of each type, named c0, c1, ….
func RandomRecord(r *rand.Rand, mem memory.Allocator, types []arrow.DataType, n int, nulls bool) arrow.RecordBatch {
	fields := make([]arrow.Field, len(types))
	cols := make([]arrow.Array, len(types))
	for i, t := range types {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: t, Nullable: true}
		cols[i] = Random(r, mem, t, n, nulls)
		defer cols[i].Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(n))
}

// Append adds one random value to a builder of any type of Types.
func Append(r *rand.Rand, b array.Builder, nulls bool) {
	if nulls && r.IntN(5) == 0 {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.BooleanBuilder:
		b.Append(r.IntN(2) == 0)
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			Append(r, b.FieldBuilder(i), nulls)
		}
	case *array.MapBuilder:
		b.Append(true)
		for i := range r.IntN(4) {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint("k", i))
			Append(r, b.ItemBuilder(), nulls)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for range b.Type().(*arrow.FixedSizeListType).Len() {
			Append(r, b.ValueBuilder(), nulls)
		}
	case array.VarLenListLikeBuilder:
		b.Append(true)
		for range r.IntN(5) {
			Append(r, b.ValueBuilder(), nulls)
		}
	case *array.BinaryDictionaryBuilder:
		must(b.AppendString(word(r)))
	case *array.ExtensionBuilder:
		Append(r, b.StorageBuilder(), false)
	default:
		appendScalar(r, b)
	}
}

func appendScalar(r *rand.Rand, b array.Builder) {
	v := int64(r.Uint64()) >> r.IntN(64)
	switch b := b.(type) {
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(v)
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Uint64Builder:
		b.Append(uint64(v))
	case *array.Float16Builder:
		b.Append(float16.New(float32(v % 100)))
	case *array.Float32Builder:
		b.Append(float32(float(r)))
	case *array.Float64Builder:
		b.Append(float(r))
	case *array.StringBuilder:
		b.Append(word(r))
	case *array.LargeStringBuilder:
		b.Append(word(r))
	case *array.BinaryBuilder:
		b.Append([]byte(word(r)))
	case *array.FixedSizeBinaryBuilder:
		b.Append(fmt.Appendf(nil, "%03d", uint64(v)%1000)[:b.Type().(*arrow.FixedSizeBinaryType).ByteWidth])
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 30000))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v % 30000 * 86400000))
	case *array.Time32Builder:
		b.Append(arrow.Time32(uint64(v) % 86400000))
	case *array.Time64Builder:
		b.Append(arrow.Time64(uint64(v) % 86400000000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v >> 12))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(v))
	default:
		panic(fmt.Sprintf("append random value: no case for %s", b.Type()))
	}
}

func float(r *rand.Rand) float64 {
	switch r.IntN(12) {
	case 0:
		return math.Inf(1 - 2*r.IntN(2))
	case 1:
		return math.Copysign(0, -1)
	case 2:
		return math.NaN()
	case 3:
		return 0
	}
	return math.Round(r.NormFloat64()*1000) / 8
}

func word(r *rand.Rand) string {
	w := []string{"", "a", "ab", "a\x00", "a\x00b", "b", "zebra", "ä", "日本", "\xff"}[r.IntN(10)]
	if w == "\xff" {
		w = "\u00ff"
	}
	if r.IntN(8) == 0 {
		w = strings.Repeat(w+"-", r.IntN(40))
	}
	return w
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
