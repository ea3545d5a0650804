package jsonl_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// column makes one column from arrow's own JSON form.
func column(tb testing.TB, mem memory.Allocator, dt arrow.DataType, text string) arrow.Array {
	tb.Helper()
	storage := dt
	ext, isExt := dt.(arrow.ExtensionType)
	if isExt {
		storage = ext.StorageType()
	}
	a, _, err := array.FromJSON(mem, storage, strings.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	if !isExt {
		return a
	}
	defer a.Release()
	return array.NewExtensionArrayWithStorage(ext, a)
}

// encode writes one column as lines.
func encode(tb testing.TB, f *jsonl.Format, name string, a arrow.Array) (string, []string) {
	tb.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: a.DataType(), Nullable: true}}, nil)
	b := block.New(block.FromColumns(schema, []arrow.Array{a}, a.Len()), block.Identity{})
	defer b.Release()
	var out bytes.Buffer
	e, err := f.NewEncoder(&out, schema, memory.DefaultAllocator, 1)
	if err != nil {
		tb.Fatal(err)
	}
	if err := e.Write(tb.Context(), b); err != nil {
		tb.Fatal(err)
	}
	if err := e.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if e.Written() != int64(out.Len()) {
		tb.Fatalf("Written says %d, the file has %d bytes", e.Written(), out.Len())
	}
	var warnings []string
	e.(file.Warner).Warnings(func(class, example string) { warnings = append(warnings, class+": "+example) })
	return out.String(), warnings
}

func plain(tb testing.TB) *jsonl.Format {
	f, err := jsonl.NewFormat(jsonl.WriteOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestEncodeTypes(t *testing.T) {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for _, c := range []struct {
		name string
		dt   arrow.DataType
		in   string
		want []string
	}{
		{"null", arrow.Null, `[null]`, []string{`null`}},
		{"bool", arrow.FixedWidthTypes.Boolean, `[true, false, null]`, []string{`true`, `false`, `null`}},
		{"int64", arrow.PrimitiveTypes.Int64, `[-9223372036854775808, 7, null]`, []string{`-9223372036854775808`, `7`, `null`}},
		{"uint64", arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, []string{`18446744073709551615`}},
		{"float64", arrow.PrimitiveTypes.Float64, `[1, 0.1, 1e300, 1e-7, -0.0]`, []string{`1.0`, `0.1`, `1e+300`, `1e-07`, `-0.0`}},
		{"float32", arrow.PrimitiveTypes.Float32, `[0.1, 3]`, []string{`0.1`, `3.0`}},
		{"float16", arrow.FixedWidthTypes.Float16, `[0.5]`, []string{`0.5`}},
		{"string", arrow.BinaryTypes.String, `["a\"b\\\n\u0001ü", ""]`, []string{`"a\"b\\\n\u0001ü"`, `""`}},
		{"large string", arrow.BinaryTypes.LargeString, `["x", null]`, []string{`"x"`, `null`}},
		{"binary", arrow.BinaryTypes.Binary, `["AP8=", ""]`, []string{`"AP8="`, `""`}},
		{"fixed binary", &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AP8="]`, []string{`"AP8="`}},
		{"date", arrow.FixedWidthTypes.Date32, `["2024-02-29"]`, []string{`"2024-02-29"`}},
		{"timestamp", utc, `["2023-11-14 22:13:20.123456Z"]`, []string{`"2023-11-14T22:13:20.123456Z"`}},
		{"zoned timestamp", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+02:00"}, `["2023-11-14 22:13:20Z"]`, []string{`"2023-11-15T00:13:20+02:00"`}},
		{"naive timestamp", &arrow.TimestampType{Unit: arrow.Second}, `["2023-11-14 22:13:20"]`, []string{`"2023-11-14T22:13:20Z"`}},
		{"time", arrow.FixedWidthTypes.Time64us, `["12:30:01.5"]`, []string{`"12:30:01.500000"`}},
		{"decimal", &arrow.Decimal128Type{Precision: 38, Scale: 2}, `["-12345678901234567890.12"]`, []string{`"-12345678901234567890.12"`}},
		{"dictionary", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a", null, "b", "a"]`,
			[]string{`"a"`, `null`, `"b"`, `"a"`}},
		{"list", arrow.ListOf(arrow.PrimitiveTypes.Int32), `[[1, null], [], null]`, []string{`[1,null]`, `[]`, `null`}},
		{"fixed list", arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), `[[1, 2.5]]`, []string{`[1.0,2.5]`}},
		{"struct", arrow.StructOf(arrow.Field{Name: "a b", Type: arrow.PrimitiveTypes.Int8, Nullable: true}), `[{"a b": 1}, null, {"a b": null}]`,
			[]string{`{"a b":1}`, `null`, `{"a b":null}`}},
		{"map", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8), `[[{"key": "k", "value": 1}], []]`, []string{`{"k":1}`, `{}`}},
		{"map of numbers", arrow.MapOf(arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int8), `[[{"key": 5, "value": 1}]]`, []string{`[{"key":5,"value":1}]`}},
		{"image", block.Image, `["AP8="]`, []string{`"AP8="`}},
		{"pixels", block.Pixels, `[{"data": "AAAA", "height": 1, "width": 2, "channels": 3, "dtype": "uint8"}, null]`,
			[]string{`{"width":2,"height":1,"channels":3}`, `null`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			a := column(t, mem, c.dt, c.in)
			defer a.Release()
			want := ""
			for _, w := range c.want {
				want += `{"x":` + w + "}\n"
			}
			if got, _ := encode(t, plain(t), "x", a); got != want {
				t.Errorf("got\n%s want\n%s", got, want)
			}
			if a.Len() < 2 {
				return
			}
			rest := array.NewSlice(a, 1, int64(a.Len()))
			defer rest.Release()
			if got, _ := encode(t, plain(t), "x", rest); got != want[strings.IndexByte(want, '\n')+1:] {
				t.Errorf("sliced: got\n%s", got)
			}
		})
	}
}

func TestEncodeNaN(t *testing.T) {
	b := array.NewFloat64Builder(memory.DefaultAllocator)
	b.AppendValues([]float64{math.NaN(), 1, math.Inf(-1)}, nil)
	a := b.NewArray()
	defer a.Release()
	got, warnings := encode(t, plain(t), "x", a)
	if got != "{\"x\":null}\n{\"x\":1.0}\n{\"x\":null}\n" {
		t.Errorf("got %s", got)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "NaN and infinity written as null: 2 values") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestEncodeInvalidUTF8(t *testing.T) {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append("a\xffb\xf0")
	a := b.NewArray()
	defer a.Release()
	got, warnings := encode(t, plain(t), "x", a)
	if got != "{\"x\":\"a\ufffdb\ufffd\"}\n" || len(warnings) != 1 {
		t.Errorf("got %q, warnings %q", got, warnings)
	}
}

func TestFormatRefuses(t *testing.T) {
	two := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}, {Name: "a", Type: arrow.PrimitiveTypes.Int8}}, nil)
	if err := plain(t).Check(two); err == nil || !strings.Contains(err.Error(), `two columns are named "a"`) {
		t.Error(err)
	}
	union := arrow.SparseUnionOf([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})
	odd := arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.ListOf(union)}}, nil)
	if err := plain(t).Check(odd); err == nil || !strings.Contains(err.Error(), `column "u"`) {
		t.Error(err)
	}
	if _, err := jsonl.NewFormat(jsonl.WriteOptions{Compression: "lzma"}); err == nil || !strings.Contains(err.Error(), "gzip, zstd, bzip2, xz, lz4 or none") {
		t.Error(err)
	}
}

