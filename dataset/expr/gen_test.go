package expr

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"
)

// fuzzSchema has a column of every kind that evaluates on its own.
var fuzzSchema = arrow.NewSchema([]arrow.Field{
	{Name: "i8", Type: arrow.PrimitiveTypes.Int8}, {Name: "i16", Type: arrow.PrimitiveTypes.Int16},
	{Name: "i32", Type: arrow.PrimitiveTypes.Int32}, {Name: "i64", Type: arrow.PrimitiveTypes.Int64},
	{Name: "j64", Type: arrow.PrimitiveTypes.Int64},
	{Name: "u8", Type: arrow.PrimitiveTypes.Uint8}, {Name: "u16", Type: arrow.PrimitiveTypes.Uint16},
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32}, {Name: "u64", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "v64", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "f16", Type: arrow.FixedWidthTypes.Float16}, {Name: "f32", Type: arrow.PrimitiveTypes.Float32},
	{Name: "f64", Type: arrow.PrimitiveTypes.Float64}, {Name: "g64", Type: arrow.PrimitiveTypes.Float64},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean}, {Name: "c", Type: arrow.FixedWidthTypes.Boolean},
	{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "t", Type: arrow.BinaryTypes.String},
	{Name: "ls", Type: arrow.BinaryTypes.LargeString}, {Name: "bin", Type: arrow.BinaryTypes.Binary},
	{Name: "fsb", Type: &arrow.FixedSizeBinaryType{ByteWidth: 2}},
	{Name: "ts_s", Type: &arrow.TimestampType{Unit: arrow.Second}},
	{Name: "ts_ms", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "Europe/Berlin"}},
	{Name: "ts_us", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
	{Name: "ts_ns", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}},
	{Name: "d32", Type: arrow.FixedWidthTypes.Date32}, {Name: "d64", Type: arrow.FixedWidthTypes.Date64},
	{Name: "dur_ms", Type: &arrow.DurationType{Unit: arrow.Millisecond}}, {Name: "dur_ns", Type: &arrow.DurationType{Unit: arrow.Nanosecond}},
	{Name: "tod", Type: arrow.FixedWidthTypes.Time32s},
	{Name: "dec", Type: &arrow.Decimal128Type{Precision: 20, Scale: 3}},
	{Name: "li", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}, {Name: "lt", Type: arrow.ListOf(arrow.BinaryTypes.String)},
	{Name: "ll", Type: arrow.LargeListOf(arrow.PrimitiveTypes.Float64)}, {Name: "lf", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int64)},
	{Name: "st", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true})},
	{Name: "ds", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}},
	{Name: "di", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.PrimitiveTypes.Int64}},
	{Name: "none", Type: arrow.Null},
}, nil)

var (
	intPool   = []int64{0, 1, -1, 2, 3, 7, 10, 100, 127, -128, 255, 1 << 31, -1 << 31, 1 << 53, 1<<53 + 1, -1<<53 - 1, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1000, 86399, 951782400, 1711846800}
	uintPool  = []uint64{0, 1, 2, 7, 255, 1 << 53, 1<<53 + 1, math.MaxInt64, 1 << 63, 1<<63 + 1, math.MaxUint64, math.MaxUint64 - 1}
	floatPool = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, 7, 0.1, math.NaN(), math.Inf(1), math.Inf(-1), 1 << 53, 1<<53 + 2, 1 << 63, -1 << 63, 1 << 64, math.MaxFloat64, math.SmallestNonzeroFloat64, 1e300, 255.5}
	textPool  = []string{"", "a", "ab", "de", "DE", "Grüße", "  x ", "12", "-7", "1.5", "nan", "true", "0", "9223372036854775807", "18446744073709551615", "2024-02-29", "2024-03-31T02:30:00Z", "x,y,,z", "日本語", "a\xffb", "\x00", strings.Repeat("long ", 20)}
)

