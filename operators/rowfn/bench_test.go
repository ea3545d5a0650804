package rowfn_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/operators/rowfn"
)

func BenchmarkRowFunctions(b *testing.B) {
	schema := dt.Schema("id", arrow.PrimitiveTypes.Int64, "score", arrow.PrimitiveTypes.Float64, "text", arrow.BinaryTypes.String)
	bld := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for i := range 64 << 10 {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
		bld.Field(1).(*array.Float64Builder).Append(float64(i) / 3)
		bld.Field(2).(*array.StringBuilder).Append(fmt.Sprint("row number ", i))
	}
	in := dt.FromRecord(bld.NewRecordBatch(), 1)
	type row struct {
		ID    int64 `sluice:"id"`
		Score float64
		Text  string
	}
	type scored struct {
		row
		Rank float64
	}
	for name, spec := range map[string]dataset.Spec{
		"map, embedding": rowfn.Map(func(_ context.Context, r row) (scored, error) { return scored{Rank: r.Score * 2}, nil }),
		"map, new row":   rowfn.Map(func(_ context.Context, r row) (row, error) { return r, nil }),
		"filter":         rowfn.Filter(func(_ context.Context, r row) (bool, error) { return r.ID%10 == 0, nil }),
	} {
		b.Run(name, func(b *testing.B) {
			op, err := spec.New([]*arrow.Schema{schema})
			if err != nil {
				b.Fatal(err)
			}
			if err := op.Open(b.Context(), &dt.BenchRuntime{Mem: block.NewAllocator(block.NewPool(1<<30), nil)}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(in.Blocks[0].Bytes())
			b.ReportAllocs()
			for b.Loop() {
				if err := op.Process(b.Context(), 0, in.Blocks[0], func(o *block.Block) error { o.Release(); return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in.Blocks[0].NumRows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
