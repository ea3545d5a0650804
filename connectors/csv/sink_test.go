package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/csv"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

var sinkSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "two\nlines", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// sinkRows makes n rows from row number first on; every seventh text is null.
func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	ids, texts := array.NewInt64Builder(mem), array.NewStringBuilder(mem)
	defer ids.Release()
	defer texts.Release()
	for i := first; i < first+n; i++ {
		ids.Append(int64(i))
		if i%7 == 0 {
			texts.AppendNull()
		} else {
			texts.Append(fmt.Sprintf("row \"%d\",\n", i))
		}
	}
	cols := []arrow.Array{ids.NewArray(), texts.NewArray()}
	defer cols[0].Release()
	defer cols[1].Release()
	return block.FromColumns(sinkSchema, cols, n)
}

// TestSinkConformance reads the files with encoding/csv.
func TestSinkConformance(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			f, err := csv.NewFormat(csv.WriteOptions{Compression: compression})
			if err != nil {
				t.Fatal(err)
			}
			connectortest.RunSink(t, connectortest.SinkConfig{
				Format: f, Schema: sinkSchema, Rows: sinkRows,
				Read: func(path string) ([]string, error) { return readStd(path, strings.TrimPrefix(compression, "none")) },
				Text: func(row int) string {
					if row%7 == 0 {
						return fmt.Sprintf("%d|", row)
					}
					return fmt.Sprintf("%d|row \"%d\",\n", row, row)
				},
				Bad: arrow.NewSchema([]arrow.Field{{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)}}, nil),
			})
		})
	}
}

// readStd reads a file of sinkSchema; its header must come once, at the start.
func readStd(path, compression string) (rows []string, err error) {
	h, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	r, err := file.Decompress(h, compression)
	if err != nil {
		return nil, err
	}
	all, err := stdcsv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(all) == 0 || all[0][1] != "two\nlines" {
		return nil, fmt.Errorf("the file has no header")
	}
	for _, rec := range all[1:] {
		rows = append(rows, strings.Join(rec, "|"))
	}
	return rows, nil
}

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

