package rowfn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/operators/rowfn"
)

type person struct {
	Name string
	Age  int64
}

var people = dt.Schema("name", arrow.BinaryTypes.String, "age", arrow.PrimitiveTypes.Int32, "note", arrow.BinaryTypes.String)

const peopleRows = `[{"name":"Ada","age":36,"note":"x"},{"name":"Bob","age":null,"note":"y"},{"name":"Cy","age":7,"note":null},{"name":"","age":-1,"note":"z"}]`

func peopleRecord(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
	return arraytest.FromJSON(t, mem, people, peopleRows)
}

func TestMap(t *testing.T) {
	type greeting struct {
		Text string
		Len  int
	}
	spec := rowfn.Map(func(_ context.Context, p person) (greeting, error) {
		if p.Name == "" {
			return greeting{}, errors.New("no name")
		}
		return greeting{fmt.Sprint(p.Name, p.Age), len(p.Name)}, nil
	})
	dt.Shapes(t, peopleRecord, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, spec, dt.Config{}, in)
		if s := strings.Join(got.Rows(), ";"); s != `"Ada36" | 3;"Cy7" | 2` {
			t.Errorf("rows are %s", s)
		}
		if s := strings.Join(got.IDs(), " "); s != "1:0 1:2" {
			t.Errorf("identities are %s", s)
		}
		want := `1:1: column "age" is null, the field is int64; use *int64 or the tag option zero;1:3: no name`
		if s := strings.Join(got.Causes(), ";"); s != want {
			t.Errorf("failures are %s, want %s", s, want)
		}
	})
}

func TestMapEmbedsInput(t *testing.T) {
	type in struct {
		Name string
		Age  *int32
	}
	type out struct {
		in
		Adult bool
		Name  string // replaces the column
	}
	spec := rowfn.Map(func(_ context.Context, p in) (out, error) {
		if p.Name == "Cy" {
			return out{}, errors.New("not Cy")
		}
		return out{Adult: p.Age != nil && *p.Age >= 18, Name: strings.ToUpper(p.Name)}, nil
	})
	dt.Shapes(t, peopleRecord, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, spec, dt.Config{}, in)
		if s := got.Schema.String(); !strings.Contains(s, "name: type=utf8") || got.Schema.Field(1).Type.ID() != arrow.INT32 {
			t.Errorf("schema is %s", s)
		}
		if s := strings.Join(got.Rows(), ";"); s != `"ADA" | 36 | true;"BOB" | null | false;"" | -1 | false` {
			t.Errorf("rows are %s", s)
		}
	})
}

type everything struct {
	B   bool
	I8  int8
	U64 uint64
	F32 float32
	F64 float64
	S   string
	Bin []byte
	T   time.Time
	D   time.Duration
	L   []float32
	LS  []string
	LP  []*int64
	St  struct {
		X int16
		Y []string
	}
	P  *string
	N  *struct{ Z int32 }
	LL [][]int64
}

// TestRoundTripOfAllTypes writes every kind of field and reads it back.
func TestRoundTripOfAllTypes(t *testing.T) {
	seven, text := int64(7), "p"
	full := everything{true, -8, 1 << 63, 1.5, 2.5, "s", []byte{1, 2}, time.UnixMicro(1234567).UTC(), time.Second, []float32{1, 2}, []string{"a", ""},
		[]*int64{nil, &seven}, struct {
			X int16
			Y []string
		}{3, []string{"y"}}, &text, &struct{ Z int32 }{9}, [][]int64{{1}, {}, {2, 3}}}
	bare := everything{T: time.Unix(0, 0).UTC(), Bin: []byte{}, L: []float32{}, LS: []string{}, LP: []*int64{}, LL: [][]int64{}}
	bare.St.Y = []string{}
	mem := arraytest.NewMemory(t)
	type seed struct{ I int64 }
	make := rowfn.Map(func(_ context.Context, s seed) (everything, error) {
		if s.I%2 == 0 {
			return full, nil
		}
		return bare, nil
	})
	in := dt.FromJSON(t, mem, dt.Schema("i", arrow.PrimitiveTypes.Int64), `[{"i":0},{"i":1},{"i":2}]`)
	made := dt.Run(t, mem, make, dt.Config{}, in)
	back := dt.Input{Schema: made.Schema}
	for _, b := range made.Blocks {
		back.Blocks = append(back.Blocks, b.Retain())
	}
	type verdict struct{ Text string }
	read := rowfn.Map(func(_ context.Context, e everything) (verdict, error) { return verdict{show(e)}, nil })
	got := dt.Run(t, mem, read, dt.Config{}, back)
	col := got.Blocks[0].Column(0).(*array.String)
	for i, want := range []everything{full, bare, full} {
		if col.Value(i) != show(want) {
			t.Errorf("row %d is\n%s, want\n%s", i, col.Value(i), show(want))
		}
	}
}

