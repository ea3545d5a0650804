package operators

import (
	"encoding/json"
	"fmt"
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

// step makes a Spec as a pipeline string does.
func step(name, args string) (dataset.Spec, error) {
	reg := dataset.NewRegistry()
	if err := Register(reg); err != nil {
		return nil, err
	}
	d, err := reg.Operator(name)
	if err != nil {
		return nil, err
	}
	var p any
	if d.Parse != nil {
		p, err = d.Parse(args)
	} else {
		p = d.Zero()
		err = dataset.ParseArgs(args, p)
	}
	if err != nil {
		return nil, err
	}
	return d.New(p)
}

func mustStep(tb testing.TB, name, args string) dataset.Spec {
	tb.Helper()
	s, err := step(name, args)
	if err != nil {
		tb.Fatalf("%s %s: %v", name, args, err)
	}
	return s
}

var sample5 = dt.Schema("id", arrow.PrimitiveTypes.Int64, "text", arrow.BinaryTypes.String, "tags", arrow.ListOf(arrow.BinaryTypes.String),
	"pos", arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32, Nullable: true}, arrow.Field{Name: "y", Type: arrow.BinaryTypes.String, Nullable: true}))

const sampleRows = `[
	{"id":1,"text":"one","tags":["a","b"],"pos":{"x":1,"y":"p"}},
	{"id":2,"text":null,"tags":[],"pos":null},
	{"id":9223372036854775807,"text":"three","tags":null,"pos":{"x":null,"y":"q"}},
	{"id":null,"text":"four","tags":[null],"pos":{"x":4,"y":null}},
	{"id":5,"text":"five","tags":["c","d","e"],"pos":{"x":5,"y":"r"}}]`

func sampleRecord(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
	return arraytest.FromJSON(t, mem, sample5, sampleRows)
}

