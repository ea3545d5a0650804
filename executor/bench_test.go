package executor

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// same is a source that gives one record again and again, so that nothing but the engine is measured.
type same struct {
	ints
	rows, blocks int
	rec          arrow.RecordBatch
}

func newSame(rows, blocks int) *same {
	b := array.NewInt64Builder(block.NewAllocator(block.NewPool(1<<40), nil))
	defer b.Release()
	b.AppendValues(make([]int64, rows), nil)
	col := b.NewInt64Array()
	return &same{ints: ints{files: 4, perFile: rows * blocks}, rows: rows, blocks: blocks, rec: block.FromColumns(intSchema, []arrow.Array{col}, rows)}
}

func (s *same) Open(_ context.Context, _ dataset.Runtime, sp dataset.Split, _ uint64) (dataset.Reader, error) {
	return &sameReader{same: s, id: sp.Ranges[0].ID}, nil
}

type sameReader struct {
	*same
	id *block.File
	n  int
}

func (r *sameReader) Next(context.Context) (*block.Block, error) {
	if r.n == r.blocks {
		return nil, io.EOF
	}
	r.rec.Retain()
	b := block.New(r.rec, block.FromRuns(block.Run{File: r.id, First: uint64(r.n * r.rows), N: uint32(r.rows), Stride: 1}))
	r.n++
	return b, nil
}

func (*sameReader) Close() error { return nil }

// BenchmarkEvents is B10: blocks through five no-op stages with fusion and coalescing off. An event is one block over one edge.
func BenchmarkEvents(b *testing.B) {
	for _, rows := range []int{1, 1 << 10, 1 << 17, 1 << 23} {
		b.Run(fmt.Sprintf("block=%dB", rows*8), func(b *testing.B) {
			const edges = 6
			blocks := 25_000
			if rows > 1<<17 {
				blocks = 500
			}
			src := newSame(rows, blocks)
			l := newLocal(b, 1<<30, 2)
			d := dataset.From(src, l)
			for i := range edges - 1 {
				d = d.Via(pass(fmt.Sprint("stage ", i)))
			}
			end := &step{name: "drop", process: func(dataset.Runtime, int, *block.Block, dataset.Emit) error { return nil }}
			d = d.Via(end)
			var opts dataset.Options
			opts.Batch.NoFuse, opts.Batch.NoCoalesce = true, true
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				if _, err := d.Count(b.Context(), opts); err != nil {
					b.Fatal(err)
				}
				events += 4 * blocks * edges
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(events), "ns/event")
		})
	}
}
