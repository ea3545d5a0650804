package parquet

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pq "github.com/parquet-go/parquet-go"

	"github.com/sluice-data/sluice/dataset/block"
)

// benchAllocator recycles buffers, as the engine's does.
var benchAllocator = block.NewAllocator(block.NewPool(1<<30), nil)

const benchRows = 200_000

// benchColumn makes one column of the kinds that B3 is about.
func benchColumn(kind string) (arrow.Field, arrow.Array) {
	rng := rand.New(rand.NewPCG(1, 2))
	mem := memory.NewGoAllocator()
	switch kind {
	case "ints":
		b := array.NewInt64Builder(mem)
		for range benchRows {
			b.Append(rng.Int64N(1 << 40))
		}
		return arrow.Field{Name: kind, Type: arrow.PrimitiveTypes.Int64}, b.NewArray()
	case "nullints":
		b := array.NewInt64Builder(mem)
		for i := range benchRows {
			appendOrNull(b, rng.Int64N(1<<40), i%10 != 0)
		}
		return arrow.Field{Name: kind, Type: arrow.PrimitiveTypes.Int64, Nullable: true}, b.NewArray()
	case "doubles":
		b := array.NewFloat64Builder(mem)
		for range benchRows {
			b.Append(rng.Float64())
		}
		return arrow.Field{Name: kind, Type: arrow.PrimitiveTypes.Float64}, b.NewArray()
	case "dict":
		b := array.NewStringBuilder(mem)
		for range benchRows {
			b.Append(fmt.Sprintf("category-%d", rng.IntN(200)))
		}
		return arrow.Field{Name: kind, Type: arrow.BinaryTypes.String}, b.NewArray()
	}
	if kind == "words" {
		return arrow.Field{Name: kind, Type: arrow.BinaryTypes.String}, benchWords(rng, mem)
	}
	b := array.NewStringBuilder(mem)
	words := []string{"stream", "gate", "water", "gold", "gravel", "flume", "riffle", "pan"}
	for range benchRows {
		var s []byte
		for n := 20 + rng.IntN(40); len(s) < n; {
			s = append(append(s, words[rng.IntN(len(words))]...), byte('a'+rng.IntN(26)))
		}
		b.Append(string(s))
	}
	return arrow.Field{Name: kind, Type: arrow.BinaryTypes.String}, b.NewArray()
}

// benchWords makes texts as benchmarks/peers/gen.py does for B3: 3 to 11 words of 20,000, drawn by a Zipf law of exponent 1.3.
func benchWords(rng *rand.Rand, mem memory.Allocator) arrow.Array {
	words := make([]string, 20_000)
	for i := range words {
		w := make([]byte, 2+rng.IntN(8))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgkqjxz"[min(rng.IntN(26), rng.IntN(26))] // the early letters are the frequent ones
		}
		words[i] = string(w)
	}
	zipf := rand.NewZipf(rng, 1.3, 1, uint64(len(words)-1))
	b := array.NewStringBuilder(mem)
	for range benchRows {
		text := words[zipf.Uint64()]
		for range 2 + rng.IntN(9) {
			text += " " + words[zipf.Uint64()]
		}
		b.Append(text)
	}
	return b.NewArray()
}

var benchKinds = []string{"ints", "nullints", "doubles", "dict", "text"}

func benchBatch(kinds ...string) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, k := range kinds {
		f, a := benchColumn(k)
		fields, cols = append(fields, f), append(cols, a)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, benchRows)
}