func TestSteps(t *testing.T) {
	for _, c := range []struct{ name, args, columns, rows, ids, fails string }{
		{"where", `id > 1 and text != nil`, "id text tags pos",
			`9223372036854775807 | "three" | null | {x=null y="q"};5 | "five" | ["c" "d" "e"] | {x=5 y="r"}`, "1:2 1:4", ""},
		{"where", `true`, "id text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"where", `id > 100 and id < 50`, "id text tags pos", "", "", ""},
		{"where", `id + 1 > 2`, "id text tags pos", `2 | null | [] | null;5 | "five" | ["c" "d" "e"] | {x=5 y="r"}`, "1:1 1:4", "1:2"},
		{"select", "text, id", "text id", `"one" | 1;null | 2;"three" | 9223372036854775807;"four" | null;"five" | 5`, "1:0 1:1 1:2 1:3 1:4", ""},
		{"drop", "tags, pos", "id text", `1 | "one";2 | null;9223372036854775807 | "three";null | "four";5 | "five"`, "1:0 1:1 1:2 1:3 1:4", ""},
		{"rename", "id key", "key text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"with", "twice = id + id", "id text tags pos twice", "", "1:0 1:1 1:3 1:4", "1:2"},
		{"with", `id = length(text)`, "id text tags pos", "", "1:0 1:1 1:2 1:3 1:4", ""},
		{"limit", "3", "id text tags pos", "", "1:0 1:1 1:2", ""},
		{"limit", "0", "id text tags pos", "", "", ""},
		{"limit", "99", "id text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"sample", "1", "id text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"sample", "0", "id text tags pos", "", "", ""},
		{"repartition", "2", "id text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"union", "", "id text tags pos", "*", "1:0 1:1 1:2 1:3 1:4", ""},
		{"unnest", "tags", "id text tags pos", "", "1:0.0 1:0.1 1:3.0 1:4.0 1:4.1 1:4.2", ""},
		{"unnest", "tags keep_empty=true", "id text tags pos", "", "1:0.0 1:0.1 1:1.0 1:2.0 1:3.0 1:4.0 1:4.1 1:4.2", ""},
		{"unnest", "pos", "id text tags x y", `1 | "one" | ["a" "b"] | 1 | "p";2 | null | [] | null | null;` +
			`9223372036854775807 | "three" | null | null | "q";null | "four" | [null] | 4 | null;5 | "five" | ["c" "d" "e"] | 5 | "r"`, "1:0 1:1 1:2 1:3 1:4", ""},
	} {
		t.Run(c.name+" "+c.args, func(t *testing.T) {
			dt.Shapes(t, sampleRecord, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
				var all []string
				for _, b := range in.Blocks {
					all = append(all, arraytest.Rows(b.Record())...)
				}
				got := dt.Run(t, mem, mustStep(t, c.name, c.args), dt.Config{}, in)
				var cols []string
				for _, f := range got.Schema.Fields() {
					cols = append(cols, f.Name)
				}
				check(t, "columns", strings.Join(cols, " "), c.columns)
				check(t, "identities", strings.Join(got.IDs(), " "), c.ids)
				switch c.rows {
				case "":
				case "*":
					check(t, "rows", strings.Join(got.Rows(), ";"), strings.Join(all, ";"))
				default:
					check(t, "rows", strings.Join(got.Rows(), ";"), c.rows)
				}
				var fails []string
				for _, f := range got.Failures {
					fails = append(fails, dt.IDText(f.Row))
				}
				check(t, "failures", strings.Join(fails, " "), c.fails)
			})
		})
	}
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s are\n%s, want\n%s", what, got, want)
	}
}

func TestUnnestRows(t *testing.T) {
	mem := arraytest.NewMemory(t)
	got := dt.Run(t, mem, mustStep(t, "unnest", "tags keep_empty=true"), dt.Config{BlockRows: 3}, dt.FromRecord(sampleRecord(t, mem), 1))
	var tags []string
	for _, b := range got.Blocks {
		if b.NumRows() > 3 {
			t.Errorf("a block has %d rows", b.NumRows())
		}
		tags = append(tags, arraytest.Column(b.Column(2))...)
	}
	check(t, "elements", strings.Join(tags, " "), `"a" "b" null null null "c" "d" "e"`)
}

// TestUnnestBoundsBlocks repeats a blob for each of many elements.
func TestUnnestBoundsBlocks(t *testing.T) {
	mem := arraytest.NewMemory(t)
	schema := dt.Schema("blob", arrow.BinaryTypes.Binary, "list", arrow.ListOf(arrow.PrimitiveTypes.Int64))
	b := array.NewRecordBuilder(mem, schema)
	b.Field(0).(*array.BinaryBuilder).Append(make([]byte, 10_000))
	l := b.Field(1).(*array.ListBuilder)
	l.Append(true)
	for i := range 500 {
		l.ValueBuilder().(*array.Int64Builder).Append(int64(i))
	}
	rec := b.NewRecordBatch()
	b.Release()
	got := dt.Run(t, mem, mustStep(t, "unnest", "list"), dt.Config{BlockBytes: 100_000}, dt.FromRecord(rec, 1))
	for _, b := range got.Blocks {
		if b.Bytes() > 110_000 {
			t.Errorf("a block has %d bytes", b.Bytes())
		}
	}
	if ids := got.IDs(); len(ids) != 500 || ids[499] != "1:0.499" {
		t.Errorf("%d rows, the last is %s", len(ids), ids[len(ids)-1])
	}
}

func TestLimitIsExactAndStops(t *testing.T) {
	mem := arraytest.NewMemory(t)
	var in dt.Input
	for i := range 10 {
		part := dt.FromRecord(sampleRecord(t, mem), uint64(i))
		in.Schema, in.Blocks = part.Schema, append(in.Blocks, part.Blocks...)
	}
	got := dt.Run(t, mem, mustStep(t, "limit", "10"), dt.Config{}, in)
	if got.NumRows() != 10 || !got.Stopped || got.Consumed != 2 {
		t.Errorf("%d rows from %d blocks, stopped %v", got.NumRows(), got.Consumed, got.Stopped)
	}
}

func TestRepartitionSizes(t *testing.T) {
	dt.Shapes(t, sampleRecord, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, mustStep(t, "repartition", "2"), dt.Config{}, in)
		var sizes []string
		for _, b := range got.Blocks {
			sizes = append(sizes, fmt.Sprint(b.NumRows()))
		}
		check(t, "sizes", strings.Join(sizes, " "), "2 2 1")
	})
}

