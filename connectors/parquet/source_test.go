package parquet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
)

// put writes a file of rows made from JSON.
func put(tb testing.TB, dir, name string, s *arrow.Schema, rows string, opts WriteOptions) {
	tb.Helper()
	b, _, err := array.RecordFromJSON(memory.NewGoAllocator(), s, strings.NewReader(rows))
	if err != nil {
		tb.Fatal(err)
	}
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(p, ourWrite(tb, b, opts), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func openDir(tb testing.TB, fs file.FS, dir string, opt Options, splitBytes int64) *Source {
	tb.Helper()
	src, err := NewSource(file.NewSet(fs, []dataset.Pattern{{Text: dir}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(splitBytes)
}

func fields(namesAndTypes ...any) *arrow.Schema {
	var f []arrow.Field
	for i := 0; i < len(namesAndTypes); i += 2 {
		f = append(f, arrow.Field{Name: namesAndTypes[i].(string), Type: namesAndTypes[i+1].(arrow.DataType), Nullable: true})
	}
	return arrow.NewSchema(f, nil)
}

func manyRows(n int) string {
	var s strings.Builder
	s.WriteByte('[')
	for i := range n {
		if i > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, `{"id": %d, "name": "row %d", "tags": ["a", "b%d"]}`, i, i%13, i%3)
	}
	return s.String() + "]"
}

func TestConformance(t *testing.T) {
	s := fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String, "tags", arrow.ListOf(arrow.BinaryTypes.String))
	dir := t.TempDir()
	put(t, dir, "a/one.parquet", s, manyRows(150), WriteOptions{RowGroupRows: 40})
	put(t, dir, "a/two.parquet", s, manyRows(3), WriteOptions{})
	put(t, dir, "b.parquet", fields("id", arrow.PrimitiveTypes.Int32, "extra", arrow.PrimitiveTypes.Float64), `[{"id": 1, "extra": 2}, {"id": null}]`, WriteOptions{})
	put(t, dir, "c/empty.parquet", s, `[]`, WriteOptions{})
	put(t, dir, "d.parquet", s, manyRows(40), WriteOptions{RowGroupRows: 7})
	for _, size := range []int64{1 << 20, 500} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return openDir(tb, fs, dir, Options{}, size) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return openDir(tb, file.Local{}, dir, Options{}, 1) },
				func(tb testing.TB) dataset.Source { return openDir(tb, file.Local{}, dir, Options{}, 3000) },
			},
			Rows: 150 + 3 + 2 + 40,
		})
	}
}

// drain reads all rows of a source or returns the first error.
func drain(t *testing.T, src dataset.Source) (rows []connectortest.Row, err error) {
	t.Helper()
	for s, err := range src.Splits(t.Context(), dataset.Cursor{}) {
		if err != nil {
			return rows, err
		}
		for i := range s.Ranges {
			s.Ranges[i].ID = &block.File{Path: s.Ranges[i].File.Path}
		}
		got, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), s, 0)
		rows = append(rows, got...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func TestPinnedTypes(t *testing.T) {
	i32, i64, f64 := arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64
	dict := &arrow.DictionaryType{IndexType: i32, ValueType: arrow.BinaryTypes.String}
	cases := []struct {
		name          string
		first, second arrow.DataType
		rows          string
		pinned        arrow.DataType
		want          string // of the error, when there is one
	}{
		{"wider later", i32, i64, `[{"x": 5}]`, i64, ""},
		{"wider first", i64, i32, `[{"x": 5}]`, i64, ""},
		{"integers and floats", i32, f64, `[{"x": 5}]`, f64, ""},
		{"unsigned", arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16, `[{"x": 5}]`, arrow.PrimitiveTypes.Int16, ""},
		{"dictionary", arrow.BinaryTypes.String, dict, `[{"x": "5"}]`, arrow.BinaryTypes.String, ""},
		{"dictionary first", dict, arrow.BinaryTypes.String, `[{"x": "5"}]`, dict, ""},
		{"large", arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, `[{"x": "5"}]`, arrow.BinaryTypes.String, ""},
		{"lossy", i64, f64, `[{"x": 5}]`, nil, `column "x" has type float64, which does not widen safely to int64`},
		{"text", i64, arrow.BinaryTypes.String, `[{"x": "5"}]`, nil, `b.parquet: column "x" has type utf8`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			rows := func(dt arrow.DataType) string {
				if dt.ID() == arrow.STRING || dt.ID() == arrow.DICTIONARY || dt.ID() == arrow.LARGE_STRING {
					return `[{"x": "5"}]`
				}
				return `[{"x": 5}]`
			}
			put(t, dir, "a.parquet", fields("x", c.first), rows(c.first), WriteOptions{})
			put(t, dir, "b.parquet", fields("x", c.second), rows(c.second), WriteOptions{})
			src := openDir(t, file.Local{}, dir, Options{}, 0)
			s, err := src.Schema(t.Context())
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("error %v, want %q", err, c.want)
				}
				if _, ok := errors.AsType[*TypeError](err); !ok {
					t.Fatalf("%T is no TypeError", err)
				}
				return
			}
			if err != nil || !arrow.TypeEqual(s.Field(0).Type, c.pinned) {
				t.Fatalf("pinned %v, %v, want %s", s, err, c.pinned)
			}
			got, err := drain(t, src)
			if err != nil || len(got) != 2 || got[0].Values != got[1].Values {
				t.Fatalf("read %v, %v", got, err)
			}
		})
	}
}

