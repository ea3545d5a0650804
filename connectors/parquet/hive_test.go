package parquet_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/parquet"
	"github.com/sluice-data/sluice/dataset"
)

// TestConformanceInFolders: with the columns of folders a source keeps every promise of a source.
func TestConformanceInFolders(t *testing.T) {
	dir := t.TempDir()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	for f := range 3 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := range 40 {
			b.Field(0).(*array.Int64Builder).Append(int64(f*40 + i))
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
		}
		rec := b.NewRecordBatch()
		var out bytes.Buffer
		w, err := parquet.NewWriter(&out, schema, parquet.WriteOptions{Allocator: memory.DefaultAllocator})
		if err == nil {
			err = w.Write(rec)
		}
		if err == nil {
			err = w.Close()
		}
		name := filepath.Join(dir, fmt.Sprintf("day=2026-01-0%d", f+1), "part.parquet")
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o750)
		}
		if err == nil {
			err = os.WriteFile(name, out.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		rec.Release()
		b.Release()
	}
	connectortest.RunSource(t, connectortest.SourceConfig{
		New: func(tb testing.TB, fs file.FS) dataset.Source {
			src, err := parquet.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: dir, Literal: true}}), parquet.Options{})
			if err != nil {
				tb.Fatal(err)
			}
			in, err := file.Partitioned(src, file.NewSet(fs, []dataset.Pattern{{Text: dir, Literal: true}}), "")
			if err != nil {
				tb.Fatal(err)
			}
			return in
		},
		Rows: 120,
	})
}
