package block_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

func testTypes() []arrow.DataType { return append(arraytest.Types(), block.Image, block.Pixels) }

func indices(r *rand.Rand, n, rows int, shape string) []uint32 {
	out := make([]uint32, 0, n)
	if rows == 0 {
		return out
	}
	for len(out) < n {
		switch shape {
		case "ascending":
			step := uint32(1 + r.IntN(3))
			last := uint32(0)
			if len(out) > 0 {
				last = out[len(out)-1] + step
			}
			if int(last) >= rows {
				return out
			}
			out = append(out, last)
		default:
			out = append(out, uint32(r.IntN(rows)))
		}
	}
	return out
}

func TestTakeArrayMatchesElementwise(t *testing.T) {
	for _, dt := range testTypes() {
		t.Run(dt.String(), func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			for seed := range uint64(30) {
				r := rand.New(rand.NewPCG(seed, 1))
				a := arraytest.Random(r, mem, dt, r.IntN(80), seed%3 != 0)
				idx := indices(r, r.IntN(120), a.Len(), []string{"any", "ascending"}[seed%2])
				got, err := block.TakeArray(mem, a, idx)
				if err != nil {
					t.Fatal(err)
				}
				checkPicked(t, got, len(idx), func(i int) string { return arraytest.Text(a, int(idx[i])) })
				got.Release()
				a.Release()
			}
		})
	}
}

func TestInterleaveMatchesElementwise(t *testing.T) {
	for _, dt := range testTypes() {
		t.Run(dt.String(), func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 2))
				recs := make([]arrow.RecordBatch, 1+r.IntN(4))
				for k := range recs {
					recs[k] = arraytest.RandomRecord(r, mem, []arrow.DataType{dt}, 1+r.IntN(40), seed%3 != 0)
				}
				n := r.IntN(100)
				from, rows := make([]uint32, n), make([]uint32, n)
				for i := range n {
					from[i] = uint32(r.IntN(len(recs)))
					rows[i] = uint32(r.IntN(int(recs[from[i]].NumRows())))
				}
				got, err := block.Interleave(mem, recs, from, rows)
				if err != nil {
					t.Fatal(err)
				}
				checkPicked(t, got.Column(0), n, func(i int) string { return arraytest.Text(recs[from[i]].Column(0), int(rows[i])) })
				got.Release()
				for _, rec := range recs {
					rec.Release()
				}
			}
		})
	}
}

// checkPicked compares got with the wanted text of each element and checks its bitmap count and its structure.
func checkPicked(t *testing.T, got arrow.Array, n int, want func(i int) string) {
	t.Helper()
	if got.Len() != n {
		t.Fatalf("length is %d, want %d", got.Len(), n)
	}
	nulls := 0
	for i := range n {
		if g, w := arraytest.Text(got, i), want(i); g != w {
			t.Fatalf("element %d is %s, want %s", i, g, w)
		}
		if got.IsNull(i) {
			nulls++
		}
	}
	if got.DataType().ID() != arrow.NULL && got.NullN() != nulls {
		t.Fatalf("null count is %d, want %d", got.NullN(), nulls)
	}
}

func TestTakeBlock(t *testing.T) {
	mem := arraytest.NewMemory(t)
	r := rand.New(rand.NewPCG(3, 3))
	rec := arraytest.RandomRecord(r, mem, testTypes(), 50, true)
	file := &block.File{Ordinal: 7, Path: "a.csv"}
	b := block.New(rec, block.FromRuns(block.Run{File: file, First: 100, N: 50, Stride: 2}))
	defer b.Release()
	for _, idx := range [][]uint32{{}, {3}, {0, 1, 2, 3}, {9, 11, 40}, seq(0, 50), seq(10, 40), seq(0, 10)} {
		got, err := block.Take(mem, b, idx)
		if err != nil {
			t.Fatal(err)
		}
		if got.NumRows() != len(idx) {
			t.Fatalf("%d rows for %d indices", got.NumRows(), len(idx))
		}
		all, have := arraytest.Rows(b.Record()), arraytest.Rows(got.Record())
		for i, x := range idx {
			if have[i] != all[x] {
				t.Errorf("row %d is %s, want %s", i, have[i], all[x])
			}
			if p := got.Identity().At(i).Position; p != 100+2*uint64(x) {
				t.Errorf("row %d is at position %d, want %d", i, p, 100+2*x)
			}
		}
		got.Release()
	}
	if _, err := block.Take(mem, b, []uint32{1, 50}); err == nil || err.Error() != "take rows: there is no row 50 among 50" {
		t.Errorf("out of range: %v", err)
	}
}

func seq(from, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = uint32(from + i)
	}
	return out
}

