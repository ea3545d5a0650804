package arrowipc

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

var sinkTypes = []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Int32),
	&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}, arrow.FixedWidthTypes.Boolean}

// sinkRows makes rows whose values depend on their number alone.
func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	var fields []arrow.Field
	var builders []array.Builder
	for i, t := range sinkTypes {
		fields = append(fields, arrow.Field{Name: string(rune('a' + i)), Type: t, Nullable: true})
		builders = append(builders, array.NewBuilder(mem, t))
	}
	for row := first; row < first+n; row++ {
		r := rand.New(rand.NewPCG(uint64(row), 3))
		for _, b := range builders {
			arraytest.Append(r, b, true)
		}
	}
	cols := make([]arrow.Array, len(builders))
	for i, b := range builders {
		cols[i] = b.NewArray()
		b.Release()
		defer cols[i].Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(n))
}

func TestSinkConformance(t *testing.T) {
	for _, opt := range []WriteOptions{{}, {Compression: "zstd", BatchRows: 100}, {Compression: "lz4", Stream: true, BatchBytes: 300}} {
		f, err := NewFormat(opt)
		if err != nil {
			t.Fatal(err)
		}
		connectortest.RunSink(t, connectortest.SinkConfig{
			Format: f, Schema: sinkRows(memory.NewGoAllocator(), 0, 0).Schema(), Rows: sinkRows,
			Read: func(path string) ([]string, error) { return readRows(t.Context(), path) },
			Text: func(row int) string { return arraytest.Rows(sinkRows(memory.NewGoAllocator(), row, 1))[0] },
			Bad:  arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.BinaryTypes.BinaryView}}, nil),
		})
	}
}

// TestRoundTrip writes random records of every type in blocks and reads them with Arrow's reader and ours.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(20) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		rec := random(mem, seed, 70)
		f, err := NewFormat(WriteOptions{Compression: []string{"", "lz4", "zstd"}[seed%3], Stream: seed%2 == 0, BatchRows: 15 + int64(seed)*5})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		e, err := f.NewEncoder(&out, rec.Schema(), mem, 1)
		if err != nil {
			t.Fatal(err)
		}
		b := block.New(rec, block.Identity{})
		for lo := 0; lo < 70; lo += 33 {
			s := b.Slice(lo, min(33, 70-lo))
			if err := e.Write(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			s.Release()
		}
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(t.TempDir(), "x.arrow")
		if err := os.WriteFile(p, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		want := arraytest.Rows(rec)
		same(t, readText(t, p), want)
		same(t, arrowRows(t, out.Bytes(), seed%2 == 0), want)
		b.Release()
		mem.AssertSize(t, 0)
	}
}

// arrowRows reads with Arrow's own readers.
func arrowRows(t *testing.T, data []byte, stream bool) (out []string) {
	if stream {
		r, err := ipc.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for r.Next() {
			out = append(out, arraytest.Rows(r.RecordBatch())...)
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		return out
	}
	r, err := ipc.NewFileReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := range r.NumRecords() {
		rec, err := r.RecordBatchAt(i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, arraytest.Rows(rec)...)
		rec.Release()
	}
	return out
}
