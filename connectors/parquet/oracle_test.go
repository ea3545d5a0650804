package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"pgregory.net/rapid"
)

// fataler is what the helpers need of testing.TB and rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
	Helper()
}

// readAll reads a whole file through the package, in pieces of the options.
func readAll(file []byte, opts ReadOptions) (arrow.Table, error) {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	var batches []arrow.RecordBatch
	defer func() {
		for _, b := range batches {
			b.Release()
		}
	}()
	schema := f.Schema()
	for g := range f.NumRowGroups() {
		r, err := f.Read(g, opts)
		if err != nil {
			return nil, err
		}
		schema = r.Schema()
		for {
			b, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				r.Close()
				return nil, err
			}
			batches = append(batches, b)
		}
		r.Close()
	}
	return array.NewTableFromRecords(schema, batches), nil
}

// pqWrite writes with the oracle.
func pqWrite(t fataler, b arrow.RecordBatch, props *apq.WriterProperties) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(b.Schema(), &buf, props, pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatalf("oracle writer: %v", err)
	}
	if err := w.Write(b); err != nil {
		t.Fatalf("oracle write: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatalf("oracle close: %v", err)
	}
	return buf.Bytes()
}

// sameRows compares values, whatever the chunks.
func sameRows(t fataler, want, got arrow.Table) {
	t.Helper()
	if want.NumRows() != got.NumRows() || want.NumCols() != got.NumCols() {
		t.Fatalf("got %d rows, %d columns, want %d and %d", got.NumRows(), got.NumCols(), want.NumRows(), want.NumCols())
	}
	for i := range int(want.NumCols()) {
		name := want.Schema().Field(i).Name
		w, g := flatten(t, want.Column(i)), flatten(t, got.Column(i))
		// ApproxEqual does not take infinite halves for equal.
		if !array.Equal(w, g) && !array.ApproxEqual(w, g, array.WithNaNsEqual(true)) {
			t.Fatalf("column %q of %s differs:\nwant %s\ngot  %s %s", name, w.DataType(), clip(w), g.DataType(), clip(g))
		}
		w.Release()
		g.Release()
	}
}

func clip(a arrow.Array) string {
	s := fmt.Sprint(a)
	return s[:min(len(s), 3000)]
}

// flatten makes one array of plain values: dictionaries are decoded, extensions
// are their storage, chunks concatenated.
func flatten(t fataler, c *arrow.Column) arrow.Array {
	t.Helper()
	mem := memory.NewGoAllocator()
	var parts []arrow.Array
	for _, ch := range c.Data().Chunks() {
		if e, ok := ch.(array.ExtensionArray); ok {
			ch = e.Storage()
		}
		parts = append(parts, decoded(ch))
	}
	if len(parts) == 0 {
		b := array.NewBuilder(mem, plainType(c.DataType()))
		defer b.Release()
		return b.NewArray()
	}
	out, err := array.Concatenate(parts, mem)
	if err != nil {
		t.Fatalf("concatenate %q: %v", c.Name(), err)
	}
	return out
}

func plainType(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.DictionaryType:
		return t.ValueType
	case arrow.ExtensionType:
		return t.StorageType()
	}
	return dt
}

func decoded(a arrow.Array) arrow.Array {
	d, ok := a.(*array.Dictionary)
	if !ok {
		return a
	}
	b := array.NewBuilder(memory.NewGoAllocator(), d.Dictionary().DataType())
	for i := range d.Len() {
		if d.IsNull(i) {
			b.AppendNull()
			continue
		}
		if err := b.AppendValueFromString(d.Dictionary().ValueStr(d.GetValueIndex(i))); err != nil {
			panic(err)
		}
	}
	return b.NewArray()
}

func tableOf(b arrow.RecordBatch) arrow.Table {
	return array.NewTableFromRecords(b.Schema(), []arrow.RecordBatch{b})
}

// TestReadMatchesOracle writes random tables with the oracle in every layout
// it has and reads them back in pieces.
func TestReadMatchesOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		defer b.Release()
		props := apq.NewWriterProperties(
			apq.WithDataPageVersion(rapid.SampledFrom([]apq.DataPageVersion{apq.DataPageV1, apq.DataPageV2}).Draw(t, "page version")),
			apq.WithDataPageSize(rapid.SampledFrom([]int64{64, 1000, 1 << 20}).Draw(t, "page size")),
			apq.WithBatchSize(rapid.SampledFrom([]int64{7, 64, 1024}).Draw(t, "batch size")),
			apq.WithDictionaryDefault(rapid.Bool().Draw(t, "dictionary")),
			apq.WithDictionaryPageSizeLimit(rapid.SampledFrom([]int64{50, 1 << 20}).Draw(t, "dictionary limit")),
			apq.WithMaxRowGroupLength(rapid.SampledFrom([]int64{10, 1 << 20}).Draw(t, "row group")),
			apq.WithCompression(rapid.SampledFrom([]compress.Compression{
				compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Lz4Raw,
			}).Draw(t, "codec")),
		)
		file := pqWrite(t, b, props)
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		got, err := readAll(file, ReadOptions{
			Allocator:  mem,
			BatchRows:  rapid.SampledFrom([]int{1, 3, 50, 1 << 20}).Draw(t, "batch rows"),
			BatchBytes: rapid.SampledFrom([]int64{1, 200, 1 << 20}).Draw(t, "batch bytes"),
			Window:     1,
		})
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		sameRows(t, tableOf(b), got)
		got.Release()
		if n := mem.CurrentAlloc(); n != 0 {
			t.Fatalf("%d bytes leaked", n)
		}
	})
}