func show(e everything) string {
	s := fmt.Sprint(e.B, e.I8, e.U64, e.F32, e.F64, e.S, e.Bin, e.T, e.D, e.L, e.LS, e.St, e.LL, len(e.LP))
	for _, p := range e.LP {
		if p == nil {
			s += " nil"
		} else {
			s += fmt.Sprint(" ", *p)
		}
	}
	if e.P != nil {
		s += *e.P
	}
	if e.N != nil {
		s += fmt.Sprint(e.N.Z)
	}
	return s
}

func TestStringsOutliveTheBlock(t *testing.T) {
	mem := arraytest.NewMemory(t)
	var kept []string
	var copied [][]byte
	type in struct {
		Name string
		Raw  []byte `sluice:"note,copy,zero"`
	}
	spec := rowfn.Filter(func(_ context.Context, p in) (bool, error) {
		kept, copied = append(kept, p.Name), append(copied, p.Raw)
		return false, nil
	})
	dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, people, peopleRows))
	if s := strings.Join(kept, ","); s != "Ada,Bob,Cy," || string(copied[3]) != "z" || copied[2] != nil {
		t.Errorf("kept %q %q after the memory was overwritten", kept, copied)
	}
}

func TestFlatMapAcrossBlocks(t *testing.T) {
	type in struct{ N int64 }
	type out struct {
		in
		K int64
	}
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64)
	spec := rowfn.FlatMap(func(_ context.Context, p in) ([]out, error) {
		if p.N < 0 {
			return []out{{}}, errors.New("negative")
		}
		outs := make([]out, p.N)
		for k := range outs {
			outs[k].K = int64(k)
		}
		return outs, nil
	})
	make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, `[{"n":2},{"n":0},{"n":-1},{"n":7},{"n":1},{"n":3}]`)
	}
	dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, spec, dt.Config{BlockRows: 3}, in)
		if s := strings.Join(got.Rows(), ";"); s != "2 | 0;2 | 1;7 | 0;7 | 1;7 | 2;7 | 3;7 | 4;7 | 5;7 | 6;1 | 0;3 | 0;3 | 1;3 | 2" {
			t.Errorf("rows are %s", s)
		}
		want := "1:0.0 1:0.1 1:3.0 1:3.1 1:3.2 1:3.3 1:3.4 1:3.5 1:3.6 1:4.0 1:5.0 1:5.1 1:5.2"
		if s := strings.Join(got.IDs(), " "); s != want {
			t.Errorf("identities are %s, want %s", s, want)
		}
		for _, b := range got.Blocks {
			if b.NumRows() > 3 {
				t.Errorf("a block has %d rows", b.NumRows())
			}
		}
	})
}

func TestPanicFailsTheRow(t *testing.T) {
	mem := arraytest.NewMemory(t)
	type in struct{ Name string }
	spec := rowfn.Map(func(_ context.Context, p in) (in, error) {
		if p.Name == "Cy" {
			panic("boom")
		}
		return p, nil
	})
	got := dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, people, peopleRows))
	if s := strings.Join(got.Causes(), ";"); s != "1:2: internal error in map at test.jsonl, row 2: boom" {
		t.Errorf("failures are %s", s)
	}
	if got.NumRows() != 3 {
		t.Errorf("%d rows came out", got.NumRows())
	}
	if _, ok := errors.AsType[*dataset.PanicError](got.Failures[0].Err); !ok {
		t.Errorf("error is %T", got.Failures[0].Err)
	}
}

