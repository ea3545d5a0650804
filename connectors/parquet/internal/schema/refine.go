package schema

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// refineFields brings back what Parquet's types cannot say. Fields pair up by
// name; a field that the stored schema does not know keeps its inferred type.
func refineFields(fields []*Field, original []arrow.Field) {
	for i, f := range fields {
		switch {
		case i < len(original) && original[i].Name == f.Arrow.Name:
			refine(f, original[i])
		default:
			for _, o := range original {
				if o.Name == f.Arrow.Name {
					refine(f, o)
					break
				}
			}
		}
	}
}

// refine narrows f to the original field where the storage agrees, and leaves
// it alone where it does not: the bytes of the file have the last word.
func refine(f *Field, original arrow.Field) {
	f.Arrow.Metadata = original.Metadata
	want := original.Type
	ext, isExt := want.(arrow.ExtensionType)
	if isExt {
		want = ext.StorageType()
	}
	switch f.Kind {
	case Leaf:
		f.Storage = refineLeaf(f, want)
	case Struct:
		refineStruct(f, want)
	case List:
		refineList(f, want)
	case Map:
		refineMap(f, want)
	}
	f.Arrow.Type = f.Storage
	if isExt && arrow.TypeEqual(f.Storage, ext.StorageType()) {
		f.Arrow.Type = ext
	}
}

func refineLeaf(f *Field, want arrow.DataType) arrow.DataType {
	got := f.Storage
	switch w := want.(type) {
	case *arrow.DictionaryType:
		value := refineLeaf(f, w.ValueType)
		switch value.ID() {
		case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY:
			return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: value, Ordered: w.Ordered}
		}
		return value
	case *arrow.TimestampType:
		if g, ok := got.(*arrow.TimestampType); ok && (g.TimeZone != "") == (w.TimeZone != "") {
			return &arrow.TimestampType{Unit: g.Unit, TimeZone: w.TimeZone}
		}
	case *arrow.DurationType:
		if got.ID() == arrow.INT64 {
			return w
		}
	case *arrow.Date64Type:
		if got.ID() == arrow.DATE32 {
			return w
		}
	case *arrow.LargeStringType:
		if got.ID() == arrow.STRING {
			return w
		}
	case *arrow.LargeBinaryType:
		if got.ID() == arrow.BINARY {
			return w
		}
	case *arrow.NullType:
		if got.ID() == arrow.INT32 {
			return w
		}
	case arrow.DecimalType:
		if g, ok := got.(arrow.DecimalType); ok && g.GetPrecision() == w.GetPrecision() && g.GetScale() == w.GetScale() {
			return want
		}
	}
	return got
}

func refineStruct(f *Field, want arrow.DataType) {
	if w, ok := want.(*arrow.StructType); ok {
		refineFields(f.Children, w.Fields())
	}
	f.Storage = arrow.StructOf(arrowFields(f.Children)...)
}

func refineList(f *Field, want arrow.DataType) {
	elem := f.Children[0]
	w, ok := want.(arrow.ListLikeType)
	if !ok || want.ID() == arrow.MAP {
		return
	}
	o := w.ElemField()
	refine(elem, o)
	// The name of the element is Parquet's to choose; Arrow's own is kept.
	elem.Arrow.Name = o.Name
	switch t := want.(type) {
	case *arrow.LargeListType:
		f.Storage = arrow.LargeListOfField(elem.Arrow)
	case *arrow.FixedSizeListType:
		f.Storage = arrow.FixedSizeListOfField(t.Len(), elem.Arrow)
	default:
		f.Storage = arrow.ListOfField(elem.Arrow)
	}
}

func refineMap(f *Field, want arrow.DataType) {
	w, ok := want.(*arrow.MapType)
	if !ok {
		return
	}
	refine(f.Children[0], w.KeyField())
	refine(f.Children[1], w.ItemField())
	m := arrow.MapOfFields(f.Children[0].Arrow, f.Children[1].Arrow)
	m.KeysSorted = w.KeysSorted
	f.Storage = m
}
