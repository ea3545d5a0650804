package sluice_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice"
)

// BenchmarkRows reads 100,000 rows of a Parquet file into structs and into maps.
func BenchmarkRows(b *testing.B) {
	const rows = 100_000
	s, err := sluice.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	dir := b.TempDir()
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, "{\"id\":%d,\"score\":%d.5,\"name\":\"row %d\"}\n", i, i%100, i)
	}
	in := filepath.Join(dir, "in.jsonl")
	writeFile(b, in, text.String())
	path := filepath.Join(dir, "rows.parquet")
	if _, err := s.Read(in).Write(path).Run(b.Context()); err != nil {
		b.Fatal(err)
	}
	type row struct {
		ID    int64
		Score float64
		Name  string
	}
	check := func(b *testing.B, n int) {
		b.Helper()
		if n != rows {
			b.Fatalf("%d rows, want %d", n, rows)
		}
	}
	b.Run("structs", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			n := 0
			for _, err := range sluice.Rows[row](b.Context(), s.Read(path)) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			check(b, n)
		}
	})
	b.Run("maps", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			n := 0
			for _, err := range s.Read(path).Rows(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			check(b, n)
		}
	})
}