// TestJoin: files of each compression, joined, read as one.
func TestJoin(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "zstd"} {
		f, err := jsonl.NewFormat(jsonl.WriteOptions{Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		var parts []dataset.JoinPart
		for _, in := range []string{`["a", "b"]`, `["c"]`} {
			a := column(t, memory.DefaultAllocator, arrow.BinaryTypes.String, in)
			defer a.Release()
			text, _ := encode(t, f, "x", a)
			parts = append(parts, dataset.JoinPart{ReaderAt: strings.NewReader(text), Size: int64(len(text))})
		}
		var out bytes.Buffer
		if err := f.Join(t.Context(), &out, parts); err != nil {
			t.Fatal(err)
		}
		name := map[string]string{"none": "", "gzip": "gzip", "zstd": "zstd"}[compression]
		r, err := file.Decompress(&out, name)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := got.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if want := "{\"x\":\"a\"}\n{\"x\":\"b\"}\n{\"x\":\"c\"}\n"; got.String() != want {
			t.Errorf("%s: got %q", compression, got.String())
		}
	}
}

// FuzzEncodeString checks strings against encoding/json's reader.
func FuzzEncodeString(f *testing.F) {
	for _, s := range []string{"", "a", "\x00\x1f\"\\/", "ü\u2028\U0001f600", "\xff\xc3", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := array.NewStringBuilder(memory.DefaultAllocator)
		b.Append(s)
		a := b.NewArray()
		defer a.Release()
		line, _ := encode(t, plain(t), s, a)
		if strings.Count(line, "\n") != 1 {
			t.Fatalf("%q is more than one line", line)
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := strings.ToValidUTF8(s, "\ufffd")
		for k, v := range got {
			if strings.ToValidUTF8(k, "") != k || !sameRunes(v, s) {
				t.Fatalf("%q reads back as %q, want %q", s, v, want)
			}
		}
	})
}

// sameRunes compares after replacing each invalid byte.
func sameRunes(got, in string) bool { return got == string([]rune(in)) }

func BenchmarkEncode(b *testing.B) {
	const n = 20000
	mem := memory.NewGoAllocator()
	ib, fb, sb := array.NewInt64Builder(mem), array.NewFloat64Builder(mem), array.NewStringBuilder(mem)
	for i := range n {
		ib.Append(int64(i) * 77)
		fb.Append(float64(i) / 7)
		sb.Append("the quick brown fox jumps over the lazy dog and keeps the gold")
	}
	cols := []arrow.Array{ib.NewArray(), fb.NewArray(), sb.NewArray()}
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: cols[0].DataType()}, {Name: "score", Type: cols[1].DataType()}, {Name: "text", Type: cols[2].DataType()}}, nil)
	blk := block.New(block.FromColumns(schema, cols, n), block.Identity{})
	defer blk.Release()
	var out bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		e, err := plain(b).NewEncoder(&out, schema, mem, 1)
		if err != nil {
			b.Fatal(err)
		}
		if err := e.Write(b.Context(), blk); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(out.Len()))
}