// appendRandom adds one value that v draws to a builder.
func appendRandom(b array.Builder, r *rapid.T) {
	if rapid.IntRange(0, 4).Draw(r, "null") == 0 {
		b.AppendNull()
		return
	}
	i := rapid.SampledFrom(intPool).Draw(r, "int")
	switch b := b.(type) {
	case *array.NullBuilder:
		b.AppendNull()
	case *array.Int8Builder:
		b.Append(int8(i))
	case *array.Int16Builder:
		b.Append(int16(i))
	case *array.Int32Builder:
		b.Append(int32(i))
	case *array.Int64Builder:
		b.Append(i)
	case *array.Uint8Builder:
		b.Append(uint8(i))
	case *array.Uint16Builder:
		b.Append(uint16(i))
	case *array.Uint32Builder:
		b.Append(uint32(i))
	case *array.Uint64Builder:
		b.Append(rapid.SampledFrom(uintPool).Draw(r, "uint"))
	case *array.Float16Builder:
		b.Append(float16.New(float32(rapid.SampledFrom(floatPool).Draw(r, "float"))))
	case *array.Float32Builder:
		b.Append(float32(rapid.SampledFrom(floatPool).Draw(r, "float")))
	case *array.Float64Builder:
		b.Append(rapid.SampledFrom(floatPool).Draw(r, "float"))
	case *array.BooleanBuilder:
		b.Append(i&1 != 0)
	case *array.StringBuilder:
		b.Append(rapid.SampledFrom(textPool).Draw(r, "text"))
	case *array.LargeStringBuilder:
		b.Append(rapid.SampledFrom(textPool).Draw(r, "text"))
	case *array.BinaryBuilder:
		b.Append([]byte(rapid.SampledFrom(textPool).Draw(r, "text")))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte{byte(i), 'b'})
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(i))
	case *array.Date32Builder:
		b.Append(arrow.Date32(int32(i)))
	case *array.Date64Builder:
		b.Append(arrow.Date64(i))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(i))
	case *array.Time32Builder:
		b.Append(arrow.Time32(int32(i)))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(i))
	case *array.ListBuilder:
		b.Append(true)
		appendSome(b.ValueBuilder(), r, rapid.IntRange(0, 3).Draw(r, "len"))
	case *array.LargeListBuilder:
		b.Append(true)
		appendSome(b.ValueBuilder(), r, rapid.IntRange(0, 3).Draw(r, "len"))
	case *array.FixedSizeListBuilder:
		b.Append(true)
		appendSome(b.ValueBuilder(), r, 2)
	case *array.StructBuilder:
		b.Append(true)
		for k := range b.NumField() {
			appendRandom(b.FieldBuilder(k), r)
		}
	case *array.BinaryDictionaryBuilder:
		if err := b.AppendString(rapid.SampledFrom(textPool).Draw(r, "text")); err != nil {
			panic(err)
		}
	case *array.Int64DictionaryBuilder:
		if err := b.Append(i); err != nil {
			panic(err)
		}
	default:
		panic(fmt.Sprintf("no values for %T", b))
	}
}

func appendSome(b array.Builder, r *rapid.T, n int) {
	for range n {
		appendRandom(b, r)
	}
}

// randomBatch builds the columns that are read, sliced at a random offset; the others are all null.
func randomBatch(mem memory.Allocator, r *rapid.T, used []string) arrow.RecordBatch {
	n := rapid.SampledFrom([]int{0, 1, 3, 9, 65, 70}).Draw(r, "rows")
	off := rapid.SampledFrom([]int{0, 1, 5, 8, 63}).Draw(r, "offset")
	b := array.NewRecordBuilder(mem, fuzzSchema)
	defer b.Release()
	for i, f := range fuzzSchema.Fields() {
		if !strings.Contains(" "+strings.Join(used, " ")+" ", " "+f.Name+" ") {
			b.Field(i).AppendNulls(off + n + 2)
			continue
		}
		// Padding repeats a few values; only rows that are evaluated need variety.
		b.Field(i).AppendNulls(off / 2)
		appendSome(b.Field(i), r, off-off/2+n+2)
	}
	all := b.NewRecordBatch()
	defer all.Release()
	return all.NewSlice(int64(off), int64(off+n))
}

// gen draws source texts by kind.
type gen struct{ r *rapid.T }

func (g gen) one(options ...string) string { return rapid.SampledFrom(options).Draw(g.r, "form") }

func (g gen) pick(n int) int { return rapid.IntRange(0, n-1).Draw(g.r, "pick") }

