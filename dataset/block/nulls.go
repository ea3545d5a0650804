package block

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Nulls makes an array of n nulls of any type. array.MakeArrayOfNull is faster, and panics where a null type lies inside of another, as in struct<x: null>.
// The caller releases it.
func Nulls(mem memory.Allocator, dt arrow.DataType, n int) arrow.Array {
	if dt.ID() == arrow.NULL || !hasNullType(dt) {
		return array.MakeArrayOfNull(mem, dt, n)
	}
	b := array.NewBuilder(mem, dt)
	defer b.Release()
	b.AppendNulls(n)
	return b.NewArray()
}

// hasNullType says whether dt is the null type, or made of it.
func hasNullType(dt arrow.DataType) bool {
	switch t := dt.(type) {
	case *arrow.NullType:
		return true
	case *arrow.DictionaryType:
		return hasNullType(t.ValueType)
	case arrow.ExtensionType:
		return hasNullType(t.StorageType())
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasNullType(f.Type) {
				return true
			}
		}
	}
	return false
}
