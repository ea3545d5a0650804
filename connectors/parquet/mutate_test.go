package parquet

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestMutations flips, cuts and repeats bytes of small files: FuzzRead without
// the fuzzer, so that every run of the tests covers some thousand of them.
func TestMutations(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	seeds := append(oracleSeeds(t), smallFile(t))
	for i := range 4000 {
		b := bytes.Clone(seeds[i%len(seeds)])
		for range 1 + rng.IntN(4) {
			at := rng.IntN(len(b))
			switch rng.IntN(4) {
			case 0:
				b[at] = byte(rng.Uint32())
			case 1:
				b[at] ^= 1 << rng.IntN(8)
			case 2:
				b[at] = 0xFF
			case 3:
				end := min(len(b), at+rng.IntN(8))
				copy(b[at:], b[end:])
			}
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		readSome(b, ReadOptions{Allocator: &capped{Allocator: mem, t: t, limit: 1 << 30}, BatchRows: 1000, BatchBytes: 1 << 16}, 20)
		mem.AssertSize(t, 0)
	}
}
