package parquet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"

	"github.com/sluice-data/sluice/connectors/parquet/internal/read"
	"github.com/sluice-data/sluice/dataset/expr"
)

// TestSpansOfEncodings passes over values of every encoding that is read.
func TestSpansOfEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i, raw := range append(oracleSeeds(t), smallFile(t)) {
		f, err := Open(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		for range 30 {
			for g := range f.NumRowGroups() {
				all := readSpans(t, f, g, []rowRange{{0, f.RowGroupRows(g)}})
				var ranges []rowRange
				for at := int64(rng.IntN(20)); at < f.RowGroupRows(g); at += 1 + int64(rng.IntN(40)) {
					end := min(at+1+int64(rng.IntN(30)), f.RowGroupRows(g))
					ranges = append(ranges, rowRange{at, end})
					at = end
				}
				got := readSpans(t, f, g, ranges)
				at := int64(0)
				for _, x := range ranges {
					n := x.to - x.from
					for c := range int(all.NumCols()) {
						if !array.SliceEqual(all.Column(c), x.from, x.to, got.Column(c), at, at+n) {
							t.Fatalf("file %d, row group %d, column %s: rows %d to %d differ", i, g, all.ColumnName(c), x.from, x.to)
						}
					}
					at += n
				}
			}
		}
	}
}

// readSpans reads ranges of a row group as one batch.
func readSpans(t *testing.T, f *File, g int, ranges []rowRange) arrow.RecordBatch {
	t.Helper()
	r, err := f.Read(g, ReadOptions{Allocator: memory.DefaultAllocator, pushed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	at := int64(0)
	for _, x := range ranges {
		r.push(read.Span{Skip: x.from - at, Take: x.to - x.from})
		at = x.to
	}
	cols := make([][]arrow.Array, r.Schema().NumFields())
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		for i := range cols {
			cols[i] = append(cols[i], rec.Column(i))
		}
	}
	out := make([]arrow.Array, len(cols))
	for i := range cols {
		if len(cols[i]) == 0 {
			return array.NewRecordBatch(r.Schema(), nil, 0)
		}
		if out[i], err = array.Concatenate(cols[i], memory.DefaultAllocator); err != nil {
			t.Fatal(err)
		}
	}
	return array.NewRecordBatch(r.Schema(), out, int64(out[0].Len()))
}

// FuzzFilter asks damaged page indexes and Bloom filters, and passes over rows of damaged pages.
func FuzzFilter(f *testing.F) {
	s := fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range 60 {
		rb.Field(0).(*array.Int64Builder).Append(int64(i))
		rb.Field(1).(*array.StringBuilder).Append(fmt.Sprint("name ", i%7))
	}
	f.Add(pqWrite(f, rb.NewRecordBatch(), apq.NewWriterProperties(apq.WithPageIndexEnabled(true), apq.WithBloomFilterEnabled(true),
		apq.WithDataPageSize(100), apq.WithBatchSize(20), apq.WithDictionaryFor("id", false))), uint16(20), uint16(30))
	for _, seed := range fuzzSeeds(f) {
		f.Add(seed, uint16(7), uint16(12))
	}
	pred, err := expr.Parse(`id == 20 || name in ["name 3", "x"] || i32 > 5 || text == "a"`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte, skip, take uint16) {
		file, err := Open(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			return
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		for g := range min(file.NumRowGroups(), 4) {
			file.bloomExcludes(g, pred, func(string) {})
			ranges, all, kept := file.pageRanges(g, pred, func(string) {})
			last := int64(0)
			for _, x := range ranges {
				if x.from < last || x.to <= x.from || x.to > file.RowGroupRows(g) || kept > all {
					t.Fatalf("ranges %v of %d rows", ranges, file.RowGroupRows(g))
				}
				last = x.to
			}
			from := min(int64(skip), file.RowGroupRows(g))
			to := min(from+int64(take), file.RowGroupRows(g))
			if from == to {
				continue
			}
			r, err := file.Read(g, ReadOptions{Allocator: &capped{Allocator: mem, t: t, limit: 1 << 30}, BatchRows: 1000, BatchBytes: 1 << 16, pushed: true})
			if err != nil {
				continue
			}
			r.push(read.Span{Skip: from, Take: to - from})
			for range 20 {
				rec, err := r.Next()
				if err != nil {
					break
				}
				rec.Release()
			}
			r.Close()
		}
		mem.AssertSize(t, 0)
	})
}

// BenchmarkFilter reads a file under filters that leave a thousandth of the rows, together and scattered.
func BenchmarkFilter(b *testing.B) {
	raw := spanFile(b, 400_000)
	for _, c := range []struct {
		name string
		rows []rowRange
	}{
		{"all", []rowRange{{0, 400_000}}},
		{"together", []rowRange{{200_000, 200_400}}},
		{"scattered", scattered(400_000, 1000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			f, err := Open(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				r, err := f.Read(0, ReadOptions{Allocator: benchAllocator, pushed: true})
				if err != nil {
					b.Fatal(err)
				}
				at := int64(0)
				for _, x := range c.rows {
					r.push(read.Span{Skip: x.from - at, Take: x.to - x.from})
					at = x.to
				}
				for {
					rec, err := r.Next()
					if err != nil {
						break
					}
					rec.Release()
				}
				r.Close()
			}
		})
	}
}

func scattered(rows, every int64) (out []rowRange) {
	for at := every / 2; at < rows; at += every {
		out = append(out, rowRange{at, at + 1})
	}
	return out
}

func spanFile(b *testing.B, rows int) []byte {
	s := fields("id", arrow.PrimitiveTypes.Int64, "text", arrow.BinaryTypes.String, "word", arrow.BinaryTypes.String)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for i := range rows {
		rb.Field(0).(*array.Int64Builder).Append(int64(i) * 7919 % 1000003)
		rb.Field(1).(*array.StringBuilder).Append(fmt.Sprint("some text of row number ", i*31%77777))
		rb.Field(2).(*array.StringBuilder).Append(fmt.Sprint("word ", i%100))
	}
	return ourWrite(b, rb.NewRecordBatch(), WriteOptions{})
}
