package relational

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

func mustSort(tb testing.TB, text string) dataset.Spec {
	tb.Helper()
	p, err := parseSort(text)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Sort(*p.(*SortParams))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestSortSmall(t *testing.T) {
	schema := dt.Schema("a", arrow.PrimitiveTypes.Float64, "b", arrow.BinaryTypes.String)
	rows := `[{"a":2,"b":"x"},{"a":null,"b":"y"},{"a":-1,"b":null},{"a":2,"b":"a"},{"a":0,"b":"q"},{"a":2,"b":"x"}]`
	for _, c := range []struct{ by, want string }{
		{"a, b", "-1 | null;0 | \"q\";2 | \"a\";2 | \"x\";2 | \"x\";null | \"y\""},
		{"a desc, b desc", "2 | \"x\";2 | \"x\";2 | \"a\";0 | \"q\";-1 | null;null | \"y\""},
		{"a nulls first", "null | \"y\";-1 | null;0 | \"q\";2 | \"x\";2 | \"a\";2 | \"x\""},
		{"b asc nulls last, a", "2 | \"a\";0 | \"q\";2 | \"x\";2 | \"x\";null | \"y\";-1 | null"},
	} {
		t.Run(c.by, func(t *testing.T) {
			make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
				return arraytest.FromJSON(t, mem, schema, rows)
			}
			dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
				got := dt.Run(t, mem, mustSort(t, c.by), dt.Config{Instances: 2}, in)
				if s := strings.Join(got.Rows(), ";"); s != c.want {
					t.Errorf("rows are\n%s, want\n%s", s, c.want)
				}
			})
		})
	}
}

type row struct {
	f     float64
	fNull bool
	s     string
	n     int64
}

// sample makes rows with many equal and odd keys, and their record: f, s, n where n is the row's number, and blobs of size bytes.
func sample(r *rand.Rand, mem memory.Allocator, n, blob int) ([]row, arrow.RecordBatch) {
	schema := dt.Schema("f", arrow.PrimitiveTypes.Float64, "s", arrow.BinaryTypes.String, "n", arrow.PrimitiveTypes.Int64, "blob", arrow.BinaryTypes.Binary)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, 2}
	rows := make([]row, n)
	for i := range rows {
		x := row{f: odd[r.IntN(len(odd))], fNull: r.IntN(7) == 0, s: strings.Repeat("k", r.IntN(20)) + string(rune('a'+r.IntN(26))), n: int64(i)}
		if r.IntN(2) == 0 {
			x.f = math.Round(r.NormFloat64() * 100)
		}
		rows[i] = x
		if x.fNull {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.Float64Builder).Append(x.f)
		}
		b.Field(1).(*array.StringBuilder).Append(x.s)
		b.Field(2).(*array.Int64Builder).Append(x.n)
		b.Field(3).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(i)}, r.IntN(blob+1)))
	}
	return rows, b.NewRecordBatch()
}

func compareFloat(a, b row) int {
	rank := func(x row) int {
		switch {
		case x.fNull:
			return 2
		case math.IsNaN(x.f):
			return 1
		}
		return 0
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 || rank(a) > 0 {
		return c
	}
	return cmp.Compare(a.f, b.f)
}

// TestSortMatchesReference sorts with budgets from plenty to a fraction of the data and compares with a stable sort of Go's.
func TestSortMatchesReference(t *testing.T) {
	for _, c := range []struct {
		name      string
		rows, cut int
		blob      int
		cfg       dt.Config
		spills    bool
	}{
		{"in memory", 5000, 700, 8, dt.Config{}, false},
		{"in memory, 3 instances", 5000, 300, 8, dt.Config{Instances: 3}, false},
		{"spilling", 20000, 500, 40, dt.Config{Budget: 700 << 10, BlockBytes: 64 << 10}, true},
		{"spilling, 3 instances", 20000, 500, 40, dt.Config{Budget: 1500 << 10, BlockBytes: 64 << 10, Instances: 3}, true},
		{"many levels", 60000, 97, 20, dt.Config{Budget: 220 << 10, BlockBytes: 32 << 10}, true},
		{"blobs", 300, 20, 60 << 10, dt.Config{Budget: 2 << 20, BlockBytes: 64 << 10, Instances: 2}, true},
		{"rows larger than the budget", 20, 3, 300 << 10, dt.Config{Budget: 64 << 10, BlockBytes: 16 << 10}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			rows, rec := sample(rand.New(rand.NewPCG(1, 2)), memory.NewGoAllocator(), c.rows, c.blob)
			in := cut(dt.FromRecord(rec, 1), c.cut)
			got := dt.Run(t, mem, mustSort(t, "f, s desc"), c.cfg, in)
			slices.SortStableFunc(rows, func(a, b row) int {
				return cmp.Or(compareFloat(a, b), -strings.Compare(a.s, b.s))
			})
			checkOrder(t, got, rows)
			if spilled := got.Spilled > 0; spilled != c.spills {
				t.Errorf("spilled %d bytes", got.Spilled)
			}
			if c.name != "rows larger than the budget" && c.cfg.Budget > 0 && got.PeakReserved > 2*c.cfg.Budget {
				t.Errorf("%d bytes were reserved under a budget of %d", got.PeakReserved, c.cfg.Budget)
			}
			for _, b := range got.Blocks {
				if b.NumRows() > 1 && b.Bytes() > 2*max(c.cfg.BlockBytes, 1<<20) {
					t.Errorf("a block has %d bytes", b.Bytes())
				}
			}
		})
	}
}