func (g gen) number(d int) string {
	if d <= 0 {
		switch g.pick(4) {
		case 0:
			return printed(rapid.SampledFrom(intPool).Draw(g.r, "literal"))
		case 1:
			f := rapid.SampledFrom(floatPool).Draw(g.r, "literal")
			if math.IsNaN(f) || math.IsInf(f, 0) {
				return fmt.Sprintf("float(%q)", fmt.Sprint(f))
			}
			return printed(f)
		}
		return g.one("i8", "i16", "i32", "i64", "j64", "u8", "u16", "u32", "u64", "v64", "f16", "f32", "f64", "g64", "di", "st.x", "none", "18446744073709551615")
	}
	n, m := g.number(d-1), g.number(d-2)
	switch g.pick(22) {
	case 0, 1, 2, 3:
		return "(" + n + g.one(" + ", " - ", " * ") + m + ")"
	case 4, 5:
		return "(" + n + g.one(" / ", " % ") + m + ")"
	case 6:
		return "-(" + n + ")"
	case 7:
		return g.one("abs", "floor", "ceil", "round", "sqrt", "log", "exp", "log2", "log10") + "(" + n + ")"
	case 8:
		return g.one("min", "max") + "(" + n + ", " + m + ")"
	case 9:
		return "pow(" + n + ", " + m + ")"
	case 10:
		return "(" + g.boolean(d-1) + " ? " + n + " : " + m + ")"
	case 11:
		return "((" + n + ") ?? (" + m + "))"
	case 12:
		return g.one("int", "float") + "(" + n + ")"
	case 13:
		return g.one("int", "float") + "(" + g.text(d-1) + ")"
	case 14:
		return "length(" + g.text(d-1) + ")"
	case 15:
		return g.one("cast", "try_cast") + "(" + n + ", \"" + g.one("int8", "uint8", "int32", "uint64", "int64", "float32", "uint16") + "\")"
	case 16:
		return "hash(" + g.any(d-1) + ")"
	case 17:
		return g.one("year", "month", "day", "hour", "minute", "second", "weekday", "epoch_ms") + "(" + g.instant(d-1) + ")"
	case 18:
		return g.one("li", "ll", "lf") + "[" + g.one("0", "-1", "1", "i8", "5") + "]"
	case 19:
		return "length(" + g.one("li", "lt", "ll", "lf", "bin", "fsb") + ")"
	case 20:
		return g.one("int", "float") + "(" + g.one("b", "c", "dec") + ")"
	}
	return "total_seconds(" + g.duration(d-1) + ")"
}

func printed(v any) string {
	var b strings.Builder
	printLiteral(&b, v)
	return "(" + b.String() + ")"
}

func (g gen) any(d int) string {
	switch g.pick(6) {
	case 0:
		return g.text(d)
	case 1:
		return g.boolean(d)
	case 2:
		return g.instant(d)
	case 3:
		return g.one("bin", "fsb")
	}
	return g.number(d)
}

func (g gen) comparison() string { return g.one(" == ", " != ", " < ", " <= ", " > ", " >= ") }

func (g gen) boolean(d int) string {
	if d <= 0 {
		return g.one("b", "c", "true", "false", "none", "b", "c", "i64 > 3", "f64 <= g64", "s == \"de\"", "ds == \"de\"")
	}
	switch g.pick(24) {
	case 0, 1, 2, 3:
		return "(" + g.number(d-1) + g.comparison() + g.number(d-1) + ")"
	case 4, 5:
		return "(" + g.text(d-1) + g.comparison() + g.text(d-1) + ")"
	case 6, 7, 8:
		return "(" + g.boolean(d-1) + " and " + g.boolean(d-1) + ")"
	case 9, 10:
		return "(" + g.boolean(d-1) + " or " + g.boolean(d-1) + " or " + g.boolean(d-2) + ")"
	case 11:
		return "not (" + g.boolean(d-1) + ")"
	case 12:
		return "(" + g.any(d-1) + g.one(" == nil", " != nil") + ")"
	case 13:
		return "(" + g.number(d-1) + " in [1, 7, 2.5, -1" + g.one("", ", nil", ", 9223372036854775807, 18446744073709551615, 0, 100, 3", ", i8", ", 0.0") + "])"
	case 14:
		return "(" + g.text(d-1) + g.one(" in ", " not in ") + "[\"de\", \"a\"" + g.one("", ", nil", ", t", ", \"b\", \"c\", \"d\", \"e\", \"\", \"12\"") + "])"
	case 15:
		return g.one("contains", "starts_with", "ends_with") + "(" + g.text(d-1) + ", " + g.text(d-2) + ")"
	case 16:
		return "(" + g.text(d-1) + " matches \"" + g.one("^[0-9]+$", "a", "(?i)de|x", "", "^de$", "^a", "e$", "^", "ü", ".b$", "(?i)DE") + "\")"
	case 17:
		return "(" + g.instant(d-1) + g.comparison() + g.instant(d-1) + ")"
	case 18:
		return "(" + g.duration(d-1) + g.comparison() + g.duration(d-1) + ")"
	case 19:
		return "(" + g.one("dec", "dec", g.number(d-2)) + g.comparison() + "dec)"
	case 20:
		return "(" + g.number(d-2) + " in " + g.one("li", "ll", "lf") + " or " + g.text(d-2) + " in lt)"
	case 21:
		return "(" + g.boolean(d-1) + g.one(" == ", " != ") + g.boolean(d-1) + ")"
	case 22:
		return "((" + g.boolean(d-1) + ") ?? (" + g.boolean(d-2) + "))"
	}
	return g.one("is_nan("+g.number(d-1)+")", "bool("+g.number(d-1)+")", "bool("+g.text(d-1)+")", "(bin == b\"a\")", "(bin > fsb)", "(tod < tod)")
}