// TestTakeSurvivesExhaustion makes the allocator panic at every point in turn; nothing may leak.
func TestTakeSurvivesExhaustion(t *testing.T) {
	types := []arrow.DataType{arrow.ListOf(arrow.BinaryTypes.String), arrow.BinaryTypes.String,
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true})}
	src := arraytest.NewMemory(t)
	rec := arraytest.RandomRecord(rand.New(rand.NewPCG(4, 4)), src, types, 30, true)
	defer rec.Release()
	for after := 1; ; after++ {
		mem := arraytest.NewMemory(t)
		mem.FailAfter = after
		done := func() (done bool) {
			defer func() {
				if v := recover(); v != nil && !errors.Is(v.(error), arraytest.ErrNoMemory) {
					panic(v)
				}
			}()
			out, err := block.TakeRecord(mem, rec, []uint32{5, 1, 2})
			if err != nil {
				return false
			}
			out.Release()
			return true
		}()
		mem.Check(t)
		if done {
			return
		}
	}
}

func TestMergeMatchesElementwise(t *testing.T) {
	for _, dt := range testTypes() {
		t.Run(dt.String(), func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			for seed := range uint64(20) {
				r := rand.New(rand.NewPCG(seed, 5))
				parts := make([]arrow.Array, 1+r.IntN(5))
				var want []string
				for k := range parts {
					parts[k] = arraytest.Random(r, mem, dt, r.IntN(30), r.IntN(3) > 0)
					want = append(want, arraytest.Column(parts[k])...)
				}
				got, err := block.MergeArrays(mem, parts)
				if err != nil {
					t.Fatal(err)
				}
				checkPicked(t, got, len(want), func(i int) string { return want[i] })
				ref, err := array.Concatenate(parts, mem)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(arraytest.Column(ref), want) {
					t.Errorf("the reference disagrees with itself")
				}
				ref.Release()
				got.Release()
				for _, p := range parts {
					p.Release()
				}
			}
		})
	}
}

func TestMergeBlocks(t *testing.T) {
	mem := arraytest.NewMemory(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	mk := func(file uint64, rows string, n uint32) *block.Block {
		return block.New(arraytest.FromJSON(t, mem, schema, rows),
			block.FromRuns(block.Run{File: &block.File{Ordinal: file}, First: 10, N: n, Stride: 1}))
	}
	a, b := mk(1, `[{"a":1},{"a":2}]`, 2), mk(2, `[{"a":null},{"a":4},{"a":5}]`, 3)
	defer a.Release()
	defer b.Release()
	c := b.Slice(1, 2)
	defer c.Release()
	got, err := block.Merge(mem, []*block.Block{a, c, b})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if s := strings.Join(arraytest.Rows(got.Record()), ","); s != "1,2,4,5,null,4,5" {
		t.Errorf("rows are %s", s)
	}
	var where []string
	for i := range got.NumRows() {
		id := got.Identity().At(i)
		where = append(where, fmt.Sprintf("%d:%d", id.File.Ordinal, id.Position))
	}
	if s := strings.Join(where, " "); s != "1:10 1:11 2:11 2:12 2:10 2:11 2:12" {
		t.Errorf("identities are %s", s)
	}
	if _, err := block.Merge(mem, nil); err == nil {
		t.Error("merging nothing gave no error")
	}
	other := block.New(arraytest.FromJSON(t, mem, arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.PrimitiveTypes.Int8}}, nil), `[{"b":1}]`),
		block.FromRuns(block.Run{File: &block.File{}, N: 1}))
	defer other.Release()
	_, err = block.Merge(mem, []*block.Block{a, other})
	if err == nil || err.Error() != "merge records: column 0 of record 1 is b int8, in the first it is a int64" {
		t.Errorf("other columns: %v", err)
	}
}

func BenchmarkTake(b *testing.B) {
	const rows = 64 << 10
	pool := block.NewPool(1 << 30)
	mem := block.NewAllocator(pool, nil)
	r := rand.New(rand.NewPCG(6, 6))
	for _, dt := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.BinaryTypes.String,
		arrow.FixedWidthTypes.Boolean, arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float32)} {
		for _, nulls := range []bool{false, true} {
			for _, keep := range []int{2, 10} {
				b.Run(fmt.Sprintf("%s/nulls=%v/keep=1in%d", dt, nulls, keep), func(b *testing.B) {
					a := arraytest.Random(r, memory.NewGoAllocator(), dt, rows, nulls)
					var idx []uint32
					for i := range rows {
						if r.IntN(keep) == 0 {
							idx = append(idx, uint32(i))
						}
					}
					b.ReportAllocs()
					b.SetBytes(block.ArrayBytes(a) / int64(keep))
					for b.Loop() {
						out, err := block.TakeArray(mem, a, idx)
						if err != nil {
							b.Fatal(err)
						}
						out.Release()
					}
				})
			}
		}
	}
}
