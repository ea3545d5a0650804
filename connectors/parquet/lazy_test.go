package parquet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/parquet/internal/read"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

// TestSpans reads stretches of rows of random tables, of pages of both versions and all encodings, and compares them with what whole
// reading gives.
func TestSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		if b.NumRows() == 0 || b.NumCols() == 0 {
			return
		}
		file := pqWrite(t, b, apq.NewWriterProperties(
			apq.WithDataPageVersion(rapid.SampledFrom([]apq.DataPageVersion{apq.DataPageV1, apq.DataPageV2}).Draw(t, "version")),
			apq.WithDictionaryDefault(rapid.Bool().Draw(t, "dictionary")), apq.WithDataPageSize(100), apq.WithBatchSize(9)))
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		r, err := f.Read(0, ReadOptions{Allocator: mem, BatchRows: rapid.IntRange(1, 40).Draw(t, "batch"), pushed: true})
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		var want, got []arrow.RecordBatch
		last, end := int64(0), b.NumRows()
		for at := int64(0); at < end; {
			at += rapid.Int64Range(0, end-at).Draw(t, "skip")
			take := rapid.Int64Range(0, end-at).Draw(t, "take")
			if take > 0 {
				r.push(read.Span{Skip: at - last, Take: take})
				want = append(want, b.NewSlice(at, at+take))
				last = at + take
			}
			at += take + 1
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			got = append(got, rec)
		}
		r.Close()
		if n := rowsOfAll(got); n != rowsOfAll(want) {
			t.Fatalf("%d rows, want %d", n, rowsOfAll(want))
		}
		if len(want) > 0 {
			table := array.NewTableFromRecords(r.Schema(), got)
			sameRows(t, array.NewTableFromRecords(b.Schema(), want), table)
			table.Release()
		}
		for _, rec := range got {
			rec.Release()
		}
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("%d bytes are left", n)
		}
	})
}

func rowsOfAll(recs []arrow.RecordBatch) (n int64) {
	for _, r := range recs {
		n += r.NumRows()
	}
	return n
}

// filterBatch has rows in an order that pages can be told apart by.
func filterBatch(rows int) arrow.RecordBatch {
	s := fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String, "score", arrow.PrimitiveTypes.Float64,
		"maybe", arrow.PrimitiveTypes.Int32, "tags", arrow.ListOf(arrow.BinaryTypes.String))
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range rows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		rb.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("name %06d", i*7%rows))
		rb.Field(2).(*array.Float64Builder).Append(float64(i%100) / 100)
		if i/4000%2 == 0 {
			rb.Field(3).AppendNull()
		} else {
			rb.Field(3).(*array.Int32Builder).Append(int32(i % 10))
		}
		l := rb.Field(4).(*array.ListBuilder)
		l.Append(true)
		for k := range i % 3 {
			l.ValueBuilder().(*array.StringBuilder).Append(fmt.Sprint(i, k))
		}
	}
	return rb.NewRecordBatch()
}

// filterFile writes such rows through another implementation that writes page indexes and Bloom filters.
func filterFile(t *testing.T, rows int, props ...apq.WriterProperty) string {
	t.Helper()
	props = append([]apq.WriterProperty{apq.WithPageIndexEnabled(true), apq.WithDataPageSize(2000), apq.WithBatchSize(100), apq.WithDictionaryDefault(false),
		apq.WithMaxRowGroupLength(int64(rows / 2)), apq.WithCompression(compress.Codecs.Snappy)}, props...)
	path := filepath.Join(t.TempDir(), "f.parquet")
	if err := os.WriteFile(path, pqWrite(t, filterBatch(rows), apq.NewWriterProperties(props...)), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilterRows holds sources under filters against those without: each row that matches must be there, with its identity, and what can be
// passed over must have been.
func TestFilterRows(t *testing.T) {
	const rows = 20_000
	t.Run("theirs", func(t *testing.T) {
		filterRows(t, filterFile(t, rows, apq.WithBloomFilterEnabledFor("name", true)), rows)
	})
	t.Run("ours", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "f.parquet")
		raw := ourWrite(t, filterBatch(rows), WriteOptions{PageBytes: 800, RowGroupRows: rows / 2, Bloom: []string{"name"}})
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
		filterRows(t, path, rows)
	})
}

func filterRows(t *testing.T, path string, rows int) {
	for _, c := range []struct {
		where   string
		most    int    // rows given out at most
		skipped string // part of what the source tells
	}{
		{"id == 12345", 200, "1 of 2 row groups passed over (statistics 1, Bloom filters 0)"},
		{"id >= 3000 && id < 3100 && score < 0.5", 300, "ranges of pages passed over by the page index"},
		{`name == "name 000777"`, 200, ""},
		{`name in ["name 000777", "nobody"]`, 200, ""},
		{`name == "name 000777x"`, 0, "Bloom filters 2"},
		{"maybe == nil", rows, "ranges of pages"},
		{"maybe > 8", rows, "ranges of pages"},
		{"score == 0.5", rows, ""},
		{"score > 2", rows, ""}, // NaN is above all numbers, and statistics leave it out
		{"id % 3 == 0 || name == \"x\"", rows, ""},
		{"id == 5 || id == 19999", 500, "ranges of pages"},
		{"true", rows, ""},
	} {
		t.Run(c.where, func(t *testing.T) {
			pred, err := expr.Parse(c.where)
			if err != nil {
				t.Fatal(err)
			}
			all := connectortest.ReadAll(t, openFile(t, path), connectortest.NewRuntime(t))
			src := openFile(t, path).(dataset.Prunable).Prune(pred)
			got := connectortest.ReadAll(t, src, connectortest.NewRuntime(t))
			if len(got) > c.most {
				t.Errorf("%d rows were given out, want at most %d", len(got), c.most)
			}
			if told := src.(dataset.Skipper).Skipped(); !strings.Contains(told, c.skipped) {
				t.Errorf("told %q, want %q in it", told, c.skipped)
			}
			seen := map[uint64]bool{}
			for _, r := range got {
				if seen[r.Position] || all[r.Position].Values != r.Values {
					t.Fatalf("row %d is there twice or is another one: %v", r.Position, r.Values)
				}
				seen[r.Position] = true
			}
			for _, i := range matching(t, path, pred) {
				if !seen[uint64(i)] {
					t.Fatalf("row %d matches and is not there", i)
				}
			}
		})
	}
}

