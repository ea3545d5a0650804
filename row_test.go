package sluice

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func TestValues(t *testing.T) {
	list, item := arrow.ListOf(arrow.PrimitiveTypes.Int16), arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true})
	for _, tc := range []struct {
		typ        arrow.DataType
		json, want string
	}{
		{arrow.FixedWidthTypes.Boolean, `true`, "bool true"},
		{arrow.PrimitiveTypes.Int8, `-8`, "int8 -8"},
		{arrow.PrimitiveTypes.Int16, `-8`, "int16 -8"},
		{arrow.PrimitiveTypes.Int32, `-8`, "int32 -8"},
		{arrow.PrimitiveTypes.Int64, `-8`, "int64 -8"},
		{arrow.PrimitiveTypes.Uint8, `8`, "uint8 8"},
		{arrow.PrimitiveTypes.Uint16, `8`, "uint16 8"},
		{arrow.PrimitiveTypes.Uint32, `8`, "uint32 8"},
		{arrow.PrimitiveTypes.Uint64, `8`, "uint64 8"},
		{arrow.FixedWidthTypes.Float16, `0.5`, "float32 0.5"},
		{arrow.PrimitiveTypes.Float32, `0.5`, "float32 0.5"},
		{arrow.PrimitiveTypes.Float64, `0.5`, "float64 0.5"},
		{arrow.BinaryTypes.String, `"x"`, "string x"},
		{arrow.BinaryTypes.LargeString, `"x"`, "string x"},
		{arrow.BinaryTypes.Binary, `"YWI="`, "[]uint8 [97 98]"},
		{arrow.BinaryTypes.LargeBinary, `"YWI="`, "[]uint8 [97 98]"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 2}, `"YWI="`, "[]uint8 [97 98]"},
		{arrow.FixedWidthTypes.Date32, `"2024-02-29"`, "time.Time 2024-02-29 00:00:00 +0000 UTC"},
		{arrow.FixedWidthTypes.Date64, `"2024-02-29"`, "time.Time 2024-02-29 00:00:00 +0000 UTC"},
		{arrow.FixedWidthTypes.Timestamp_ms, `"2024-02-29T01:02:03Z"`, "time.Time 2024-02-29 01:02:03 +0000 UTC"},
		{arrow.FixedWidthTypes.Duration_ms, `1500`, "time.Duration 1.5s"},
		{&arrow.Decimal128Type{Precision: 5, Scale: 2}, `"1.25"`, "string 1.25"},
		{list, `[1,null]`, "[]interface {} [1 <nil>]"},
		{list, `[]`, "[]interface {} []"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8), `[1,2]`, "[]interface {} [1 2]"},
		{item, `{"a":null}`, "sluice.Row map[a:<nil>]"},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[{"key":"k","value":1}]`, "map[interface {}]interface {} map[k:1]"},
		{arrow.MapOf(list, arrow.PrimitiveTypes.Int8), `[{"key":[1],"value":1}]`, "map[interface {}]interface {} map[[1]:1]"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `"x"`, "string x"},
		{arrow.Null, `null`, "<nil> <nil>"},
	} {
		a := fromJSON(t, tc.typ, tc.json)
		if v := valueOf(a, 1); fmt.Sprintf("%T %v", v, v) != tc.want {
			t.Errorf("%s %s is %T %v, want %s", tc.typ, tc.json, v, v, tc.want)
		}
		if v := valueOf(a, 0); v != nil {
			t.Errorf("a null %s is %v", tc.typ, v)
		}
		a.Release()
	}
}

// fromJSON makes an array of a null and a value.
func fromJSON(t *testing.T, typ arrow.DataType, value string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	if err := b.UnmarshalJSON([]byte("[null, " + value + "]")); err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	return b.NewArray()
}

func TestTimesOfAnUnknownZone(t *testing.T) {
	b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Nowhere/Else"})
	defer b.Release()
	b.Append(61)
	a := b.NewArray()
	defer a.Release()
	if v := fmt.Sprint(valueOf(a, 0)); v != "1970-01-01 00:01:01 +0000 UTC" {
		t.Errorf("it is %s", v)
	}
}
