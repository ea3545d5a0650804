package expr

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func compile(t testing.TB, src string, schema *arrow.Schema) *Program {
	t.Helper()
	p, err := Compile(mustParse(t, src), schema)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSelect(t *testing.T) {
	rec := batch(t, memory.NewGoAllocator(), sampleSchema, sampleRows)
	defer rec.Release()
	buf := make([]uint32, 0, 8)
	for _, c := range []struct {
		src  string
		want string
		all  bool
		errs int
	}{
		{`score > 0.9`, "[0 3]", false, 0},
		{`true`, "[]", true, 0},
		{`false`, "[]", false, 0},
		{`nil`, "[]", false, 0},
		{`id == nil or id > 0`, "[]", true, 0},
		{`id + 1 > 0`, "[0 1]", false, 1},
		{`int(lang) > 0 or true`, "[2 3]", false, 2},
		{`true or int(lang) > 0`, "[]", true, 0},
		{`ok`, "[0 3]", false, 0},
	} {
		idx, all, errs, err := compile(t, c.src, sampleSchema).Select(memory.NewGoAllocator(), rec, buf)
		if err != nil || fmt.Sprint(idx) != c.want || all != c.all || len(errs) != c.errs {
			t.Errorf("%s: got %v all %v errors %v %v, want %s all %v errors %d", c.src, idx, all, errs, err, c.want, c.all, c.errs)
		}
		if len(idx) > 0 && &idx[0] != &buf[:1][0] {
			t.Errorf("%s: buf was not reused", c.src)
		}
	}
	if _, _, _, err := compile(t, `id`, sampleSchema).Select(memory.NewGoAllocator(), rec, nil); err == nil || !strings.Contains(err.Error(), "compare it") {
		t.Errorf("a filter that is a number: %v", err)
	}
}

// TestOtherBatches: columns are found by name in batches of another order; a changed type is an error that names it.
func TestOtherBatches(t *testing.T) {
	mem := memory.NewGoAllocator()
	p := compile(t, `a + b * 2`, arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}}, nil))
	other := arrow.NewSchema([]arrow.Field{{Name: "b", Type: arrow.PrimitiveTypes.Int64}, {Name: "x", Type: arrow.PrimitiveTypes.Int8}, {Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rec := batch(t, mem, other, `[{"a": 1, "b": 10, "x": 0}]`)
	defer rec.Release()
	arr, _, err := p.Eval(mem, rec)
	if err != nil {
		t.Fatal(err)
	}
	defer arr.Release()
	if got := render(arr, nil); got != "21" {
		t.Errorf("got %s", got)
	}
	for json, schema := range map[string]*arrow.Schema{
		`[{"a": 1}]`:                 arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil),
		`[{"a": 1, "b": "x"}]`:       arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil),
		`[{"x": 1, "b": 2, "a": 1}]`: arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int8}, {Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil),
	} {
		bad := batch(t, mem, schema, json)
		if _, _, err := p.Eval(mem, bad); err == nil || !strings.Contains(err.Error(), `column "b"`) {
			t.Errorf("%s: %v", json, err)
		}
		bad.Release()
	}
}

func TestBareColumnKeepsItsType(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: dict}}, nil)
	rec := batch(t, mem, schema, `[{"d": "x"}, {"d": null}, {"d": "x"}, {"d": "y"}]`)
	defer rec.Release()
	p := compile(t, `d`, schema)
	arr, _, err := p.Eval(mem, rec)
	if err != nil || !arrow.TypeEqual(arr.DataType(), dict) || !arrow.TypeEqual(p.Type(), dict) {
		t.Fatalf("%v %v", arr, err)
	}
	arr.Release()
	for src, want := range map[string]string{
		`d == "x"`: "true _ true false", `d + "!"`: "x! _ x! y!", `d in ["y", "z"]`: "false _ false true", `d matches "^[x]$"`: "true _ true false", `d == nil`: "false true false false",
	} {
		arr, errs, err := compile(t, src, schema).Eval(mem, rec)
		if err != nil {
			t.Fatal(err)
		}
		if got := render(arr, errs); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
		arr.Release()
	}
}

