package cli

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// column1 builds an array of any type from JSON.
func column1(t *testing.T, dt arrow.DataType, json string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(memory.NewGoAllocator(), dt, strings.NewReader(json))
	if err != nil {
		t.Fatalf("%s: %v", dt, err)
	}
	return a
}

func TestCells(t *testing.T) {
	tests := []struct {
		dt   arrow.DataType
		json string
		want string
	}{
		{arrow.PrimitiveTypes.Int64, `[-5]`, "-5"},
		{arrow.PrimitiveTypes.Int64, `[null]`, "null"},
		{arrow.FixedWidthTypes.Boolean, `[true]`, "true"},
		{arrow.PrimitiveTypes.Float64, `[0.1]`, "0.1"},
		{arrow.PrimitiveTypes.Float64, `[0.12345678901]`, "0.123457"},
		{arrow.PrimitiveTypes.Float32, `[1.5]`, "1.5"},
		{arrow.BinaryTypes.String, `["a\u001b[31m\nb\tc"]`, "a�[31m⏎b c"},
		{arrow.BinaryTypes.LargeString, `["x"]`, "x"},
		{arrow.BinaryTypes.Binary, `["AAAA"]`, "binary 3 B"},
		{&arrow.FixedSizeBinaryType{ByteWidth: 3}, `["AAAA"]`, "binary 3 B"},
		{arrow.ListOf(arrow.BinaryTypes.String), `[["a", null, "b\"c"]]`, `["a", null, "b\"c"]`},
		{arrow.ListOf(arrow.PrimitiveTypes.Int8), `[[1,2,3,4,5,6,7,8,9,10]]`, "[1, 2, 3, 4, 5, 6, 7, 8, …+2]"},
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int8), `[[1,2]]`, "[1, 2]"},
		{arrow.LargeListOf(arrow.PrimitiveTypes.Int8), `[[]]`, "[]"},
		{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String}),
			`[{"a": 1, "b": "x"}]`, `{a: 1, b: "x"}`},
		{arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[[{"key": "k", "value": 1}]]`, `{"k": 1}`},
		{&arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}, `["2026-01-02T03:04:05.678Z"]`, "2026-01-02T03:04:05.678Z"},
		{&arrow.TimestampType{Unit: arrow.Second}, `["2026-01-02T03:04:05"]`, "2026-01-02T03:04:05"},
		{arrow.FixedWidthTypes.Date32, `["2026-01-02"]`, "2026-01-02"},
		{&arrow.Decimal128Type{Precision: 10, Scale: 2}, `["1.50"]`, "1.50"},
		{&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["v"]`, "v"},
		{arrow.Null, `[null]`, "null"},
	}
	for _, tt := range tests {
		a := column1(t, tt.dt, tt.json)
		if got := cellText(a, 0); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.dt, tt.json, got, tt.want)
		}
		a.Release()
	}
	nan := array.NewFloat64Builder(memory.NewGoAllocator())
	nan.AppendValues([]float64{math.NaN(), math.Inf(-1)}, nil)
	if a := nan.NewFloat64Array(); cellText(a, 0) != "NaN" || cellText(a, 1) != "-Inf" {
		t.Errorf("NaN and -Inf: %s %s", cellText(a, 0), cellText(a, 1))
	}
}

func TestNestingIsCut(t *testing.T) {
	var dt arrow.DataType = arrow.PrimitiveTypes.Int8
	json := "1"
	for range 10 {
		dt, json = arrow.ListOf(dt), "["+json+"]"
	}
	if got := cellText(column1(t, dt, "["+json+"]"), 0); got != "[[[[…]]]]" {
		t.Errorf("deep lists: %s", got)
	}
	long := column1(t, arrow.BinaryTypes.String, `["`+strings.Repeat("é", 5000)+`"]`)
	if got := cellText(long, 0); got != strings.Repeat("é", cellRunes)+"…" {
		t.Errorf("long text: %d bytes", len(got))
	}
}

func TestMediaCells(t *testing.T) {
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, image.NewGray(image.Rect(0, 0, 224, 100)), nil); err != nil {
		t.Fatal(err)
	}
	b := array.NewBinaryBuilder(memory.NewGoAllocator(), arrow.BinaryTypes.Binary)
	b.Append(jpg.Bytes())
	b.Append([]byte("not an image"))
	b.AppendNull()
	images := array.NewExtensionArrayWithStorage(block.Image, b.NewArray())
	for i, want := range []string{"JPEG 224x100 " + size(int64(jpg.Len())), "image 12 B", "null"} {
		if got := cellText(images, i); got != want {
			t.Errorf("image %d: %q, want %q", i, got, want)
		}
	}
	px := column1(t, block.PixelsStorage, `[{"data": "AAAA", "height": 2, "width": 3, "channels": 1, "dtype": "uint8"}]`)
	if got := cellText(array.NewExtensionArrayWithStorage(block.Pixels, px), 0); got != "pixels 3x2x1" {
		t.Errorf("pixels: %q", got)
	}
}

func FuzzImageText(f *testing.F) {
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Add([]byte("II*\x00\x08\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if imageText(data) == "" {
			t.Error("a picture without text")
		}
	})
}