func (g gen) text(d int) string {
	if d <= 0 {
		if g.pick(3) == 0 {
			s := rapid.SampledFrom(textPool).Draw(g.r, "literal")
			return strings.Trim(printed(strings.ToValidUTF8(s, "?")), "()")
		}
		return g.one("s", "t", "ls", "ds", "st.y", "none")
	}
	s := g.text(d - 1)
	switch g.pick(14) {
	case 0, 1:
		return g.one("lower", "upper", "trim") + "(" + s + ")"
	case 2:
		return "concat(" + s + ", " + g.text(d-1) + ")"
	case 3:
		return "(" + s + " + " + g.text(d-2) + ")"
	case 4:
		return "replace(" + s + ", " + g.text(d-2) + ", \"-\")"
	case 5:
		return "substr(" + s + ", " + g.one("0", "1", "-2", "i8") + g.one("", ", 2", ", u8", ", -1") + ")"
	case 6:
		return "string(" + g.number(d-1) + ")"
	case 7:
		return "(" + g.boolean(d-1) + " ? " + s + " : " + g.text(d-2) + ")"
	case 8:
		return "((" + s + ") ?? (" + g.text(d-2) + "))"
	case 9:
		return "regex_extract(" + s + ", \"([a-z])(.)?\"" + g.one("", ", 0", ", 2") + ")"
	case 10:
		return "regex_replace(" + s + ", \"[0-9]\", \"<$0>\")"
	case 11:
		return g.one("lt", "split("+s+", \",\")", "split("+s+", \"\")") + "[" + g.one("0", "1", "-1") + "]"
	case 12:
		return "string(" + g.one("bin", "dec", "d32", "b", "ts_ms", "ts_us", "dur_ms", "f32") + ")"
	}
	return g.one("min", "max") + "(" + s + ", " + g.text(d-2) + ")"
}

func (g gen) instant(d int) string {
	if d <= 0 {
		return g.one("ts_s", "ts_ms", "ts_us", "ts_ns", "d32", "d64", `timestamp("2024-03-31T01:30:00Z")`, `timestamp("1969-12-31 23:59:59.123456789")`, `date("2024-02-29")`, "none")
	}
	switch g.pick(7) {
	case 0, 1:
		return "(" + g.instant(d-1) + g.one(" + ", " - ") + g.duration(d-1) + ")"
	case 2:
		return "date_trunc(\"" + g.one("second", "minute", "hour", "day", "week", "month", "quarter", "year") + "\", " + g.instant(d-1) + ")"
	case 3:
		return g.one("date", "timestamp") + "(" + g.instant(d-1) + ")"
	case 4:
		return g.one("date", "timestamp") + "(" + g.text(d-1) + ")"
	case 5:
		return "((" + g.instant(d-1) + ") ?? (" + g.instant(d-1) + "))"
	}
	return "cast(" + g.one("ts_s", "ts_ms", "d32", "i64", "s") + ", \"" + g.one("timestamp[ns]", "timestamp[ms, Europe/Berlin]", "timestamp[s]") + "\")"
}

func (g gen) duration(d int) string {
	if d <= 0 {
		return g.one("dur_ms", "dur_ns", `duration("1h30m")`, `duration("-1ns")`, `duration("7d")`, `duration("250ms")`)
	}
	switch g.pick(3) {
	case 0:
		return "(" + g.duration(d-1) + g.one(" + ", " - ") + g.duration(d-1) + ")"
	case 1:
		return "(" + g.instant(d-1) + " - " + g.instant(d-1) + ")"
	}
	return "(-" + g.one("dur_ms", "dur_ns") + ")"
}
