package simdjson

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/minio/simdjson-go"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

const rows = 200_000

// events makes lines of eight typed columns, about 215 bytes each.
func events() []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	words := []string{"sluice", "keeps", "the", "gold", "and", "lets", "gravel", "go", "while", "water", "flows"}
	var b bytes.Buffer
	for i := range rows {
		maybe := "null"
		if rng.IntN(10) > 0 {
			maybe = fmt.Sprint(rng.NormFloat64())
		}
		text := ""
		for range 8 + rng.IntN(8) {
			text += words[rng.IntN(len(words))] + " "
		}
		fmt.Fprintf(&b, `{"id": %d, "key": %d, "cat": "category_%03d", "score": %v, "maybe": %s, "ts": "2023-11-14 22:13:20.%06d", "flag": %v, "text": %q}`+"\n",
			i, rng.IntN(1_000_000), rng.IntN(200), rng.Float64(), maybe, rng.IntN(1_000_000), rng.IntN(2) == 0, text)
	}
	return b.Bytes()
}

func cpuSeconds(tb testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// measure runs fn, which reads data once, and reports bytes by processor time.
func measure(b *testing.B, data []byte, fn func() int) {
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		if n := fn(); n != rows {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
}

// BenchmarkSluice reads a file into blocks, timestamps as text as in the other benchmarks.
func BenchmarkSluice(b *testing.B) {
	data := events()
	p := filepath.Join(b.TempDir(), "in.jsonl")
	if err := os.WriteFile(p, data, 0o644); err != nil {
		b.Fatal(err)
	}
	src, err := jsonl.NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: p}}), jsonl.Options{Schema: "ts:string"})
	if err != nil {
		b.Fatal(err)
	}
	rt := &connectortest.Runtime{Bytes: 8 << 20, Rows: 1 << 17}
	splits := connectortest.Splits(b, src, dataset.Cursor{})
	measure(b, data, func() (n int) {
		for _, s := range splits {
			k, err := connectortest.Count(context.Background(), src, rt, s)
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
		return n
	})
}

// chunk is how much text one tape holds.
const chunk = 8 << 20

// tapes parses data chunk by chunk and hands out each tape.
func tapes(b *testing.B, data []byte, fn func(tape *simdjson.ParsedJson)) {
	var tape *simdjson.ParsedJson
	for at := 0; at < len(data); {
		end := min(at+chunk, len(data))
		end = at + bytes.LastIndexByte(data[at:end], '\n') + 1
		var err error
		if tape, err = simdjson.ParseND(data[at:end], tape, simdjson.WithCopyStrings(false)); err != nil {
			b.Fatal(err)
		}
		fn(tape)
		at = end
	}
}

// BenchmarkTape only makes tapes: no value leaves them.
func BenchmarkTape(b *testing.B) {
	if !simdjson.SupportedCPU() {
		b.Skip("simdjson-go does not support this processor")
	}
	data := events()
	measure(b, data, func() (n int) {
		tapes(b, data, func(tape *simdjson.ParsedJson) {
			_ = tape.ForEach(func(simdjson.Iter) error { n++; return nil })
		})
		return n
	})
}

// BenchmarkTapeToArrow walks the tapes into builders of the same columns, without naming what is wrong with a value.
func BenchmarkTapeToArrow(b *testing.B) {
	if !simdjson.SupportedCPU() {
		b.Skip("simdjson-go does not support this processor")
	}
	data := events()
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "key", Type: arrow.PrimitiveTypes.Int64},
		{Name: "cat", Type: arrow.BinaryTypes.String}, {Name: "score", Type: arrow.PrimitiveTypes.Float64}, {Name: "maybe", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "ts", Type: arrow.BinaryTypes.String}, {Name: "flag", Type: arrow.FixedWidthTypes.Boolean}, {Name: "text", Type: arrow.BinaryTypes.String}}, nil)
	measure(b, data, func() (n int) {
		out := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		defer out.Release()
		w := walker{b: b, out: out}
		for i, f := range schema.Fields() {
			w.fields = append(w.fields, []byte(f.Name))
			w.columns = append(w.columns, out.Field(i))
		}
		tapes(b, data, func(tape *simdjson.ParsedJson) {
			_ = tape.ForEach(w.row)
			rec := out.NewRecordBatch()
			n += int(rec.NumRows())
			rec.Release()
		})
		return n
	})
}

// walker appends rows of a tape to builders. Keys come in the order of the columns mostly.
type walker struct {
	b       *testing.B
	out     *array.RecordBuilder
	fields  [][]byte
	columns []array.Builder
	obj     simdjson.Object
	val     simdjson.Iter
}

func (w *walker) row(i simdjson.Iter) error {
	obj, err := i.Object(&w.obj)
	if err != nil {
		w.b.Fatal(err)
	}
	for k := 0; ; k++ {
		name, kind, err := obj.NextElementBytes(&w.val)
		if err != nil {
			w.b.Fatal(err)
		}
		if kind == simdjson.TypeNone {
			return nil
		}
		at := k
		for at >= len(w.fields) || !bytes.Equal(w.fields[at], name) {
			if at = (at + 1) % len(w.fields); at == k {
				w.b.Fatalf("key %s", name)
			}
		}
		w.value(w.columns[at], kind)
	}
}

func (w *walker) value(to array.Builder, kind simdjson.Type) {
	var err error
	switch to := to.(type) {
	case *array.Int64Builder:
		var v int64
		v, err = w.val.Int()
		to.Append(v)
	case *array.Float64Builder:
		if kind == simdjson.TypeNull {
			to.AppendNull()
			return
		}
		var v float64
		v, err = w.val.Float()
		to.Append(v)
	case *array.BooleanBuilder:
		var v bool
		v, err = w.val.Bool()
		to.Append(v)
	case *array.StringBuilder:
		var v []byte
		v, err = w.val.StringBytes()
		to.BinaryBuilder.Append(v)
	}
	if err != nil {
		w.b.Fatal(err)
	}
}
