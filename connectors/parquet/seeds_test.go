package parquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	apq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
)

// oracleSeeds are small files with the encodings that this package reads and
// does not write.
func oracleSeeds(t fataler) [][]byte { return oracleFiles(t, 300) }

// fuzzSeeds are the same with few rows: a fuzzer gets to more of them in its time.
func fuzzSeeds(t fataler) [][]byte { return oracleFiles(t, 24) }

func oracleFiles(t fataler, rows int) [][]byte {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "i32", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "i64", Type: arrow.PrimitiveTypes.Int64},
		{Name: "f64", Type: arrow.PrimitiveTypes.Float64},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "fixed", Type: &arrow.FixedSizeBinaryType{ByteWidth: 4}},
		{Name: "flag", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	}, nil)
	g := &gen{state: 99, nulls: 20, distinct: 1 << 40}
	b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
	for range rows {
		for i, f := range s.Fields() {
			g.append(b.Field(i), f.Type, f.Nullable)
		}
	}
	batch := b.NewRecordBatch()
	var out [][]byte
	for _, enc := range seedEncodings {
		for _, v := range []apq.DataPageVersion{apq.DataPageV1, apq.DataPageV2} {
			opts := []apq.WriterProperty{apq.WithDictionaryDefault(false), apq.WithDataPageVersion(v), apq.WithDataPageSize(500), apq.WithBatchSize(int64(max(rows/6, 8))), apq.WithCompression(compress.Codecs.Snappy)}
			for col, e := range enc {
				opts = append(opts, apq.WithEncodingFor(col, e))
			}
			out = append(out, pqWrite(t, batch, apq.NewWriterProperties(opts...)))
		}
	}
	return out
}

var seedEncodings = []map[string]apq.Encoding{
	{"i32": apq.Encodings.DeltaBinaryPacked, "i64": apq.Encodings.DeltaBinaryPacked, "f64": apq.Encodings.ByteStreamSplit, "text": apq.Encodings.DeltaLengthByteArray, "fixed": apq.Encodings.ByteStreamSplit, "flag": apq.Encodings.RLE},
	{"i32": apq.Encodings.ByteStreamSplit, "i64": apq.Encodings.ByteStreamSplit, "text": apq.Encodings.DeltaByteArray},
}