// TestShared: one program, many goroutines.
func TestShared(t *testing.T) {
	rec := batch(t, memory.NewGoAllocator(), sampleSchema, sampleRows)
	defer rec.Release()
	p := compile(t, `lang matches "d" and hour(at) == 14 and id in [1, 2] or int(id) + 1 < 0`, sampleSchema)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				arr, errs, err := p.Eval(memory.NewGoAllocator(), rec)
				if err != nil || render(arr, errs) != "true false _ E" {
					t.Errorf("got %v %v", arr, err)
					return
				}
				arr.Release()
			}
		})
	}
	wg.Wait()
}

// TestRowErrors: each names the value and a remedy.
func TestRowErrors(t *testing.T) {
	rec := batch(t, memory.NewGoAllocator(), sampleSchema, sampleRows)
	defer rec.Release()
	for src, want := range map[string]string{
		`id + 1`:              "9223372036854775807 + 1 overflows int64; convert an operand with float",
		`int(lang)`:           `cast "de" to int64: the value does not fit; try_cast`,
		`cast(id, "int8")`:    "cast 9223372036854775807 to int8",
		`big - 1`:             "0 - 1 overflows uint64",
		`-(id - id - 1) * id`: "",
		`timestamp(lang)`:     `"de" is not a timestamp such as`,
		`float(lang)`:         `cast "de" to float64`,
	} {
		arr, errs, err := compile(t, src, sampleSchema).Eval(memory.NewGoAllocator(), rec)
		if err != nil {
			t.Fatal(err)
		}
		arr.Release()
		if want == "" {
			if len(errs) != 0 {
				t.Errorf("%s: %v", src, errs)
			}
			continue
		}
		if len(errs) == 0 || !strings.Contains(errs[0].Err.Error(), want) {
			t.Errorf("%s: got %v, want %s", src, errs, want)
		}
	}
}

// TestTextLimit: constants do not grow without bound while a plan is made.
func TestTextLimit(t *testing.T) {
	src := fmt.Sprintf(`replace(%q, "a", %q) == lang`, strings.Repeat("a", 10000), strings.Repeat("b", 10000))
	_, err := Compile(mustParse(t, src), sampleSchema)
	if te, ok := errors.AsType[*TypeError](err); !ok || !strings.Contains(te.Msg, "the limit is") {
		t.Errorf("got %v", err)
	}
}

func TestExtensionStorage(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewInt32Builder(mem)
	b.AppendValues([]int32{1, 2}, nil)
	storage := b.NewArray()
	b.Release()
	ext := array.NewExtensionArrayWithStorage(newPixels(), storage)
	storage.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "p", Type: newPixels()}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{ext}, 2)
	ext.Release()
	defer rec.Release()
	arr, _, err := compile(t, `p + 1`, schema).Eval(mem, rec)
	if err != nil {
		t.Fatal(err)
	}
	defer arr.Release()
	if got := render(arr, nil); got != "2 3" {
		t.Errorf("got %s", got)
	}
}

// pixels is an extension type over int32.
type pixels struct{ arrow.ExtensionBase }

func newPixels() *pixels {
	return &pixels{arrow.ExtensionBase{Storage: arrow.PrimitiveTypes.Int32}}
}

type pixelArray struct{ array.ExtensionArrayBase }

func (*pixels) ArrayType() reflect.Type { return reflect.TypeFor[pixelArray]() }
func (*pixels) ExtensionName() string   { return "test.pixels" }
func (*pixels) String() string          { return "pixels" }
func (*pixels) Serialize() string       { return "" }
func (p *pixels) ExtensionEquals(o arrow.ExtensionType) bool {
	return o.ExtensionName() == p.ExtensionName()
}
func (*pixels) Deserialize(arrow.DataType, string) (arrow.ExtensionType, error) {
	return newPixels(), nil
}
