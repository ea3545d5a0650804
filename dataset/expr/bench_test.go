package expr

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var benchSchema = arrow.NewSchema([]arrow.Field{
	{Name: "score", Type: arrow.PrimitiveTypes.Float64}, {Name: "lang", Type: arrow.BinaryTypes.String}, {Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "w", Type: arrow.PrimitiveTypes.Int32}, {Name: "h", Type: arrow.PrimitiveTypes.Int32},
}, nil)

// benchBatch has 64 Ki rows: about one block.
func benchBatch() (arrow.RecordBatch, int) {
	const rows = 64 << 10
	langs := []string{"de", "en", "fr", "es", "zh", "deu"}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), benchSchema)
	defer b.Release()
	x := uint64(1)
	for i := range rows {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.Field(0).(*array.Float64Builder).Append(float64(x%1000) / 1000)
		b.Field(1).(*array.StringBuilder).Append(langs[x>>32%6%uint64(len(langs))])
		b.Field(2).(*array.Int64Builder).Append(int64(i))
		b.Field(3).(*array.Int32Builder).Append(int32(x % 2000))
		b.Field(4).(*array.Int32Builder).Append(int32(x >> 20 % 2000))
	}
	return b.NewRecordBatch(), rows
}

func BenchmarkSelect(b *testing.B) {
	rec, rows := benchBatch()
	defer rec.Release()
	for _, src := range []string{
		`score > 0.9 and lang == "de"`,
		`score > 0.9`,
		`w > 256`,
		`lang == "de"`,
		`w >= 256 and h >= 256 and w * h < 1000000`,
		`id == h`,
		`lang in ["de", "en"]`,
		`lang matches "^d"`,
		`contains(lang, "e")`,
	} {
		e, err := Parse(src)
		if err != nil {
			b.Fatal(err)
		}
		p, err := Compile(e, benchSchema)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(src, func(b *testing.B) {
			mem := memory.NewGoAllocator()
			buf := make([]uint32, 0, rows)
			b.ReportAllocs()
			b.SetBytes(int64(rows))
			for b.Loop() {
				if _, _, _, err := p.Select(mem, rec, buf); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

func BenchmarkEval(b *testing.B) {
	rec, rows := benchBatch()
	defer rec.Release()
	for _, src := range []string{`w * h`, `score / 2`, `id + 1`, `length(lang)`, `score > 0.5 ? score : 0.0`, `upper(lang)`, `hash(id)`} {
		e, err := Parse(src)
		if err != nil {
			b.Fatal(err)
		}
		p, err := Compile(e, benchSchema)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(src, func(b *testing.B) {
			mem := memory.NewGoAllocator()
			b.ReportAllocs()
			b.SetBytes(int64(rows))
			for b.Loop() {
				arr, _, err := p.Eval(mem, rec)
				if err != nil {
					b.Fatal(err)
				}
				arr.Release()
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