// encode writes columns as a file.
func encode(tb testing.TB, f *csv.Format, names []string, cols ...arrow.Array) (string, []string) {
	tb.Helper()
	var fields []arrow.Field
	for i, c := range cols {
		fields = append(fields, arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	b := block.New(block.FromColumns(schema, cols, cols[0].Len()), block.Identity{})
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

func TestEncodeTypes(t *testing.T) {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for _, c := range []struct {
		name string
		dt   arrow.DataType
		in   string
		want string
	}{
		{"null", arrow.Null, `[null]`, "|"},
		{"bool", arrow.FixedWidthTypes.Boolean, `[true, false, null]`, "true|false||"},
		{"int64", arrow.PrimitiveTypes.Int64, `[-9223372036854775808, 7, null]`, "-9223372036854775808|7||"},
		{"uint64", arrow.PrimitiveTypes.Uint64, `[18446744073709551615]`, "18446744073709551615|"},
		{"float64", arrow.PrimitiveTypes.Float64, `[1, 0.1, 1e300, 1e-7]`, "1.0|0.1|1e+300|1e-07|"},
		{"float32", arrow.PrimitiveTypes.Float32, `[0.1, 3]`, "0.1|3.0|"},
		{"float16", arrow.FixedWidthTypes.Float16, `[0.5]`, "0.5|"},
		{"string", arrow.BinaryTypes.String, `["a\"b", "", null, "a,b", " x", "x\r", "ü", "NA"]`, "\"a\"\"b\"|\"\"||\"a,b\"|\" x\"|\"x\r\"|ü|NA|"},
		{"binary", arrow.BinaryTypes.Binary, `["AP8=", "", null]`, `AP8=|""||`},
		{"fixed binary", &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["AP8="]`, "AP8=|"},
		{"date", arrow.FixedWidthTypes.Date32, `["2024-02-29"]`, "2024-02-29|"},
		{"timestamp", utc, `["2023-11-14 22:13:20.123456Z"]`, "2023-11-14T22:13:20.123456Z|"},
		{"zoned timestamp", &arrow.TimestampType{Unit: arrow.Second, TimeZone: "+02:00"}, `["2023-11-14 22:13:20Z"]`, "2023-11-15T00:13:20+02:00|"},
		{"time", arrow.FixedWidthTypes.Time64us, `["12:30:01.5"]`, "12:30:01.500000|"},
		{"decimal", &arrow.Decimal128Type{Precision: 38, Scale: 2}, `["-12345678901234567890.12"]`, "-12345678901234567890.12|"},
		{"dictionary", &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["a", null, "b,"]`, `a||"b,"|`},
		{"image", block.Image, `["AP8="]`, "AP8=|"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			a := column(t, mem, c.dt, c.in)
			defer a.Release()
			ones := column(t, mem, arrow.PrimitiveTypes.Int8, "["+strings.TrimSuffix(strings.Repeat("1,", a.Len()), ",")+"]")
			defer ones.Release()
			f, err := csv.NewFormat(csv.WriteOptions{Header: new(false)})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := encode(t, f, []string{"x", "one"}, a, ones)
			if want := strings.ReplaceAll(c.want, "|", ",1\n"); got != want {
				t.Errorf("got\n%s want\n%s", got, want)
			}
		})
	}
}

// TestEncodeAlone: a file of one column has no lines that readers take for empty ones.
func TestEncodeAlone(t *testing.T) {
	a := column(t, memory.DefaultAllocator, arrow.PrimitiveTypes.Float64, `[1, null, 2.5]`)
	defer a.Release()
	f, err := csv.NewFormat(csv.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, warnings := encode(t, f, []string{"x"}, a)
	if got != "x\n1.0\n\"\"\n2.5\n" || len(warnings) != 1 || !strings.Contains(warnings[0], "null=NA") {
		t.Errorf("got %q, warnings %q", got, warnings)
	}
	if f, err = csv.NewFormat(csv.WriteOptions{Null: "NA", Delim: "tab"}); err != nil {
		t.Fatal(err)
	}
	if got, warnings := encode(t, f, []string{"x"}, a); got != "x\n1.0\nNA\n2.5\n" || warnings != nil {
		t.Errorf("got %q, warnings %q", got, warnings)
	}
}

func TestEncodeOddities(t *testing.T) {
	fb := array.NewFloat64Builder(memory.DefaultAllocator)
	fb.AppendValues([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}, nil)
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	sb.AppendValues([]string{"a\xffb", `\.`, "NA"}, nil)
	cols := []arrow.Array{fb.NewArray(), sb.NewArray()}
	defer cols[0].Release()
	defer cols[1].Release()
	f, err := csv.NewFormat(csv.WriteOptions{Null: "NA", Delim: ";"})
	if err != nil {
		t.Fatal(err)
	}
	got, warnings := encode(t, f, []string{"f", "s;"}, cols...)
	if want := "f;\"s;\"\nnan;a\ufffdb\ninf;\"\\.\"\n-inf;\"NA\"\n"; got != want || len(warnings) != 1 {
		t.Errorf("got %q, want %q, warnings %q", got, want, warnings)
	}
}

func TestFormatRefuses(t *testing.T) {
	for _, c := range []struct {
		opt  csv.WriteOptions
		want string
	}{{csv.WriteOptions{Compression: "lzma"}, "gzip, zstd, bzip2, xz, lz4 or none"}, {csv.WriteOptions{Null: "0"}, "spelled like a value"},
		{csv.WriteOptions{Null: "a,b"}, "no quote, delimiter or line end"}, {csv.WriteOptions{Delim: "ab"}, "one ASCII character"}} {
		if _, err := csv.NewFormat(c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
	f, err := csv.NewFormat(csv.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dt   arrow.DataType
		want string
	}{{arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int8}), "is nested, and CSV is flat"}, {block.Pixels, "encode it first"},
		{arrow.FixedWidthTypes.MonthInterval, "cast it"}} {
		err := f.Check(arrow.NewSchema([]arrow.Field{{Name: "odd", Type: c.dt}}, nil))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `column "odd"`) {
			t.Errorf("%s: %v", c.dt, err)
		}
	}
	two := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}, {Name: "a", Type: arrow.PrimitiveTypes.Int8}}, nil)
	if err := f.Check(two); err == nil || !strings.Contains(err.Error(), `two columns are named "a"`) {
		t.Error(err)
	}
}

// TestRoundTrip reads what was written, null and empty text included.
func TestRoundTrip(t *testing.T) {
	mem := memory.DefaultAllocator
	cols := []arrow.Array{
		column(t, mem, arrow.PrimitiveTypes.Int64, `[1, null, -3]`),
		column(t, mem, arrow.BinaryTypes.String, `["a\n\"b\",", "", null]`),
		column(t, mem, arrow.PrimitiveTypes.Float64, `[1, 1e-300, null]`),
		column(t, mem, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, `["2023-11-14 22:13:20.123456789Z", null, "1969-01-01 00:00:00Z"]`),
		column(t, mem, arrow.FixedWidthTypes.Date32, `["2024-02-29", null, "0001-01-01"]`),
		column(t, mem, arrow.FixedWidthTypes.Boolean, `[true, null, false]`),
	}
	names := []string{"i", "s", "f", "at", "d", "b"}
	f, err := csv.NewFormat(csv.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := encode(t, f, names, cols...)
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.csv": text})
	src := open(t, file.Local{}, dir, csv.Options{}, 0)
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rt := connectortest.NewRuntime(t)
	r, err := src.Open(t.Context(), rt, connectortest.Splits(t, src, dataset.Cursor{})[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range cols {
		if !arrow.TypeEqual(schema.Field(i).Type, want.DataType()) {
			t.Errorf("column %s is %s, want %s", names[i], schema.Field(i).Type, want.DataType())
		} else if !array.Equal(b.Column(i), want) {
			t.Errorf("column %s is %v, want %v", names[i], b.Column(i), want)
		}
		want.Release()
	}
	b.Release()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}