// cpu runs f until the benchmark is satisfied and reports the rate by CPU time,
// which other work on the machine does not distort.
func cpu(b *testing.B, raw int64, f func()) {
	b.ReportAllocs()
	b.SetBytes(raw)
	before, n := cpuTime(), 0
	for b.Loop() {
		f()
		n++
	}
	b.ReportMetric(float64(raw)*float64(n)/1e6/(cpuTime()-before).Seconds(), "MB/cpu-s")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchFile(b *testing.B, codec string, kinds ...string) (file []byte, raw int64) {
	batch := benchBatch(kinds...)
	return ourWrite(b, batch, WriteOptions{Compression: codec}), batchBytes(batch, 0, benchRows)
}

func BenchmarkRead(b *testing.B) {
	for _, codec := range []string{"snappy", "none"} {
		for _, kind := range benchKinds {
			file, raw := benchFile(b, codec, kind)
			b.Run(codec+"/"+kind+"/sluice", func(b *testing.B) {
				cpu(b, raw, func() {
					readOnce(b, file)
				})
			})
			b.Run(codec+"/"+kind+"/barepages", func(b *testing.B) {
				cpu(b, raw, func() {
					barePages(b, file)
				})
			})
		}
	}
}

func readOnce(b *testing.B, file []byte) {
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		b.Fatal(err)
	}
	for g := range f.NumRowGroups() {
		r, err := f.Read(g, ReadOptions{Allocator: benchAllocator})
		if err != nil {
			b.Fatal(err)
		}
		for {
			batch, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			batch.Release()
		}
		r.Close()
	}
}

// barePages is the loop that LIBRARIES measures against: parquet-go's pages,
// their values copied into plain slices.
func barePages(b *testing.B, file []byte) {
	f, err := pq.OpenFile(bytes.NewReader(file), int64(len(file)), pq.SkipBloomFilters(true), pq.ReadBufferSize(1<<20))
	if err != nil {
		b.Fatal(err)
	}
	for _, rg := range f.RowGroups() {
		for _, cc := range rg.ColumnChunks() {
			out := make([]byte, 0, rg.NumRows()*8)
			off := make([]uint32, 0, rg.NumRows()+1)
			pages := cc.Pages()
			for {
				p, err := pages.ReadPage()
				if err == io.EOF {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				if d := p.Dictionary(); d != nil {
					dv := d.Page().Data()
					data, offs := dv.ByteArray()
					vals := p.Data()
					for _, x := range vals.Int32() {
						out = append(out, data[offs[x]:offs[x+1]]...)
						off = append(off, uint32(len(out)))
					}
				} else {
					vals := p.Data()
					data, offs := vals.Data()
					out = append(out, data...)
					for _, o := range offs {
						off = append(off, o)
					}
				}
				pq.Release(p)
			}
			pages.Close()
		}
	}
}

type benchRow struct {
	Ints    int64   `parquet:"ints"`
	Doubles float64 `parquet:"doubles"`
	Dict    string  `parquet:"dict,dict"`
	Text    string  `parquet:"text"`
}

// BenchmarkWrite compares with GenericWriter and its own Snappy on four columns
// like those of B3, and with a text of little repetition.
func BenchmarkWrite(b *testing.B) {
	for _, text := range []string{"words", "text"} {
		b.Run(text, func(b *testing.B) { benchWrite(b, text) })
	}
}

func benchWrite(b *testing.B, text string) {
	batch := benchBatch("ints", "doubles", "dict", text)
	raw := batchBytes(batch, 0, benchRows)
	for _, codec := range []string{"snappy", "none", "zstd"} {
		b.Run("sluice/"+codec, func(b *testing.B) {
			cpu(b, raw, func() {
				w, err := NewWriter(io.Discard, batch.Schema(), WriteOptions{Compression: codec, Allocator: benchAllocator})
				if err != nil {
					b.Fatal(err)
				}
				if err := w.Write(batch); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
	rows := make([]benchRow, benchRows)
	for i := range rows {
		rows[i] = benchRow{
			batch.Column(0).(*array.Int64).Value(i), batch.Column(1).(*array.Float64).Value(i),
			batch.Column(2).(*array.String).Value(i), batch.Column(3).(*array.String).Value(i),
		}
	}
	b.Run("genericwriter/snappy", func(b *testing.B) {
		cpu(b, raw, func() {
			w := pq.NewGenericWriter[benchRow](io.Discard, pq.Compression(&pq.Snappy))
			if _, err := w.Write(rows); err != nil {
				b.Fatal(err)
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	})
}
