package relational

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// TestSortProperty draws data, blocks, budgets and parallelism; the result must not depend on the last three.
func TestSortProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 3000).Draw(rt, "rows")
		blob := rapid.SampledFrom([]int{0, 10, 2000}).Draw(rt, "blob")
		if blob > 100 {
			n = min(n, 300)
		}
		cfg := dt.Config{
			Budget:     int64(rapid.IntRange(1<<10, 2<<20).Draw(rt, "budget")),
			BlockBytes: int64(rapid.IntRange(1<<10, 1<<20).Draw(rt, "blockBytes")),
			BlockRows:  rapid.IntRange(1, 5000).Draw(rt, "blockRows"),
			Instances:  rapid.IntRange(1, 5).Draw(rt, "instances"),
		}
		rows, rec := sample(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)), memory.NewGoAllocator(), n, blob)
		in := cut(dt.FromRecord(rec, 1), rapid.IntRange(1, 700).Draw(rt, "cut"))
		mem := arraytest.NewMemory(t)
		got := dt.Run(t, mem, mustSort(t, "s desc, f nulls first"), cfg, in)
		slices.SortStableFunc(rows, func(a, b row) int {
			c := compareFloat(a, b)
			if a.fNull != b.fNull {
				c = -c
			}
			return cmp.Or(-strings.Compare(a.s, b.s), c)
		})
		checkOrder(t, got, rows)
	})
}
