package arrowipc

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// touch reads every value of a block, so that an array that cannot be read shows.
func touch(b *block.Block) {
	for i := range b.NumCols() {
		arraytest.Column(b.Column(i))
	}
}

// readWhole reads a file to its end or to the first error, and gives all memory back.
func readWhole(tb testing.TB, path string, opt Options) {
	src, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: path}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := context.Background()
	rt := &connectortest.Runtime{Mem: memory.NewCheckedAllocator(memory.NewGoAllocator()), Rows: 100}
	defer rt.Mem.AssertSize(tb, 0)
	seen := 0
	for s, err := range src.Splits(ctx, dataset.Cursor{}) {
		if err != nil {
			return
		}
		r, err := src.Open(ctx, rt, s, 0)
		if err != nil {
			continue
		}
		for seen < 100_000 {
			b, err := r.Next(ctx)
			if err != nil {
				if b != nil {
					tb.Fatal("a block comes with an error")
				}
				if err == io.EOF {
					break
				}
				break
			}
			touch(b)
			seen += b.NumRows()
			b.Release()
		}
		if err := r.Close(); err != nil {
			tb.Fatal(err)
		}
	}
}

func seeds(tb testing.TB) [][]byte {
	small := func(seed uint64) arrow.RecordBatch { return random(memory.NewGoAllocator(), seed, 3) }
	b := array.NewRecordBuilder(memory.NewGoAllocator(), arrow.NewSchema(nil, nil))
	return [][]byte{
		encode(tb, true, []arrow.RecordBatch{small(1), small(2)}), encode(tb, false, []arrow.RecordBatch{small(3)}),
		encode(tb, false, []arrow.RecordBatch{small(4)}, ipc.WithZstd()), encode(tb, true, []arrow.RecordBatch{small(5)}, ipc.WithLZ4()),
		encode(tb, false, []arrow.RecordBatch{b.NewRecordBatch()}), viewFile(tb, "short", "a value that is longer than a view", ""),
	}
}

// FuzzRead reads damaged files: every way ends in rows or an error, with bounded memory and nothing leaked.
func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "x.arrow")
		if err := os.WriteFile(p, data, 0o644); err != nil {
			t.Fatal(err)
		}
		readWhole(t, p, Options{MaxBatch: 1 << 20})
	})
}

// TestDamaged changes bytes all over small files.
func TestDamaged(t *testing.T) {
	p := filepath.Join(t.TempDir(), "x.arrow")
	for _, s := range seeds(t) {
		for i := 0; i < len(s); i += 61 {
			for _, v := range []byte{0, 0x7f, 0xff} {
				bad := append([]byte(nil), s...)
				bad[i] = v
				if err := os.WriteFile(p, bad, 0o644); err != nil {
					t.Fatal(err)
				}
				readWhole(t, p, Options{MaxBatch: 1 << 20})
			}
		}
	}
}
