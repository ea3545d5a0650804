package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// flatTypes are the leaf types that both this package and the oracle write.
var flatTypes = []arrow.DataType{
	arrow.FixedWidthTypes.Boolean,
	arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
	arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	arrow.FixedWidthTypes.Float16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
	arrow.BinaryTypes.String, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.LargeBinary,
	&arrow.FixedSizeBinaryType{ByteWidth: 5},
	arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
	&arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"},
	&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
	&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 30, Scale: 0}, &arrow.Decimal256Type{Precision: 60, Scale: 9},
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String},
}

func drawType(t *rapid.T, depth int) arrow.DataType {
	kind := 0
	if depth < 3 {
		kind = rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "kind")
	}
	nullable := func() bool { return rapid.IntRange(0, 3).Draw(t, "nullable") > 0 }
	switch kind {
	case 1:
		fields := make([]arrow.Field, rapid.IntRange(1, 3).Draw(t, "fields"))
		for i := range fields {
			fields[i] = arrow.Field{Name: fmt.Sprintf("f%d", i), Type: drawType(t, depth+1), Nullable: nullable()}
		}
		return arrow.StructOf(fields...)
	case 2:
		elem := arrow.Field{Name: "element", Type: drawType(t, depth+1), Nullable: nullable()}
		return arrow.ListOfField(elem)
	case 3:
		return arrow.MapOf(arrow.BinaryTypes.String, drawType(t, depth+1))
	}
	types := flatTypes
	if depth > 0 {
		types = flatTypes[:len(flatTypes)-1] // the oracle does not nest dictionaries
	}
	return rapid.SampledFrom(types).Draw(t, "type")
}

// drawBatch makes a batch of random columns.
func drawBatch(t *rapid.T) arrow.RecordBatch {
	return drawBatchOf(t, drawSchema(t))
}

func drawSchema(t *rapid.T) *arrow.Schema {
	fields := make([]arrow.Field, rapid.IntRange(1, 4).Draw(t, "columns"))
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: drawType(t, 0), Nullable: rapid.IntRange(0, 3).Draw(t, "null column") > 0}
	}
	return arrow.NewSchema(fields, nil)
}

func drawBatchOf(t *rapid.T, s *arrow.Schema) arrow.RecordBatch {
	rows := rapid.SampledFrom([]int{0, 1, 2, 9, 30, 120, 500}).Draw(t, "rows")
	// A small generator of our own keeps shrinking fast on large tables.
	g := &gen{state: rapid.Uint64().Draw(t, "seed") | 1, nulls: rapid.SampledFrom([]uint64{0, 0, 10, 50, 100}).Draw(t, "null percent"), distinct: rapid.SampledFrom([]uint64{3, 1000000}).Draw(t, "distinct")}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	defer b.Release()
	for i, f := range s.Fields() {
		for range rows {
			g.append(b.Field(i), f.Type, f.Nullable)
		}
	}
	return b.NewRecordBatch()
}

type gen struct{ state, nulls, distinct uint64 }

func (g *gen) next() uint64 {
	g.state ^= g.state << 13
	g.state ^= g.state >> 7
	g.state ^= g.state << 17
	return g.state
}

func (g *gen) value() uint64 {
	v := g.next() % g.distinct
	return v * 0x9E3779B97F4A7C15
}

func (g *gen) bytes() []byte {
	v := g.value()
	b := fmt.Appendf(nil, "%x-value", v)
	return b[:v%uint64(len(b)+1)]
}

func (g *gen) append(b array.Builder, dt arrow.DataType, nullable bool) {
	if nullable && g.next()%100 < g.nulls {
		b.AppendNull()
		return
	}
	v := g.value()
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v&1 == 1)
	case *array.Int8Builder:
		b.Append(int8(v))
	case *array.Int16Builder:
		b.Append(int16(v))
	case *array.Int32Builder:
		b.Append(int32(v))
	case *array.Int64Builder:
		b.Append(int64(v))
	case *array.Uint8Builder:
		b.Append(uint8(v))
	case *array.Uint16Builder:
		b.Append(uint16(v))
	case *array.Uint32Builder:
		b.Append(uint32(v))
	case *array.Uint64Builder:
		b.Append(v)
	case *array.Float16Builder:
		b.Append(float16.New(float32(int16(v)) / 4))
	case *array.Float32Builder:
		b.Append(float32(int32(v)) / 7)
	case *array.Float64Builder:
		b.Append(float64(int64(v)) / 7)
	case *array.StringBuilder:
		b.Append(string(g.bytes()))
	case *array.LargeStringBuilder:
		b.Append(string(g.bytes()))
	case *array.BinaryBuilder:
		b.Append(g.bytes())
	case *array.FixedSizeBinaryBuilder:
		b.Append(fmt.Appendf(nil, "%016x", v)[:dt.(*arrow.FixedSizeBinaryType).ByteWidth])
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(string(g.bytes())); err != nil {
			panic(err)
		}
	default:
		g.appendOther(b, dt, v)
	}
}

func (g *gen) appendOther(b array.Builder, dt arrow.DataType, v uint64) {
	const day = 86_400_000
	switch b := b.(type) {
	case *array.Date32Builder:
		b.Append(arrow.Date32(v % 40000))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v % 40000 * day))
	case *array.Time32Builder:
		b.Append(arrow.Time32(v % day))
	case *array.Time64Builder:
		b.Append(arrow.Time64(v % (day * 1000)))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(int64(v) / 1000))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(v) % 9_000_000))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(int64(v)))
	case *array.StructBuilder:
		b.Append(true)
		for i, f := range dt.(*arrow.StructType).Fields() {
			g.append(b.FieldBuilder(i), f.Type, f.Nullable)
		}
	case *array.MapBuilder:
		b.Append(true)
		m := dt.(*arrow.MapType)
		for range g.next() % 4 {
			g.append(b.KeyBuilder(), m.KeyType(), false)
			g.append(b.ItemBuilder(), m.ItemType(), true)
		}
	case *array.FixedSizeListBuilder:
		b.Append(true)
		f := dt.(*arrow.FixedSizeListType)
		for range f.Len() {
			g.append(b.ValueBuilder(), f.Elem(), f.ElemField().Nullable)
		}
	case *array.NullBuilder:
		b.AppendNull()
	case array.ListLikeBuilder:
		b.(interface{ Append(bool) }).Append(true)
		f := dt.(arrow.ListLikeType)
		for range g.next() % 5 {
			g.append(b.ValueBuilder(), f.Elem(), f.ElemField().Nullable)
		}
	default:
		panic(fmt.Sprintf("no generator for %s", dt))
	}
}