// TestTypeBeyondSample meets another type in a file that the sample left out.
func TestTypeBeyondSample(t *testing.T) {
	dir := t.TempDir()
	for i := range sampledFiles {
		put(t, dir, fmt.Sprintf("a%d.parquet", i), fields("x", arrow.PrimitiveTypes.Int64), `[{"x": 5}]`, WriteOptions{})
	}
	put(t, dir, "b.parquet", fields("x", arrow.BinaryTypes.String), `[{"x": "5"}]`, WriteOptions{})
	_, err := drain(t, openDir(t, file.Local{}, dir, Options{}, 1))
	te, ok := errors.AsType[*TypeError](err)
	if !ok || te.Column != "x" || !strings.HasSuffix(te.Path, "b.parquet") {
		t.Fatalf("error %v", err)
	}
}

func TestPruning(t *testing.T) {
	dir := t.TempDir()
	s := fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String, "tags", arrow.ListOf(arrow.BinaryTypes.String))
	put(t, dir, "a.parquet", s, manyRows(400), WriteOptions{RowGroupRows: 100})
	for _, c := range []struct {
		text string
		rows int
	}{
		{"id >= 350", 50}, {"id < 100 or id == 250", 101}, {"id == nil", 0}, {"id > 1000", 0}, {`name == "zzz"`, 0}, {`name == "row 5"`, 355}, {"id != nil", 400},
	} {
		e, err := expr.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := drain(t, openDir(t, file.Local{}, dir, Options{}, 1).Prune(e))
		if err != nil || len(rows) != c.rows {
			t.Errorf("%s: %d rows read, want %d (%v)", c.text, len(rows), c.rows, err)
		}
	}
}

func TestWithPath(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a.parquet", fields("x", arrow.PrimitiveTypes.Int64), `[{"x": 5}]`, WriteOptions{})
	rows, err := drain(t, openDir(t, file.Local{}, dir, Options{WithPath: true}, 0))
	if err != nil || len(rows) != 1 || !strings.Contains(rows[0].Values, filepath.Join(dir, "a.parquet")) {
		t.Fatalf("%v, %v", rows, err)
	}
	put(t, dir, "b.parquet", fields("path", arrow.BinaryTypes.String), `[]`, WriteOptions{})
	src, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: filepath.Join(dir, "b.parquet")}}), Options{WithPath: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := src.Schema(t.Context()); err == nil || !strings.Contains(err.Error(), `adds the column "path"`) {
		t.Fatalf("error %v", err)
	}
	if _, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: "-"}}), Options{}); err == nil {
		t.Fatal("standard input was accepted")
	}
}

// TestProjectionTouchesOnlyItsPages counts the bytes read of a file.
func TestProjectionTouchesOnlyItsPages(t *testing.T) {
	batch := benchBatch("ints", "doubles", "text")
	b := ourWrite(t, batch, WriteOptions{Compression: "none"})
	r := &countingReader{b: b}
	f, err := Open(r, int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := f.RowGroupBytes(0, []string{"ints"})
	r.n = 0
	rd, err := f.Read(0, ReadOptions{Columns: []string{"ints"}, Allocator: memory.NewGoAllocator()})
	if err != nil {
		t.Fatal(err)
	}
	for {
		rec, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	if r.n != want {
		t.Fatalf("read %d bytes for a column of %d in a file of %d", r.n, want, len(b))
	}
}

type countingReader struct {
	b []byte
	n int64
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.n += int64(len(p))
	n := copy(p, c.b[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestMissingNullType reads a file that lacks columns whose types have a null type inside, which Arrow's own maker of nulls panics on.
func TestMissingNullType(t *testing.T) {
	dir := t.TempDir()
	s := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.Null, Nullable: true})
	full := fields("id", arrow.PrimitiveTypes.Int64, "l", arrow.ListOf(arrow.Null), "s", s, "f", arrow.FixedSizeListOf(2, s))
	put(t, dir, "a.parquet", full, `[{"id": 1, "l": [null, null], "s": {"x": null}, "f": [null, {"x": null}]}, {"id": 2}]`, WriteOptions{})
	put(t, dir, "b.parquet", fields("id", arrow.PrimitiveTypes.Int64), `[{"id": 3}]`, WriteOptions{})
	rows, err := drain(t, openDir(t, file.Local{}, dir, Options{}, 0))
	if err != nil || len(rows) != 3 {
		t.Fatal(rows, err)
	}
	none := "\nl=null\ns=null\nf=null\n"
	for i, want := range []string{`id="1"` + "\n" + `l="[null,null]"` + "\n" + `s="{\"x\":null}"` + "\n" + `f="[null,{\"x\":null}]"` + "\n", `id="2"` + none, `id="3"` + none} {
		if got := rows[i].Values; got != want {
			t.Errorf("row %d is %s, want %s", i, got, want)
		}
	}
}
