package arrowipc

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// plainType is dt with the types of their values in place of dictionaries.
func plainType(dt arrow.DataType) arrow.DataType {
	elem := func(f arrow.Field) arrow.Field {
		f.Type = plainType(f.Type)
		return f
	}
	switch t := dt.(type) {
	case *arrow.DictionaryType:
		return plainType(t.ValueType)
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = elem(fields[i])
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(elem(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(elem(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), elem(t.ElemField()))
	case *arrow.MapType:
		m := arrow.MapOfFields(elem(t.KeyField()), elem(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	}
	return dt
}

func hasDictionary(dt arrow.DataType) bool {
	if _, ok := dt.(*arrow.DictionaryType); ok {
		return true
	}
	if t, ok := dt.(arrow.NestedType); ok {
		for _, f := range t.Fields() {
			if hasDictionary(f.Type) {
				return true
			}
		}
	}
	return false
}

// plainSchema is what is written for a schema.
func plainSchema(in *arrow.Schema) *arrow.Schema {
	fields := in.Fields()
	for i := range fields {
		if hasDictionary(fields[i].Type) {
			fields[i].Type = plainType(fields[i].Type)
		}
	}
	md := in.Metadata()
	return arrow.NewSchema(fields, &md)
}

// plainRecord gives the values of dictionary columns; the caller releases it.
func plainRecord(mem memory.Allocator, in arrow.RecordBatch, out *arrow.Schema) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, 0, in.NumCols())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for _, c := range in.Columns() {
		if !hasDictionary(c.DataType()) {
			c.Retain()
			cols = append(cols, c)
			continue
		}
		d, err := plainData(mem, c.Data())
		if err != nil {
			return nil, err
		}
		cols = append(cols, array.MakeFromData(d))
		d.Release()
	}
	return array.NewRecordBatch(out, cols, in.NumRows()), nil
}

// plainData gives the values of the dictionaries in a; the caller releases it.
func plainData(mem memory.Allocator, a arrow.ArrayData) (arrow.ArrayData, error) {
	if !hasDictionary(a.DataType()) {
		a.Retain()
		return a, nil
	}
	if _, ok := a.DataType().(*arrow.DictionaryType); ok {
		return lookUp(mem, a)
	}
	children := make([]arrow.ArrayData, 0, len(a.Children()))
	defer func() {
		for _, c := range children {
			c.Release()
		}
	}()
	for _, c := range a.Children() {
		p, err := plainData(mem, c)
		if err != nil {
			return nil, err
		}
		children = append(children, p)
	}
	return array.NewData(plainType(a.DataType()), a.Len(), a.Buffers(), children, a.NullN(), a.Offset()), nil
}

// lookUp gives the values of a dictionary array. Nulls take a null that is put behind the values, so that no bytes hide under them.
func lookUp(mem memory.Allocator, a arrow.ArrayData) (arrow.ArrayData, error) {
	arr := array.MakeFromData(a)
	defer arr.Release()
	dict, _ := arr.(*array.Dictionary)
	values, err := plainData(mem, dict.Dictionary().Data())
	if err != nil {
		return nil, err
	}
	defer values.Release()
	have := array.MakeFromData(values)
	defer have.Release()
	null := block.Nulls(mem, have.DataType(), 1)
	defer null.Release()
	both, err := block.MergeArrays(mem, []arrow.Array{have, null})
	if err != nil {
		return nil, err
	}
	defer both.Release()
	ix := make([]uint32, dict.Len())
	for i := range ix {
		if ix[i] = uint32(have.Len()); dict.IsValid(i) {
			ix[i] = uint32(min(dict.GetValueIndex(i), math.MaxUint32))
		}
	}
	out, err := block.TakeArray(mem, both, ix)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}
