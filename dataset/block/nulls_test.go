package block_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// TestNulls makes nulls of types that have a null type inside, and of some that have not, and joins, cuts and takes them.
func TestNulls(t *testing.T) {
	null, i32 := arrow.Null, arrow.PrimitiveTypes.Int32
	of := func(dt arrow.DataType) *arrow.StructType {
		return arrow.StructOf(arrow.Field{Name: "a", Type: i32, Nullable: true}, arrow.Field{Name: "x", Type: dt, Nullable: true})
	}
	for _, dt := range []arrow.DataType{
		null, i32, arrow.BinaryTypes.String, of(i32), arrow.ListOf(i32),
		of(null), arrow.ListOf(null), arrow.LargeListOf(null), arrow.FixedSizeListOf(2, null), arrow.ListViewOf(null), arrow.MapOf(arrow.BinaryTypes.String, null),
		of(arrow.ListOf(of(null))), arrow.ListOf(of(null)), arrow.FixedSizeListOf(3, of(null)), of(of(arrow.FixedSizeListOf(1, arrow.LargeListOf(null)))),
		of(&arrow.DictionaryType{IndexType: i32, ValueType: null}), arrow.SparseUnionOf([]arrow.Field{{Name: "n", Type: null, Nullable: true}}, []int8{3}),
		arrow.RunEndEncodedOf(i32, of(null)),
	} {
		for _, n := range []int{0, 1, 1000} {
			t.Run(dt.String(), func(t *testing.T) {
				mem := arraytest.NewMemory(t)
				a := block.Nulls(mem, dt, n)
				defer a.Release()
				if a.Len() != n || !arrow.TypeEqual(a.DataType(), dt) {
					t.Fatalf("%d of type %v, want %d", a.Len(), a.DataType(), n)
				}
				if full, ok := a.(interface{ ValidateFull() error }); ok {
					if err := full.ValidateFull(); err != nil {
						t.Error(err)
					}
				}
				for i := range n {
					if dt.ID() == arrow.SPARSE_UNION { // its null is in its child
						break
					}
					if s := a.ValueStr(i); a.GetOneForMarshal(i) != nil && s != array.NullValueStr {
						t.Fatalf("value %d is %s", i, s)
					}
				}
				if dt.ID() == arrow.SPARSE_UNION || dt.ID() == arrow.RUN_END_ENCODED {
					return
				}
				if a.NullN() != n {
					t.Errorf("%d are null, want %d", a.NullN(), n)
				}
				both, err := block.MergeArrays(mem, []arrow.Array{a, a})
				if err != nil {
					t.Fatal(err)
				}
				defer both.Release()
				some, err := block.TakeArray(mem, both, []uint32{0, 0, 0}[:min(3, n)])
				if err != nil {
					t.Fatal(err)
				}
				defer some.Release()
				if both.Len() != 2*n || some.Len() != min(3, n) {
					t.Errorf("%d joined, %d taken of 2*%d", both.Len(), some.Len(), n)
				}
			})
		}
	}
}
