package expr

import (
	"math"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestConstantComparisons tries every operator between columns of values around the edges of their types and constants
// on, between and beyond them, on either side.
func TestConstantComparisons(t *testing.T) {
	mem := memory.NewGoAllocator()
	consts := []any{int64(0), int64(7), int64(-1), int64(127), int64(128), int64(-129), int64(1<<53 + 1), int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64), 0.5, 6.5, 7.5, -0.5, 127.5, 1e300, -1e300, float64(1 << 53), float64(1 << 63), float64(1 << 64)}
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: typ}}, nil)
		b := array.NewRecordBuilder(mem, schema)
		for _, v := range []string{"0", "1", "6", "7", "8", "127", "128", "255", "-1", "-128", "9007199254740992", "9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "0.5", "7.5", "NaN", "+Inf", "-Inf"} {
			if err := b.Field(0).AppendValueFromString(v); err != nil && b.Field(0).Len() == 0 {
				t.Fatal(err)
			}
		}
		rec := b.NewRecordBatch()
		b.Release()
		for _, c := range consts {
			for name, op := range cmpOps {
				for _, src := range []string{"x " + name + " " + printed(c), printed(c) + " " + name + " x"} {
					arr, _, err := compile(t, src, schema).Eval(mem, rec)
					if err != nil {
						t.Fatal(err)
					}
					if src[0] != 'x' {
						op = cmpOps[name].flipped()
					}
					for i := range arr.Len() {
						v := refValue(rec.Column(0), i)
						if want := v != nil && op.holds(orderAny(v, c)); v != nil && arr.(*array.Boolean).Value(i) != want {
							t.Errorf("%s over %s, x = %v: got %v", src, typ, v, !want)
						}
					}
					arr.Release()
				}
			}
		}
		rec.Release()
	}
}

// TestZones checks the calendar against package time over two years of hours, transitions included.
func TestZones(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"} {
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		z := newZone(loc)
		for h := range int64(2 * 366 * 24) {
			sec := 1672531200 + h*1800*2 - 900
			at := time.Unix(sec, 0).In(loc)
			if got, want := z.utc(sec), time.Date(at.UTC().Year(), at.UTC().Month(), at.UTC().Day(), at.UTC().Hour(), at.UTC().Minute(), at.UTC().Second(), 0, loc).Unix(); got != want {
				t.Fatalf("%s: utc(%d) = %d, want %d", name, sec, got, want)
			}
			y, m, d := civil(floorDiv(z.local(sec), 86400))
			if y != int64(at.Year()) || m != int(at.Month()) || d != at.Day() {
				t.Fatalf("%s: %v is %d-%d-%d", name, at, y, m, d)
			}
		}
	}
	for days := int64(-800000); days < 800000; days += 13 {
		if y, m, d := civil(days); daysOf(y, m, d) != days {
			t.Fatalf("civil(%d) = %d-%d-%d does not invert", days, y, m, d)
		}
	}
}

// TestFailedRowsOfSlices: a result that shares a sliced column gets its failed rows nulled at the right place.
func TestFailedRowsOfSlices(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	whole := batch(t, mem, schema, `[{"s": "1", "x": 9}, {"s": "2", "x": 10}, {"s": "no", "x": 11}, {"s": "4", "x": null}, {"s": "5", "x": 13}]`)
	defer whole.Release()
	rec := whole.NewSlice(1, 5)
	defer rec.Release()
	arr, errs, err := compile(t, `(int(s) > 0 or true) ? x : x`, schema).Eval(mem, rec)
	if err != nil {
		t.Fatal(err)
	}
	defer arr.Release()
	if got := render(arr, errs); got != "10 E _ 13" || arr.IsValid(1) {
		t.Errorf("got %s", got)
	}
}

// TestNullStructs: the field of a null struct is null, whatever lies below it.
func TestNullStructs(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	b := array.NewInt32Builder(mem)
	b.AppendValues([]int32{1, 2, 3, 4}, []bool{true, true, false, true})
	child := b.NewArray()
	b.Release()
	typ := arrow.StructOf(arrow.Field{Name: "w", Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	valid := memory.NewBufferBytes([]byte{0b1101})
	data := array.NewData(typ, 4, []*memory.Buffer{valid}, []arrow.ArrayData{child.Data()}, 1, 0)
	child.Release()
	st := array.NewStructData(data)
	data.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "m", Type: typ, Nullable: true}}, nil)
	whole := array.NewRecordBatch(schema, []arrow.Array{st}, 4)
	st.Release()
	defer whole.Release()
	for off, want := range map[int64]string{0: "1 _ _ 4", 1: "_ _ 4"} {
		rec := whole.NewSlice(off, 4)
		arr, _, err := compile(t, `m.w`, schema).Eval(mem, rec)
		if err != nil {
			t.Fatal(err)
		}
		if got := render(arr, nil); got != want {
			t.Errorf("from %d: got %s, want %s", off, got, want)
		}
		if v, err := Reference(mustParse(t, `m.w`), schema, rec, 1-int(off)); v != nil || err != nil {
			t.Errorf("reference: %v %v", v, err)
		}
		arr.Release()
		rec.Release()
	}
}
