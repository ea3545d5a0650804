package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestRareEncodings reads what this package does not write: delta encodings,
// split byte streams, run-length booleans, in both kinds of pages.
func TestRareEncodings(t *testing.T) {
	for i, file := range oracleSeeds(t) {
		want := pqRead(t, file)
		for _, rows := range []int{1, 7, 1000} {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			got, err := readAll(file, ReadOptions{Allocator: mem, BatchRows: rows, Window: 1})
			if err != nil {
				t.Fatalf("file %d: %v", i, err)
			}
			sameRows(t, want, got)
			got.Release()
			mem.AssertSize(t, 0)
		}
	}
}