func TestSampleIsStable(t *testing.T) {
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64)
	const n = 20000
	make := func(_ *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		b := array.NewRecordBuilder(mem, schema)
		defer b.Release()
		for i := range n {
			b.Field(0).(*array.Int64Builder).Append(int64(i))
		}
		return b.NewRecordBatch()
	}
	run := func(mem *arraytest.Memory, args string, in dt.Input) []string {
		return dt.Run(t, mem, mustStep(t, "sample", args), dt.Config{}, in).Rows()
	}
	mem := arraytest.NewMemory(t)
	tenth := run(mem, "0.1", dt.FromRecord(make(t, mem), 1))
	if len(tenth) < n/10-200 || len(tenth) > n/10+200 {
		t.Errorf("a tenth of %d is %d", n, len(tenth))
	}
	half := run(mem, "0.5", dt.FromRecord(make(t, mem), 1))
	for _, r := range tenth {
		if !slices.Contains(half, r) {
			t.Fatalf("row %s is in a tenth and not in a half", r)
		}
	}
	if other := run(mem, "0.1 seed=7", dt.FromRecord(make(t, mem), 1)); slices.Equal(other, tenth) {
		t.Error("another seed gives the same sample")
	}
}

func TestUnion(t *testing.T) {
	mem := arraytest.NewMemory(t)
	a := dt.FromJSON(t, mem, dt.Schema("x", arrow.PrimitiveTypes.Int64, "y", arrow.BinaryTypes.String), `[{"x":1,"y":"a"}]`)
	b := dt.FromJSON(t, mem, dt.Schema("y", arrow.BinaryTypes.String, "x", arrow.PrimitiveTypes.Int64), `[{"x":2,"y":"b"},{"x":3,"y":"c"}]`)
	got := dt.Run(t, mem, Union(), dt.Config{}, a, b)
	check(t, "rows", strings.Join(got.Rows(), ";"), `1 | "a";2 | "b";3 | "c"`)
}

func TestErrors(t *testing.T) {
	other := dt.Schema("id", arrow.BinaryTypes.String)
	for _, c := range []struct{ name, args, want string }{
		{"where", "", "it needs a condition: where score > 0.9"},
		{"where", "idd > 1", `unknown column "idd"; did you mean "id"?`},
		{"where", "id + 1", "not true or false; compare it with something"},
		{"where", "id >", "parse expression"},
		{"select", "", "it needs the names of columns"},
		{"select", "id, id", `column "id" is named twice`},
		{"select", "idd", `no column "idd" (did you mean "id"?)`},
		{"drop", "nothing_like_it", `no column "nothing_like_it"; there are id, text, tags, pos`},
		{"rename", "id", "it needs the old and the new name: rename OLD NEW"},
		{"rename", "id text", `there is a column "text" already; drop it first`},
		{"with", "x", "at byte 0: write with NAME = EXPRESSION"},
		{"with", "x == 1", "at byte 2: write with NAME = EXPRESSION"},
		{"with", "x = ", "it needs a column and an expression: with NAME = EXPRESSION"},
		{"with", "x = idd", `unknown column "idd"; did you mean "id"?`},
		{"limit", "", "it needs a number of rows: limit 100"},
		{"sample", "2", "it needs a fraction from 0 to 1; have 2"},
		{"sample", "", "it needs a fraction from 0 to 1: sample 0.01"},
		{"repartition", "0", "it needs a number of rows a block: repartition 10000"},
		{"unnest", "id", `column "id" is int64; unnest takes lists and structs`},
		{"unnest", "", "it needs a list or struct column: unnest tags"},
	} {
		s, err := step(c.name, c.args)
		if err == nil {
			_, err = s.Check([]*arrow.Schema{sample5})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error is %v, want %s", c.name, c.args, err, c.want)
		}
	}
	if _, err := Union().Check([]*arrow.Schema{other, dt.Schema("id", arrow.PrimitiveTypes.Int64)}); err == nil ||
		err.Error() != `column "id" is int64 in input 2 and utf8 in input 1; cast one of them` {
		t.Errorf("union of types: %v", err)
	}
	if _, err := Union().Check([]*arrow.Schema{other, dt.Schema("id", arrow.BinaryTypes.String, "z", arrow.Null)}); err == nil ||
		err.Error() != `column "z" of input 2 is not in input 1; drop it or add it there` {
		t.Errorf("union of columns: %v", err)
	}
}

