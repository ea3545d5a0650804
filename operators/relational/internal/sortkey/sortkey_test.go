package sortkey

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// compare is the slow and obvious order of two elements.
func compare(a arrow.Array, i, j int) int {
	switch n, m := a.IsNull(i), a.IsNull(j); {
	case n && m:
		return 0
	case n:
		return 1
	case m:
		return -1
	}
	switch a := a.(type) {
	case *array.Boolean:
		x, y := 0, 0
		if a.Value(i) {
			x = 1
		}
		if a.Value(j) {
			y = 1
		}
		return cmp.Compare(x, y)
	case *array.Float16:
		return floats(float64(a.Value(i).Float32()), float64(a.Value(j).Float32()))
	case *array.Float32:
		return floats(float64(a.Value(i)), float64(a.Value(j)))
	case *array.Float64:
		return floats(a.Value(i), a.Value(j))
	case *array.String:
		return strings.Compare(a.Value(i), a.Value(j))
	case *array.LargeString:
		return strings.Compare(a.Value(i), a.Value(j))
	case *array.Binary:
		return bytes.Compare(a.Value(i), a.Value(j))
	case *array.LargeBinary:
		return bytes.Compare(a.Value(i), a.Value(j))
	case *array.FixedSizeBinary:
		return bytes.Compare(a.Value(i), a.Value(j))
	case *array.Decimal128:
		return a.Value(i).Cmp(a.Value(j))
	case *array.Decimal256:
		return a.Value(i).Cmp(a.Value(j))
	case *array.Uint64:
		return cmp.Compare(a.Value(i), a.Value(j))
	case *array.Dictionary:
		return compare(a.Dictionary(), a.GetValueIndex(i), a.GetValueIndex(j))
	case *array.Struct:
		for f := range a.NumField() {
			if c := compare(a.Field(f), i, j); c != 0 {
				return c
			}
		}
		return 0
	case array.ListLike:
		b1, e1 := a.ValueOffsets(i)
		b2, e2 := a.ValueOffsets(j)
		for ; b1 < e1 && b2 < e2; b1, b2 = b1+1, b2+1 {
			if c := compare(a.ListValues(), int(b1), int(b2)); c != 0 {
				return c
			}
		}
		return cmp.Compare(e1-b1, e2-b2)
	}
	return cmp.Compare(number(a, i), number(a, j))
}

func floats(x, y float64) int {
	switch n, m := math.IsNaN(x), math.IsNaN(y); {
	case n && m:
		return 0
	case n:
		return 1
	case m:
		return -1
	}
	return cmp.Compare(x, y)
}

func number(a arrow.Array, i int) int64 {
	switch a := a.(type) {
	case *array.Int8:
		return int64(a.Value(i))
	case *array.Int16:
		return int64(a.Value(i))
	case *array.Int32:
		return int64(a.Value(i))
	case *array.Int64:
		return a.Value(i)
	case *array.Uint8:
		return int64(a.Value(i))
	case *array.Uint16:
		return int64(a.Value(i))
	case *array.Uint32:
		return int64(a.Value(i))
	case *array.Date32:
		return int64(a.Value(i))
	case *array.Date64:
		return int64(a.Value(i))
	case *array.Time32:
		return int64(a.Value(i))
	case *array.Time64:
		return int64(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Duration:
		return int64(a.Value(i))
	}
	panic(a.DataType().String())
}

func TestKeyOrderIsValueOrder(t *testing.T) {
	for _, dt := range arraytest.Types() {
		if dt.ID() == arrow.NULL || dt.ID() == arrow.MAP {
			continue
		}
		t.Run(dt.String(), func(t *testing.T) {
			mem := arraytest.NewMemory(t)
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 1))
				rec := arraytest.RandomRecord(r, mem, []arrow.DataType{dt}, 60, seed%2 == 0)
				desc, first := seed%4 > 1, seed%8 > 3
				enc, err := NewEncoder(rec.Schema(), []Column{{Desc: desc, NullsFirst: first}})
				if err != nil {
					t.Fatal(err)
				}
				var k Keys
				enc.Encode(rec, &k)
				checkOrder(t, rec.Column(0), &k, desc, first)
				rec.Release()
			}
		})
	}
}

func checkOrder(t *testing.T, a arrow.Array, k *Keys, desc, first bool) {
	t.Helper()
	for i := range a.Len() {
		for j := range a.Len() {
			want := compare(a, i, j)
			switch null := a.IsNull(i) != a.IsNull(j); {
			case null && first, !null && desc:
				want = -want
			}
			if got := bytes.Compare(k.At(i), k.At(j)); got != want {
				t.Fatalf("%s against %s is %d, want %d", arraytest.Text(a, i), arraytest.Text(a, j), got, want)
			}
		}
	}
}

func TestSeveralKeysDoNotRunIntoEachOther(t *testing.T) {
	mem := arraytest.NewMemory(t)
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil)
	rec := arraytest.FromJSON(t, mem, schema, `[{"a":"x","b":"z"},{"a":"x\u0000","b":"a"},{"a":"xy","b":""},{"a":"x","b":"zz"}]`)
	defer rec.Release()
	enc, err := NewEncoder(schema, []Column{{Index: 0}, {Index: 1}})
	if err != nil {
		t.Fatal(err)
	}
	var k Keys
	enc.Encode(rec, &k)
	for _, pair := range [][2]int{{0, 3}, {3, 1}, {1, 2}} {
		if bytes.Compare(k.At(pair[0]), k.At(pair[1])) >= 0 {
			t.Errorf("row %d is not below row %d", pair[0], pair[1])
		}
	}
}

func TestMapsHaveNoOrder(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)}}, nil)
	_, err := NewEncoder(schema, []Column{{Index: 0}})
	if want := `column "m": map<utf8, int64, items_nullable> has no order; sort by something computed from it`; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}
