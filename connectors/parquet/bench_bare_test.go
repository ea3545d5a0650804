package parquet

import (
	"encoding/binary"
	"io"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/klauspost/compress/s2"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// BenchmarkWriteBare compares the writer with a bare loop of the encoders that it is made of, over the same columns: values laid out in pages
// of the same size, compressed and given away; no statistics, no levels, no page headers, no metadata.
func BenchmarkWriteBare(b *testing.B) {
	for _, text := range []string{"words", "text"} {
		batch := benchBatch("ints", "doubles", "dict", text)
		raw := batchBytes(batch, 0, benchRows)
		b.Run(text+"/sluice", func(b *testing.B) {
			cpu(b, raw, func() {
				w, err := NewWriter(io.Discard, batch.Schema(), WriteOptions{Allocator: benchAllocator})
				if err == nil {
					err = w.Write(batch)
				}
				if err == nil {
					err = w.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			})
		})
		b.Run(text+"/bare", func(b *testing.B) { cpu(b, raw, func() { bareEncode(b, batch) }) })
	}
}

func bareEncode(b *testing.B, batch arrow.RecordBatch) {
	var page, packed []byte
	flush := func() {
		packed = s2.EncodeSnappy(packed, page)
		_, _ = io.Discard.Write(packed)
		page = page[:0]
	}
	for i, c := range batch.Columns() {
		switch a := c.(type) {
		case *array.Int64:
			bareFixed(a.Int64Values(), &page, flush)
		case *array.Float64:
			bareFixed(a.Float64Values(), &page, flush)
		case *array.String:
			if batch.ColumnName(i) == "dict" {
				bareDictionary(b, a, &page, flush)
				continue
			}
			for r := range a.Len() {
				v := a.Value(r)
				page = append(binary.LittleEndian.AppendUint32(page, uint32(len(v))), v...)
				if len(page) >= DefaultPageBytes {
					flush()
				}
			}
			flush()
		}
	}
}

func bareFixed[T int64 | float64](values []T, page *[]byte, flush func()) {
	const rows = DefaultPageBytes / 8
	for len(values) > 0 {
		n := min(rows, len(values))
		*page = append(*page, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), n*8)...)
		flush()
		values = values[n:]
	}
}

func bareDictionary(b *testing.B, a *array.String, page *[]byte, flush func()) {
	numbers := map[string]int32{}
	idx := make([]int32, 0, DefaultPageRows)
	encode := func() {
		enc := rle.Encoding{BitWidth: 8}
		var err error
		if *page, err = enc.EncodeInt32(*page, idx); err != nil {
			b.Fatal(err)
		}
		flush()
		idx = idx[:0]
	}
	for r := range a.Len() {
		v := a.Value(r)
		n, ok := numbers[v]
		if !ok {
			n = int32(len(numbers))
			numbers[v] = n
		}
		if idx = append(idx, n); len(idx) == DefaultPageRows {
			encode()
		}
	}
	encode()
}