func TestErrorsThatEndTheRun(t *testing.T) {
	for _, want := range []error{&dataset.TransientError{Err: errors.New("later")}, &dataset.FatalError{Err: errors.New("never")}, dataset.ErrStop} {
		mem := arraytest.NewMemory(t)
		type in struct{ Name string }
		spec := rowfn.Filter(func(context.Context, in) (bool, error) { return false, want })
		got := dt.Run(t, mem, spec, dt.Config{WantError: true}, dt.FromJSON(t, mem, people, peopleRows))
		if !errors.Is(got.Err, want) && !(want == dataset.ErrStop && got.Stopped) || len(got.Failures) > 0 {
			t.Errorf("%v became %v and %v", want, got.Err, got.Failures)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	type wrongType struct{ Name int64 }
	type narrow struct{ Age int16 }
	type missing struct{ Agee int64 }
	type noCols struct{ x int }
	type tag struct {
		A int64 `sluice:"age,sometimes"`
	}
	type twice struct {
		A int64 `sluice:"age"`
		B int64 `sluice:"age"`
	}
	_ = noCols{}.x
	for _, c := range []struct {
		spec dataset.Spec
		want string
	}{
		{idMap[wrongType](), `bind rowfn_test.wrongType: column "name": it is utf8, which a field of type int64 does not hold`},
		{idMap[narrow](), `bind rowfn_test.narrow: column "age": it is int32, which a field of type int16 does not hold`},
		{idMap[missing](), `bind rowfn_test.missing: no column "agee" (did you mean "age"?)`},
		{idMap[noCols](), `bind rowfn_test.noCols: rowfn_test.noCols has no field that is a column`},
		{idMap[tag](), `bind rowfn_test.tag: field A: unknown tag option "sometimes"; there are zero, copy and image`},
		{idMap[twice](), `bind rowfn_test.twice: rowfn_test.twice has two fields for column "age"`},
		{idMap[int](), `bind int: int is no struct of columns`},
		{rowfn.Map(func(context.Context, person) (struct{ C chan int }, error) { panic("unused") }), `bind struct { C chan int }: column "c": a field of type chan int has no column type`},
	} {
		if _, err := c.spec.Check([]*arrow.Schema{people}); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

func idMap[T any]() dataset.Spec {
	return rowfn.Map(func(_ context.Context, in T) (T, error) { return in, nil })
}

func TestBatchMap(t *testing.T) {
	double := func(ctx context.Context, mem memory.Allocator, in arrow.RecordBatch) (arrow.RecordBatch, error) {
		v := in.Column(0).(*array.Int64)
		b := array.NewInt64Builder(mem)
		defer b.Release()
		for i := range v.Len() {
			switch v.Value(i) {
			case 13:
				return nil, errors.New("thirteen")
			case 14:
				panic("fourteen")
			}
			b.Append(2 * v.Value(i))
		}
		a := b.NewArray()
		defer a.Release()
		return array.NewRecordBatch(in.Schema(), []arrow.Array{a}, int64(v.Len())), nil
	}
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64)
	make := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, schema, `[{"n":1},{"n":13},{"n":2},{"n":3},{"n":4},{"n":14},{"n":5}]`)
	}
	dt.Shapes(t, make, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		got := dt.Run(t, mem, rowfn.BatchMap(rowfn.SameSchema, double), dt.Config{}, in)
		if s := strings.Join(got.Rows(), " "); s != "2 4 6 8 10" {
			t.Errorf("rows are %s", s)
		}
		if s := strings.Join(got.Causes(), ";"); s != "1:1: thirteen;1:5: internal error in batch-map at test.jsonl, row 5: fourteen" {
			t.Errorf("failures are %s", s)
		}
	})
	t.Run("nondeterministic", func(t *testing.T) {
		mem := arraytest.NewMemory(t)
		got := dt.Run(t, mem, rowfn.BatchMap(rowfn.SameSchema, double, rowfn.Nondeterministic()), dt.Config{}, dt.FromRecord(make(t, mem), 1))
		if got.NumRows() != 0 || len(got.Failures) != 7 {
			t.Errorf("%d rows, %d failures", got.NumRows(), len(got.Failures))
		}
	})
}

func TestBatchMapShapes(t *testing.T) {
	schema := dt.Schema("n", arrow.PrimitiveTypes.Int64)
	withParent := arrow.NewSchema(append(schema.Fields(), arrow.Field{Name: rowfn.ParentColumn, Type: arrow.PrimitiveTypes.Uint32}), nil)
	for _, c := range []struct{ name, out, rows, ids, err string }{
		{"flat", `[{"n":1,"_parent":0},{"n":2,"_parent":2},{"n":3,"_parent":2}]`, "1 2 3", "1:0.0 1:2.0 1:2.1", ""},
		{"none", `[]`, "", "", ""},
		{"descending", `[{"n":1,"_parent":2},{"n":2,"_parent":1}]`, "", "", "f returned _parent 1 after 2 for 3 rows; parents must ascend"},
		{"beyond", `[{"n":1,"_parent":3}]`, "", "", "f returned _parent 3 after 0 for 3 rows; parents must ascend"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			fn := func(_ context.Context, _ memory.Allocator, _ arrow.RecordBatch) (arrow.RecordBatch, error) {
				return arraytest.FromJSON(t, mem, withParent, c.out), nil
			}
			got := dt.Run(t, mem, rowfn.BatchMap(rowfn.SameSchema, fn, rowfn.Name("f")), dt.Config{WantError: true}, dt.FromJSON(t, mem, schema, `[{"n":0},{"n":0},{"n":0}]`))
			if c.err != "" {
				if got.Err == nil || got.Err.Error() != c.err {
					t.Errorf("error is %v, want %s", got.Err, c.err)
				}
				return
			}
			if s := strings.Join(got.Rows(), " "); got.Err != nil || s != c.rows {
				t.Errorf("rows are %s (%v)", s, got.Err)
			}
			if s := strings.Join(got.IDs(), " "); s != c.ids {
				t.Errorf("identities are %s", s)
			}
		})
	}
	t.Run("wrong count", func(t *testing.T) {
		mem := arraytest.NewMemory(t)
		fn := func(context.Context, memory.Allocator, arrow.RecordBatch) (arrow.RecordBatch, error) {
			return arraytest.FromJSON(t, mem, schema, `[{"n":0}]`), nil
		}
		got := dt.Run(t, mem, rowfn.BatchMap(rowfn.SameSchema, fn, rowfn.Name("f")), dt.Config{WantError: true}, dt.FromJSON(t, mem, schema, `[{"n":0},{"n":0}]`))
		want := `f returned 1 rows for 2; return one for each, or a uint32 column "_parent" with the row that each comes from`
		if got.Err == nil || got.Err.Error() != want {
			t.Errorf("error is %v", got.Err)
		}
	})
}