func checkOrder(t *testing.T, got *dt.Result, want []row) {
	t.Helper()
	if got.NumRows() != len(want) {
		t.Fatalf("%d rows came out, want %d", got.NumRows(), len(want))
	}
	i := 0
	for _, b := range got.Blocks {
		n := b.ColumnByName("n").(*array.Int64)
		blob := b.ColumnByName("blob").(*array.Binary)
		for k := range b.NumRows() {
			if n.Value(k) != want[i].n {
				t.Fatalf("row %d is number %d, want %d", i, n.Value(k), want[i].n)
			}
			if v := blob.Value(k); len(v) > 0 && (v[0] != byte(want[i].n) || v[len(v)-1] != byte(want[i].n)) {
				t.Fatalf("row %d has the blob of another", i)
			}
			i++
		}
	}
}

// cut divides the only block of an input.
func cut(in dt.Input, rows int) dt.Input {
	b := in.Blocks[0]
	defer b.Release()
	out := dt.Input{Schema: in.Schema}
	for at := 0; at < b.NumRows(); at += rows {
		out.Blocks = append(out.Blocks, b.Slice(at, min(rows, b.NumRows()-at)))
	}
	return out
}

func TestSortEmpty(t *testing.T) {
	mem := arraytest.NewMemory(t)
	schema := dt.Schema("a", arrow.PrimitiveTypes.Int64)
	if got := dt.Run(t, mem, mustSort(t, "a"), dt.Config{Instances: 2}, dt.Input{Schema: schema}); got.NumRows() != 0 {
		t.Errorf("%d rows came out of nothing", got.NumRows())
	}
	if got := dt.Run(t, mem, mustSort(t, "a"), dt.Config{}, dt.FromJSON(t, mem, schema, `[]`)); got.NumRows() != 0 {
		t.Errorf("%d rows came out of an empty block", got.NumRows())
	}
}

// TestSortOneKey sorts rows that are all equal: order is the source's, and partitions cannot help.
func TestSortOneKey(t *testing.T) {
	mem := arraytest.NewMemory(t)
	schema := dt.Schema("k", arrow.BinaryTypes.String, "n", arrow.PrimitiveTypes.Int64)
	b := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer b.Release()
	key := strings.Repeat("same", 500)
	const n = 4000
	for i := range n {
		b.Field(0).(*array.StringBuilder).Append(key)
		b.Field(1).(*array.Int64Builder).Append(int64(i))
	}
	got := dt.Run(t, mem, mustSort(t, "k"), dt.Config{Budget: 1 << 20, BlockBytes: 64 << 10, Instances: 3}, cut(dt.FromRecord(b.NewRecordBatch(), 1), 77))
	want := int64(0)
	for _, b := range got.Blocks {
		for _, x := range b.ColumnByName("n").(*array.Int64).Values() {
			if x != want {
				t.Fatalf("row %d is number %d", want, x)
			}
			want++
		}
	}
	if want != n {
		t.Errorf("%d rows came out", want)
	}
}

// TestSortAllTypes sorts by each type while spilling, with every other type along.
func TestSortAllTypes(t *testing.T) {
	types := append(arraytest.Types(), block.Image, block.Pixels)
	for i, typ := range types {
		if typ.ID() == arrow.MAP {
			continue
		}
		t.Run(typ.String(), func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			r := rand.New(rand.NewPCG(uint64(i), 3))
			rec := arraytest.RandomRecord(r, mem, types, 150, true)
			want := arraytest.Rows(rec)
			got := dt.Run(t, mem, mustSort(t, fmt.Sprintf("c%d", i)), dt.Config{Budget: 100 << 10, BlockBytes: 32 << 10}, cut(dt.FromRecord(rec, 1), 20))
			have := got.Rows()
			slices.Sort(want)
			sorted := slices.Sorted(slices.Values(have))
			if !slices.Equal(sorted, want) {
				t.Error("the rows that came out are not those that went in")
			}
			checkAscending(t, got, i)
		})
	}
}

