package jsonl

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/connectors/internal/lines"
	"github.com/sluice-data/sluice/dataset/block"
)

// eventLines makes n lines of eight typed columns, about 215 bytes each.
func eventLines(n int) []byte {
	rng := rand.New(rand.NewPCG(7, 7))
	words := []string{"sluice", "keeps", "the", "gold", "and", "lets", "gravel", "go", "while", "water", "flows"}
	var b bytes.Buffer
	for i := range n {
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

var eventSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "key", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "cat", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "score", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "maybe", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "ts", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// decodeAll reads data through chunks and decoder and returns the rows; it fails on a broken line.
func decodeAll(tb testing.TB, d *decoder, c *lines.Chunks, data []byte) int {
	c.Open(bytes.NewReader(data), 0, uint64(len(data)))
	file, rows := &block.File{}, 0
	for {
		from, to, err := c.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		d.buf = c.Buf
		for i := from; i < to; {
			next, row := d.line(i)
			if next < 0 {
				tb.Fatal(d.lineError(i))
			}
			if row {
				d.place(file, "", c.Base+uint64(i))
				if d.rows&255 == 0 && d.full() {
					rows += d.rows
					d.take().Release()
				}
			}
			i = next
		}
	}
	rows += d.rows
	d.take().Release()
	return rows
}

func BenchmarkDecode(b *testing.B) {
	data := eventLines(20000)
	for _, want := range [][]string{nil, {"id", "score"}} {
		name, out := "all", eventSchema
		if want != nil {
			name = "two"
			out = arrow.NewSchema([]arrow.Field{eventSchema.Field(0), eventSchema.Field(3)}, nil)
		}
		b.Run(name, func(b *testing.B) {
			mem := block.NewAllocator(block.NewPool(1<<30), nil)
			d, err := newDecoder(mem, Options{}.withDefaults(), &pinned{fields: eventSchema.Fields(), schema: eventSchema}, out, 1<<17, 8<<20)
			if err != nil {
				b.Fatal(err)
			}
			c := lines.New(mem, DefaultMaxLine)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			start := cpuSeconds(b)
			for b.Loop() {
				if n := decodeAll(b, d, c, data); n != 20000 {
					b.Fatal(n)
				}
			}
			b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
			c.Release()
			d.release()
		})
	}
}

// cpuSeconds is the processor time of this process: what a core does in a second, however busy the machine is.
func cpuSeconds(tb testing.TB) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