// matching are the rows of a file that satisfy a predicate, by reading all of them.
func matching(t *testing.T, path string, pred *expr.Expr) (out []int) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	prog, err := expr.Compile(pred, f.Schema())
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for g := range f.NumRowGroups() {
		r, err := f.Read(g, ReadOptions{Allocator: memory.DefaultAllocator})
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			idx, every, _, err := prog.Select(memory.DefaultAllocator, rec, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(rec.NumRows()) {
				if every {
					out = append(out, at+i)
				}
			}
			for _, i := range idx {
				out = append(out, at+int(i))
			}
			at += int(rec.NumRows())
		}
	}
	return out
}

// TestBloomSeesEveryKind asks Bloom filters for values that are there, of every kind that they are asked about.
func TestBloomSeesEveryKind(t *testing.T) {
	s := fields("i8", arrow.PrimitiveTypes.Int8, "u8", arrow.PrimitiveTypes.Uint8, "i32", arrow.PrimitiveTypes.Int32, "u32", arrow.PrimitiveTypes.Uint32,
		"i64", arrow.PrimitiveTypes.Int64, "u64", arrow.PrimitiveTypes.Uint64, "f32", arrow.PrimitiveTypes.Float32, "f64", arrow.PrimitiveTypes.Float64,
		"s", arrow.BinaryTypes.String, "b", arrow.BinaryTypes.Binary)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	row := `{"i8":-5,"u8":250,"i32":-70000,"u32":4000000000,"i64":-5000000000,"u64":9000000000,"f32":0.5,"f64":0.1,"s":"text","b":"AQID"}`
	if err := rb.UnmarshalJSON([]byte(row)); err != nil {
		t.Fatal(err)
	}
	batch := rb.NewRecordBatch()
	raw := pqWrite(t, batch, apq.NewWriterProperties(apq.WithBloomFilterEnabled(true), apq.WithDictionaryDefault(false), apq.WithStats(false)))
	f, err := Open(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	odd := func(msg string) { t.Error(msg) }
	for _, c := range []struct {
		where string
		out   bool
	}{
		{"i8 == -5", false}, {"i8 == 6", true}, {"u8 == 250", false}, {"i32 == -70000", false}, {"i32 == 9", true}, {"u32 == 4000000000", false},
		{"i64 == -5000000000", false}, {"i64 == 1", true}, {"u64 == 9000000000", false}, {"u64 == 8", true}, {"f32 == 0.5", false}, {"f32 == 0.25", true},
		{"f64 == 0.1", false}, {"f64 == 0.2", true}, {"f64 == 0", false}, {`s == "text"`, false}, {`s == "other"`, true}, {`s != "other"`, false},
		{`s in ["a", "text"]`, false}, {`s in ["a", "b"]`, true}, {`s == "other" || i8 == -5`, false}, {`not (s == "other")`, false}, {"i64 == -5000000000.0", false},
	} {
		pred, err := expr.Parse(c.where)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.bloomExcludes(0, pred, odd); got != c.out {
			t.Errorf("%s: excluded %t, want %t", c.where, got, c.out)
		}
	}
}

// TestBrokenIndexes damages page indexes and Bloom filters: they are passed over with a warning, and all rows come.
func TestBrokenIndexes(t *testing.T) {
	path := filterFile(t, 4000, apq.WithBloomFilterEnabledFor("id", true))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for g := range f.NumRowGroups() {
		c := &f.meta.RowGroups[g].Columns[0]
		copy(raw[c.ColumnIndexOffset.V:], bytes.Repeat([]byte{0xFF}, int(c.ColumnIndexLength.V)))
		copy(raw[c.MetaData.V.BloomFilterOffset.V:], bytes.Repeat([]byte{0xFF}, 12))
	}
	if err := os.WriteFile(path, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	pred, err := expr.Parse("id == 1234")
	if err != nil {
		t.Fatal(err)
	}
	rt := connectortest.NewRuntime(t)
	got := connectortest.ReadAll(t, openFile(t, path).(dataset.Prunable).Prune(pred), rt)
	found := false
	for _, r := range got {
		found = found || r.Position == 1234
	}
	if warnings := strings.Join(rt.Warnings(), "\n"); !found || !strings.Contains(warnings, "page index of column id") || !strings.Contains(warnings, "Bloom filter of column id") {
		t.Errorf("row 1234 found: %t, warnings %s", found, warnings)
	}
}

func openFile(t *testing.T, path string) dataset.Source {
	t.Helper()
	src, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: path, Literal: true}}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}
