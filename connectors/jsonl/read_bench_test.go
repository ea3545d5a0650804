package jsonl

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// BenchmarkRead reads a file through the whole source: listing, splits, reading, parsing, blocks.
func BenchmarkRead(b *testing.B) {
	p := filepath.Join(b.TempDir(), "in.jsonl")
	data := eventLines(200_000)
	if err := os.WriteFile(p, data, 0o644); err != nil {
		b.Fatal(err)
	}
	src, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: p}}), Options{})
	if err != nil {
		b.Fatal(err)
	}
	rt := &connectortest.Runtime{Bytes: 8 << 20, Rows: 1 << 17}
	splits := connectortest.Splits(b, src, dataset.Cursor{})
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	start := cpuSeconds(b)
	for b.Loop() {
		rows := 0
		for _, s := range splits {
			n, err := connectortest.Count(b.Context(), src, rt, s)
			if err != nil {
				b.Fatal(err)
			}
			rows += n
		}
		if rows != 200_000 {
			b.Fatal(rows)
		}
	}
	b.ReportMetric(float64(len(data))*float64(b.N)/1e6/(cpuSeconds(b)-start), "MB/cpu-s")
}
