package parquet

import (
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
)

func sinkText(row int) string {
	if row%7 == 0 {
		return fmt.Sprintf("%d (null) %d", row, row%3)
	}
	return fmt.Sprintf("%d name %d %d", row, row%11, row%3)
}

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	s := fields("id", arrow.PrimitiveTypes.Int64, "name", arrow.BinaryTypes.String, "tags", arrow.ListOf(arrow.PrimitiveTypes.Int32))
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		if i%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("name %d", i%11))
		}
		l := b.Field(2).(*array.ListBuilder)
		l.Append(true)
		for range i % 3 {
			l.ValueBuilder().(*array.Int32Builder).Append(int32(i))
		}
	}
	return b.NewRecordBatch()
}

func sinkRead(path string) ([]string, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := readAll(file, ReadOptions{Allocator: memory.NewGoAllocator()})
	if err != nil {
		return nil, err
	}
	defer t.Release()
	var out []string
	r := array.NewTableReader(t, 0)
	defer r.Release()
	for r.Next() {
		b := r.RecordBatch()
		tags := b.Column(2).(*array.List)
		for i := range int(b.NumRows()) {
			from, to := tags.ValueOffsets(i)
			out = append(out, fmt.Sprintf("%s %s %d", b.Column(0).ValueStr(i), b.Column(1).ValueStr(i), to-from))
		}
	}
	return out, r.Err()
}

func TestSinkConformance(t *testing.T) {
	for _, opt := range []FormatOptions{{}, {Compression: "zstd", RowGroupRows: 10}, {RowGroupBytes: 300, NoStatistics: true}} {
		f, err := NewFormat(opt)
		if err != nil {
			t.Fatal(err)
		}
		connectortest.RunSink(t, connectortest.SinkConfig{
			Format: f, Schema: sinkRows(memory.NewGoAllocator(), 0, 0).Schema(),
			Rows: sinkRows, Read: sinkRead, Text: sinkText,
			Bad: fields("x", arrow.FixedWidthTypes.MonthInterval),
		})
	}
}
