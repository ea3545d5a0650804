package parquet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/parquet-go/parquet-go"
)

// TestTypesThatChange writes types that Parquet stores as others, and tells
// what they come back as.
func TestTypesThatChange(t *testing.T) {
	index := func(i arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: i, ValueType: arrow.BinaryTypes.String}
	}
	back := index(arrow.PrimitiveTypes.Int32)
	cases := []struct {
		write, read arrow.DataType
		in, out     string
	}{
		{arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Date64, `["2020-02-29", null, "1969-12-31"]`, ""},
		{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, `["00:00:07", null, "23:59:59"]`, "[7000 (null) 86399000]"},
		{arrow.FixedWidthTypes.Timestamp_s, arrow.FixedWidthTypes.Timestamp_ms, `["2020-02-29T00:00:01Z", null]`, "[1582934401000 (null)]"},
		{arrow.FixedWidthTypes.Duration_us, arrow.FixedWidthTypes.Duration_us, `["5us", null]`, ""},
		{arrow.Null, arrow.Null, `[null, null, null]`, ""},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), nil, `[[1, 2], null, [3, null]]`, ""},
		{arrow.LargeListOf(arrow.BinaryTypes.String), nil, `[["a"], null, []]`, ""},
		{index(arrow.PrimitiveTypes.Int8), back, `["a", null, "b", "a"]`, ""},
		{index(arrow.PrimitiveTypes.Uint8), back, `["a", null, "b", "a"]`, ""},
		{index(arrow.PrimitiveTypes.Int16), back, `["a", "b", "a"]`, ""},
		{index(arrow.PrimitiveTypes.Uint16), back, `["a", "b", "a"]`, ""},
		{index(arrow.PrimitiveTypes.Uint32), back, `["a", "b", "a"]`, ""},
		{index(arrow.PrimitiveTypes.Int64), back, `["a", "b", "a"]`, ""},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int64}, arrow.PrimitiveTypes.Int64, `[5, null, 6, 5]`, ""},
		{&arrow.Decimal128Type{Precision: 38, Scale: 3}, nil, `["-1.250", null, "99999999999999999999999999999999999.999"]`, ""},
		{&arrow.Decimal256Type{Precision: 20, Scale: 3}, nil, `["-1.250", null, "7"]`, ""},
		{&arrow.Decimal32Type{Precision: 9, Scale: 2}, nil, `["-1.25", null]`, ""},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, nil, `["-1.25", null]`, ""},
	}
	mem := memory.NewGoAllocator()
	for _, c := range cases {
		t.Run(c.write.String(), func(t *testing.T) {
			a, _, err := array.FromJSON(mem, c.write, strings.NewReader(c.in))
			if err != nil {
				t.Fatal(err)
			}
			b := array.NewRecordBatch(fields("x", c.write), []arrow.Array{a}, int64(a.Len()))
			got, err := readAll(ourWrite(t, b, WriteOptions{}, 1), ReadOptions{Allocator: mem})
			if err != nil {
				t.Fatal(err)
			}
			want := c.read
			if want == nil {
				want = c.write
			}
			if f := got.Schema().Field(0); !arrow.TypeEqual(f.Type, want) && !strings.Contains(want.String(), "list") {
				t.Errorf("came back as %s, want %s", f.Type, want)
			}
			text := c.out
			if text == "" {
				text = fmt.Sprint(decoded(a))
			}
			if g := fmt.Sprint(flatten(t, got.Column(0))); g != text {
				t.Errorf("got %s, want %s", g, text)
			}
		})
	}
}

// legacy is how parquet-go writes slices: repeated fields outside any list.
type legacy struct {
	Tags  []string `parquet:"tags"`
	Inner []struct {
		A int32  `parquet:"a"`
		B *int64 `parquet:"b,optional"`
	} `parquet:"inner"`
	Price int64 `parquet:"price,decimal(2:9)"`
}

func TestLegacyShapes(t *testing.T) {
	rows := make([]legacy, 50)
	for i := range rows {
		for j := range i % 4 {
			rows[i].Tags = append(rows[i].Tags, fmt.Sprint(j))
		}
		if i%3 == 0 {
			rows[i].Inner = append(rows[i].Inner, struct {
				A int32  `parquet:"a"`
				B *int64 `parquet:"b,optional"`
			}{A: int32(i)})
		}
		rows[i].Price = int64(i) - 25
	}
	var buf bytes.Buffer
	w := pq.NewGenericWriter[legacy](&buf, pq.PageBufferSize(64))
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := readAll(buf.Bytes(), ReadOptions{Allocator: memory.NewGoAllocator()})
	if err != nil {
		t.Fatal(err)
	}
	tags := flatten(t, got.Column(got.Schema().FieldIndices("tags")[0])).(*array.List)
	inner := flatten(t, got.Column(got.Schema().FieldIndices("inner")[0])).(*array.List)
	price := flatten(t, got.Column(got.Schema().FieldIndices("price")[0])).(*array.Decimal128)
	for i := range rows {
		if from, to := tags.ValueOffsets(i); int(to-from) != len(rows[i].Tags) || tags.IsNull(i) {
			t.Fatalf("row %d has %d tags, want %d", i, to-from, len(rows[i].Tags))
		}
		if from, to := inner.ValueOffsets(i); int(to-from) != len(rows[i].Inner) {
			t.Fatalf("row %d has %d inner values", i, to-from)
		}
		if price.Value(i).LowBits() != uint64(rows[i].Price) {
			t.Fatalf("row %d has price %s", i, price.ValueStr(i))
		}
	}
}

// TestColumnsFillAtDifferentRows has bursts of large values in different rows
// of two columns, so that batches end early and the rest of the other column
// waits for the next.
func TestColumnsFillAtDifferentRows(t *testing.T) {
	mem := memory.NewGoAllocator()
	rb := array.NewRecordBuilder(mem, fields("a", arrow.BinaryTypes.String, "b", arrow.BinaryTypes.String, "c", arrow.PrimitiveTypes.Int64,
		"d", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}, "e", arrow.ListOf(arrow.BinaryTypes.String)))
	big := strings.Repeat("x", 3000)
	for i := range 3000 {
		text := func(at int) string {
			if i/100%7 == at {
				return fmt.Sprint(big, i)
			}
			return fmt.Sprint(i)
		}
		rb.Field(0).(*array.StringBuilder).Append(text(3))
		rb.Field(1).(*array.StringBuilder).Append(text(5))
		rb.Field(2).(*array.Int64Builder).Append(int64(i))
		if err := rb.Field(3).(*array.BinaryDictionaryBuilder).AppendString(fmt.Sprint(i % 9)); err != nil {
			t.Fatal(err)
		}
		l := rb.Field(4).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.StringBuilder).Append(text(6))
	}
	b := rb.NewRecordBatch()
	file := ourWrite(t, b, WriteOptions{})
	for _, size := range []int64{1000, 50_000, 400_000} {
		checked := memory.NewCheckedAllocator(mem)
		got, err := readAll(file, ReadOptions{Allocator: checked, BatchBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		sameRows(t, tableOf(b), got)
		got.Release()
		checked.AssertSize(t, 0)
	}
}
