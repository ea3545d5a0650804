package python

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
)

// inline is a runtime whose asynchronous calls run at once, so that a batch is measured from end to end, and nothing of it overlaps.
type inline struct {
	dt.BenchRuntime
	ctx    context.Context
	failed error
}

// Async implements dataset.Runtime.
func (rt *inline) Async(fn func(context.Context) func(dataset.Emit) error) error {
	return fn(rt.ctx)(func(b *block.Block) error { b.Release(); return nil })
}

// Fail implements dataset.Runtime.
func (rt *inline) Fail(_ *block.Block, _ int, err error) error { rt.failed = err; return nil }

// BenchmarkBatch has one process work on batches of numbers. "identity" returns the batch as it is: the bytes are copied once, into shared memory.
// "copy" returns new columns of the same size, which the function makes and the host writes into shared memory.
func BenchmarkBatch(b *testing.B) {
	python := connectortest.Python(b, "pyarrow")
	if python == "" {
		return
	}
	for _, fn := range []string{"identity", "copy"} {
		for name, rows := range map[string]int{"1 row": 1, "16 KB": 1000, "1 MB": 1 << 16, "16 MB": 1 << 20} {
			b.Run(fn+"/"+name, func(b *testing.B) { benchmark(b, python, fn, rows) })
		}
	}
}

func benchmark(b *testing.B, python, fn string, rows int) {
	schema := dt.Schema("id", arrow.PrimitiveTypes.Int64, "score", arrow.PrimitiveTypes.Float64)
	bld := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	for i := range rows {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
		bld.Field(1).(*array.Float64Builder).Append(float64(i) / 3)
	}
	in := dt.FromRecord(bld.NewRecordBatch(), 1).Blocks[0]
	defer in.Release()
	spec := Func("testdata/bench.py:"+fn, Venv(python), Processes(1), Batch(1<<30))
	if _, err := spec.Check([]*arrow.Schema{schema}); err != nil {
		b.Fatal(err)
	}
	o, err := spec.New([]*arrow.Schema{schema})
	if err != nil {
		b.Fatal(err)
	}
	rt := &inline{ctx: b.Context(), BenchRuntime: dt.BenchRuntime{Mem: block.NewAllocator(block.NewPool(1<<30), nil)}}
	if err := o.Open(b.Context(), rt); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := o.Close(); err != nil {
			b.Error(err)
		}
	}()
	batch := func() {
		if err := o.Process(b.Context(), 0, in, nil); err != nil || rt.failed != nil {
			b.Fatal(err, rt.failed)
		}
	}
	batch() // the first one starts the process
	b.SetBytes(in.Bytes())
	b.ReportAllocs()
	pool := o.(*op).pool
	pr := <-pool.idle
	pool.idle <- pr
	begun := cpuTime(pr.Pid)
	for b.Loop() {
		batch()
	}
	b.ReportMetric(float64((cpuTime(pr.Pid)-begun).Microseconds())/float64(b.N), "cpu-µs/batch") // what a busy machine does not blur
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/batch")
}

// cpuTime is what this process and the one given have computed.
func cpuTime(pid int) time.Duration {
	var sum time.Duration
	for _, p := range []string{"self", strconv.Itoa(pid)} {
		tasks, _ := filepath.Glob("/proc/" + p + "/task/*/schedstat")
		for _, t := range tasks {
			data, err := os.ReadFile(t)
			if fields := strings.Fields(string(data)); err == nil && len(fields) > 0 {
				ns, _ := strconv.ParseInt(fields[0], 10, 64)
				sum += time.Duration(ns)
			}
		}
	}
	return sum
}