// TestParamsAreCanonical checks that parameters survive JSON and that spelling does not matter.
func TestParamsAreCanonical(t *testing.T) {
	for _, c := range []struct{ name, a, b string }{
		{"where", "id>1  and   text!=nil", "id > 1 && text != nil"},
		{"with", "x=id+1", `"x" = (id + 1)`},
		{"select", "id,text", `"id" , text`},
	} {
		p, err := json.Marshal(mustStep(t, c.name, c.a).Params())
		if err != nil {
			t.Fatal(err)
		}
		q, err := json.Marshal(mustStep(t, c.name, c.b).Params())
		if err != nil {
			t.Fatal(err)
		}
		check(t, c.name+" parameters", string(p), string(q))
	}
}

func FuzzParseWith(f *testing.F) {
	for _, s := range []string{"x = 1", `"a b" = y + 1`, "x", "= 1", `"x`, "x == 1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseWith(s)
		if err == nil && p.(*WithParams).Column == "" {
			t.Errorf("%q gives no column and no error", s)
		}
	})
}

// benchInput makes a block of 64k rows of an int, a float and a text.
func benchInput(b *testing.B) dt.Input {
	b.Helper()
	schema := dt.Schema("id", arrow.PrimitiveTypes.Int64, "score", arrow.PrimitiveTypes.Float64, "text", arrow.BinaryTypes.String)
	bld := array.NewRecordBuilder(memory.NewGoAllocator(), schema)
	defer bld.Release()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 64 << 10 {
		bld.Field(0).(*array.Int64Builder).Append(int64(i))
		bld.Field(1).(*array.Float64Builder).Append(r.Float64())
		bld.Field(2).(*array.StringBuilder).Append(fmt.Sprint("row number ", i))
	}
	return dt.FromRecord(bld.NewRecordBatch(), 1)
}

func BenchmarkSteps(b *testing.B) {
	in := benchInput(b)
	for _, c := range []struct{ name, args string }{
		{"where", "score > 0.9"}, {"where", "score > 0.5"}, {"with", "x = id * 2 + 1"}, {"with", "len = length(text)"}, {"sample", "0.1"}, {"select", "id, text"},
	} {
		b.Run(c.name+" "+c.args, func(b *testing.B) {
			spec := mustStep(b, c.name, c.args)
			b.SetBytes(in.Blocks[0].Bytes())
			b.ReportAllocs()
			op, err := spec.New([]*arrow.Schema{in.Schema})
			if err != nil {
				b.Fatal(err)
			}
			rt := &dt.BenchRuntime{Mem: block.NewAllocator(block.NewPool(1<<30), nil)}
			if err := op.Open(b.Context(), rt); err != nil {
				b.Fatal(err)
			}
			emit := func(out *block.Block) error { out.Release(); return nil }
			for b.Loop() {
				if err := op.Process(b.Context(), 0, in.Blocks[0], emit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in.Blocks[0].NumRows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
