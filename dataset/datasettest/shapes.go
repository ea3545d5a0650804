package datasettest

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// Shapes runs f once for each of many ways to cut the rows of make into blocks: whole, one row a block, uneven pieces with empty blocks
// between, slices at an offset, rows picked by index. The rows and their identities are the same each time. make is called afresh with an
// allocator of the subtest.
func Shapes(t *testing.T, make func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch, f func(t *testing.T, mem *arraytest.Memory, in Input)) {
	t.Helper()
	for _, s := range []struct {
		name string
		cut  func(t *testing.T, mem *arraytest.Memory, b *block.Block) []*block.Block
	}{
		{"whole", func(_ *testing.T, _ *arraytest.Memory, b *block.Block) []*block.Block {
			return []*block.Block{b.Retain()}
		}},
		{"one row", func(_ *testing.T, _ *arraytest.Memory, b *block.Block) []*block.Block { return pieces(b, 1) }},
		{"uneven", func(_ *testing.T, _ *arraytest.Memory, b *block.Block) []*block.Block {
			return pieces(b, 0, 3, 1, 0, 7)
		}},
		{"indexed", indexed},
	} {
		t.Run(s.name, func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			whole := FromRecord(make(t, mem), 1)
			defer whole.release()
			f(t, mem, Input{whole.Schema, s.cut(t, mem, whole.Blocks[0])})
		})
	}
}

// pieces cuts b into slices of the given sizes, over and over.
func pieces(b *block.Block, sizes ...int) []*block.Block {
	var out []*block.Block
	for at, i := 0, 0; at < b.NumRows(); i++ {
		n := min(sizes[i%len(sizes)], b.NumRows()-at)
		out = append(out, b.Slice(at, n))
		at += n
	}
	return out
}

// indexed makes blocks of five rows whose identity is a vector of indices, as a filter leaves them.
func indexed(t *testing.T, mem *arraytest.Memory, b *block.Block) []*block.Block {
	var out []*block.Block
	for at := 0; at < b.NumRows(); at += 5 {
		var idx []uint32
		for i := at; i < min(at+5, b.NumRows()); i++ {
			idx = append(idx, uint32(i))
		}
		rec, err := block.TakeRecord(mem, b.Record(), idx)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Select(rec, idx))
	}
	return out
}
