package parquet

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"pgregory.net/rapid"
)

// ourWrite writes the rows of b in pieces of the given sizes, over and over.
func ourWrite(t fataler, b arrow.RecordBatch, opts WriteOptions, pieces ...int) []byte {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	opts.Allocator = mem
	var buf bytes.Buffer
	w, err := NewWriter(&buf, b.Schema(), opts)
	if err != nil {
		t.Fatalf("new writer: %v", err)
	}
	for lo, i := int64(0), 0; lo < b.NumRows(); i++ {
		hi := b.NumRows()
		if len(pieces) > 0 {
			hi = min(hi, lo+int64(pieces[i%len(pieces)]))
		}
		s := b.NewSlice(lo, hi)
		if err := w.Write(s); err != nil {
			t.Fatalf("write: %v", err)
		}
		s.Release()
		lo = hi
	}
	if err := w.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if w.Written() != int64(buf.Len()) {
		t.Fatalf("Written says %d, the file has %d bytes", w.Written(), buf.Len())
	}
	if w.Rows() != b.NumRows() {
		t.Fatalf("Rows says %d of %d", w.Rows(), b.NumRows())
	}
	if n := mem.CurrentAlloc(); n != 0 {
		t.Fatalf("writer leaks %d bytes", n)
	}
	return buf.Bytes()
}

// pqRead reads with the oracle.
func pqRead(t fataler, b []byte) arrow.Table {
	t.Helper()
	r, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("oracle open: %v", err)
	}
	defer r.Close()
	fr, err := pqarrow.NewFileReader(r, pqarrow.ArrowReadProperties{BatchSize: 1 << 20}, memory.NewGoAllocator())
	if err != nil {
		t.Fatalf("oracle reader: %v", err)
	}
	tbl, err := fr.ReadTable(context.Background())
	if err != nil {
		t.Fatalf("oracle read: %v", err)
	}
	return tbl
}

func drawWriteOptions(t *rapid.T) WriteOptions {
	return WriteOptions{
		Compression:   rapid.SampledFrom([]string{"snappy", "zstd", "gzip", "lz4raw", "none"}).Draw(t, "codec"),
		RowGroupRows:  rapid.SampledFrom([]int64{0, 7, 100}).Draw(t, "group rows"),
		RowGroupBytes: rapid.SampledFrom([]int64{0, 1, 2000}).Draw(t, "group bytes"),
		Parallel:      rapid.IntRange(0, 2).Draw(t, "parallel"),
	}
}

// TestWriteMatchesOracle writes random tables and reads them with the oracle
// and with this package; the same rows cut differently give the same bytes.
func TestWriteMatchesOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		defer b.Release()
		opts := drawWriteOptions(t)
		out := ourWrite(t, b, opts)
		cut := ourWrite(t, b, opts, rapid.SliceOfN(rapid.IntRange(1, 60), 1, 4).Draw(t, "pieces")...)
		if !bytes.Equal(out, cut) {
			t.Fatalf("the bytes depend on the batches: %d and %d", len(out), len(cut))
		}
		got := pqRead(t, out)
		sameRows(t, tableOf(b), got)
		got.Release()
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		ours, err := readAll(out, ReadOptions{Allocator: mem, BatchRows: 41})
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		if b.NumRows() > 0 && !ours.Schema().Equal(b.Schema()) {
			t.Fatalf("schema changed:\nwant %s\ngot  %s", b.Schema(), ours.Schema())
		}
		sameRows(t, tableOf(b), ours)
		ours.Release()
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("reader leaks %d bytes", n)
		}
	})
}

// TestLongColumns crosses page limits, dictionary samples and dictionary
// limits, which small tables do not reach.
func TestLongColumns(t *testing.T) {
	mem := memory.NewGoAllocator()
	const n = 300_000
	text := func(f func(i int) string) func(b array.Builder, i int) {
		return func(b array.Builder, i int) { b.(*array.StringBuilder).Append(f(i)) }
	}
	cases := map[string]struct {
		typ  arrow.DataType
		fill func(b array.Builder, i int)
	}{
		"few":       {arrow.BinaryTypes.String, text(func(i int) string { return fmt.Sprint("value-", i*7%200) })},
		"unique":    {arrow.BinaryTypes.String, text(func(i int) string { return fmt.Sprint("value-", i) })},
		"outgrown":  {arrow.BinaryTypes.String, text(func(i int) string { return fmt.Sprintf("%040d", max(i-20000, 0)/2) })},
		"halfnull":  {arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { appendOrNull(b.(*array.Int64Builder), int64(i), i%2 == 0) }},
		"ints":      {arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { b.(*array.Int64Builder).Append(int64(i)) }},
		"latenull":  {arrow.PrimitiveTypes.Int64, func(b array.Builder, i int) { appendOrNull(b.(*array.Int64Builder), int64(i), i < n-5) }},
		"bools":     {arrow.FixedWidthTypes.Boolean, func(b array.Builder, i int) { b.(*array.BooleanBuilder).Append(i%3 == 0) }},
		"lists":     {arrow.ListOf(arrow.PrimitiveTypes.Int32), appendList},
		"nullstext": {arrow.BinaryTypes.String, func(b array.Builder, i int) { appendText(b.(*array.StringBuilder), i) }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := arrow.NewSchema([]arrow.Field{{Name: name, Type: c.typ, Nullable: true}}, nil)
			rb := array.NewRecordBuilder(mem, s)
			for i := range n {
				c.fill(rb.Field(0), i)
			}
			b := rb.NewRecordBatch()
			out := ourWrite(t, b, WriteOptions{RowGroupRows: 250_000})
			if cut := ourWrite(t, b, WriteOptions{RowGroupRows: 250_000}, 999, 64_001); !bytes.Equal(out, cut) {
				t.Fatal("the bytes depend on the batches")
			}
			sameRows(t, tableOf(b), pqRead(t, out))
			got, err := readAll(out, ReadOptions{Allocator: mem})
			if err != nil {
				t.Fatal(err)
			}
			sameRows(t, tableOf(b), got)
		})
	}
}

func appendOrNull(b *array.Int64Builder, v int64, valid bool) {
	if valid {
		b.Append(v)
	} else {
		b.AppendNull()
	}
}

func appendText(b *array.StringBuilder, i int) {
	if i%7 == 3 {
		b.AppendNull()
		return
	}
	b.Append(fmt.Sprintf("%0*d", i%50, i))
}

func appendList(b array.Builder, i int) {
	lb := b.(*array.ListBuilder)
	if i%11 == 0 {
		lb.AppendNull()
		return
	}
	lb.Append(true)
	for j := range i % 5 {
		lb.ValueBuilder().(*array.Int32Builder).Append(int32(i + j))
	}
}
