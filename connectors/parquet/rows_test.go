package parquet

import (
	"bytes"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	"pgregory.net/rapid"
)

// TestRowRanges reads parts of a row group, with pages of both versions.
func TestRowRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		if b.NumRows() == 0 {
			return
		}
		file := pqWrite(t, b, apq.NewWriterProperties(
			apq.WithDataPageVersion(rapid.SampledFrom([]apq.DataPageVersion{apq.DataPageV1, apq.DataPageV2}).Draw(t, "version")),
			apq.WithDataPageSize(100), apq.WithBatchSize(9)))
		f, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		from := rapid.Int64Range(0, b.NumRows()-1).Draw(t, "from")
		to := rapid.Int64Range(from+1, b.NumRows()).Draw(t, "to")
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		r, err := f.Read(0, ReadOptions{From: from, To: to, Allocator: mem, BatchRows: 13})
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		var all []arrow.RecordBatch
		for {
			rec, err := r.Next()
			if err != nil {
				break
			}
			all = append(all, rec)
		}
		r.Close()
		sameRows(t, tableOf(b.NewSlice(from, to)), array.NewTableFromRecords(r.Schema(), all))
		for _, rec := range all {
			rec.Release()
		}
	})
}

// TestBatchesAreBounded reads values that are large against the batch.
func TestBatchesAreBounded(t *testing.T) {
	rb := array.NewRecordBuilder(memory.NewGoAllocator(), fields("blob", arrow.BinaryTypes.Binary, "list", arrow.ListOf(arrow.BinaryTypes.Binary)))
	big := bytes.Repeat([]byte{7}, 50_000)
	for i := range 40 {
		if i%10 == 9 {
			rb.Field(0).(*array.BinaryBuilder).Append(bytes.Repeat(big, 8))
		} else {
			rb.Field(0).(*array.BinaryBuilder).Append(append(big, byte(i)))
		}
		l := rb.Field(1).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.BinaryBuilder).Append(append(big, byte(i)))
	}
	b := rb.NewRecordBatch()
	file := ourWrite(t, b, WriteOptions{})
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	r, err := f.Read(0, ReadOptions{Allocator: mem, BatchBytes: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	var all []arrow.RecordBatch
	for {
		rec, err := r.Next()
		if err != nil {
			break
		}
		size := int64(0)
		for i := range int(rec.NumCols()) {
			size += spanBytes(rec.Column(i).Data(), 0, int(rec.NumRows()))
		}
		if rec.NumRows() > 1 && size > 2_000_000 {
			t.Errorf("a batch of %d rows has %d bytes", rec.NumRows(), size)
		}
		all = append(all, rec)
	}
	r.Close()
	got := array.NewTableFromRecords(r.Schema(), all)
	sameRows(t, tableOf(b), got)
	for _, rec := range all {
		rec.Release()
	}
	got.Release()
	mem.AssertSize(t, 0)
}

func TestReadRefusals(t *testing.T) {
	file := smallFile(t)
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	mem := memory.NewGoAllocator()
	cases := []struct {
		group int
		opts  ReadOptions
		want  string
	}{
		{5, ReadOptions{Allocator: mem}, "row group 5 is outside the file's 2"},
		{0, ReadOptions{}, "Allocator is nil"},
		{0, ReadOptions{Allocator: mem, Columns: []string{"nope"}}, `column "nope" is not in the file, which has "id", "name", "tags"`},
		{0, ReadOptions{Allocator: mem, From: 3, To: 99}, "rows 3 to 99 are outside row group 0, which has 12"},
	}
	for _, c := range cases {
		if _, err := f.Read(c.group, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestWriteRefusals(t *testing.T) {
	mem := memory.NewGoAllocator()
	ok := fields("x", arrow.PrimitiveTypes.Int64)
	cases := []struct {
		name   string
		schema *arrow.Schema
		opts   WriteOptions
		want   string
	}{
		{"no columns", fields(), WriteOptions{Allocator: mem}, "no columns"},
		{"union", fields("x", arrow.DenseUnionOf(nil, nil)), WriteOptions{Allocator: mem}, `column "x": type dense_union`},
		{"empty struct", fields("x", arrow.StructOf()), WriteOptions{Allocator: mem}, "struct without fields"},
		{"codec", ok, WriteOptions{Allocator: mem, Compression: "lzo"}, `compression "lzo" is unknown`},
		{"allocator", ok, WriteOptions{}, "Allocator is nil"},
		{"limits", ok, WriteOptions{Allocator: mem, RowGroupRows: -1}, "must be positive"},
	}
	for _, c := range cases {
		if _, err := NewWriter(new(bytes.Buffer), c.schema, c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	w, err := NewWriter(new(bytes.Buffer), arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil), WriteOptions{Allocator: mem})
	if err != nil {
		t.Fatal(err)
	}
	rb := array.NewRecordBuilder(mem, ok)
	rb.Field(0).AppendNull()
	if err := w.Write(rb.NewRecordBatch()); err == nil || !strings.Contains(err.Error(), "not nullable and has 1 nulls") {
		t.Errorf("a null in a column that is not nullable: %v", err)
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "earlier write failed") {
		t.Errorf("closing a failed file: %v", err)
	}
}