func checkAscending(t *testing.T, got *dt.Result, col int) {
	t.Helper()
	l, err := newLayout(got.Schema, []SortKey{{Column: got.Schema.Field(col).Name}})
	if err != nil {
		t.Fatal(err)
	}
	var last []byte
	tie := array.MakeArrayOfNull(memory.NewGoAllocator(), arrow.BinaryTypes.Binary, 1)
	for _, b := range got.Blocks {
		for i := range b.NumRows() {
			s := b.Slice(i, 1)
			rec := block.FromColumns(l.rows, append(slices.Clone(s.Record().Columns()), tie), 1)
			var m memoryRun
			m.add(l, rec)
			if k := m.key(m.entries[0]); bytes.Compare(last, k) > 0 {
				t.Errorf("a row of block with key %x follows %x", k, last)
			} else {
				last = k
			}
			_ = m.close()
			s.Release()
		}
	}
}

func TestSortFailures(t *testing.T) {
	_, rec := sample(rand.New(rand.NewPCG(1, 2)), memory.NewGoAllocator(), 5000, 100)
	t.Run("disk full", func(t *testing.T) {
		mem := arraytest.NewMemory(t)
		rec.Retain()
		got := dt.Run(t, mem, mustSort(t, "s"), dt.Config{Budget: 300 << 10, ScratchLimit: 100 << 10, WantError: true}, cut(dt.FromRecord(rec, 1), 100))
		if got.Err == nil || !strings.HasPrefix(got.Err.Error(), "spill rows: write scratch file: ") {
			t.Errorf("error is %v", got.Err)
		}
	})
	t.Run("canceled", func(t *testing.T) {
		mem := arraytest.NewMemory(t)
		rec.Retain()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(dataset.ErrCanceled)
		got := dt.Run(t, mem, mustSort(t, "s"), dt.Config{Context: ctx, BlockBytes: 16 << 10, WantError: true}, cut(dt.FromRecord(rec, 1), 100))
		if !errors.Is(got.Err, dataset.ErrCanceled) {
			t.Errorf("error is %v", got.Err)
		}
	})
}

func TestSortCheck(t *testing.T) {
	schema := dt.Schema("score", arrow.PrimitiveTypes.Float64, "m", arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64))
	for text, want := range map[string]string{
		"scroe":             `no column "scroe" (did you mean "score"?)`,
		"m":                 `column "m": map<utf8, int64, items_nullable> has no order; sort by something computed from it`,
		"score, score desc": `column "score" is named twice`,
		"":                  "it needs a column to sort by: sort score desc, id",
		"score up":          `at byte 0: unexpected "up" after column "score"; write NAME [asc|desc] [nulls first|nulls last]`,
		"score,, m":         "at byte 6: an item is missing before or after a comma",
	} {
		p, err := parseSort(text)
		var s dataset.Spec
		if err == nil {
			s, err = Sort(*p.(*SortParams))
		}
		if err == nil {
			_, err = s.Check([]*arrow.Schema{schema})
		}
		if err == nil || err.Error() != want {
			t.Errorf("sort %s: error is %v, want %s", text, err, want)
		}
	}
}

func TestSortParamsRoundTrip(t *testing.T) {
	p, err := parseSort(`a desc, "b c" nulls first, d asc nulls last`)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, k := range p.(*SortParams).By {
		b, err := k.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again SortKey
		if err := again.UnmarshalText(b); err != nil || again != k {
			t.Errorf("%s reads back as %v (%v)", b, again, err)
		}
		out = append(out, string(b))
	}
	if s := strings.Join(out, ", "); !strings.HasPrefix(s, "a desc, ") && !strings.HasPrefix(s, `"a" desc, `) {
		t.Errorf("text is %s", s)
	}
}

func BenchmarkSort(b *testing.B) {
	const n = 200_000
	for _, c := range []struct {
		by     string
		budget int64
	}{{"n", 0}, {"f, s desc", 0}, {"s", 0}, {"s", 8 << 20}} {
		b.Run(fmt.Sprintf("%s/budget=%dMiB", c.by, c.budget>>20), func(b *testing.B) {
			_, rec := sample(rand.New(rand.NewPCG(1, 2)), memory.NewGoAllocator(), n, 16)
			in := dt.FromRecord(rec, 1)
			size := in.Blocks[0].Bytes()
			spec := mustSort(b, c.by)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				mem := arraytest.NewMemory(b)
				blocks := dt.Input{Schema: in.Schema, Blocks: []*block.Block{in.Blocks[0].Retain()}}
				dt.Run(b, mem, spec, dt.Config{Budget: c.budget}, cut(blocks, 16<<10))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
