package schema

import "github.com/apache/arrow-go/v18/arrow"

// Relaxed returns a field that allows nulls everywhere Arrow does: the form in
// which schemas are pinned, so that files that differ in nothing else agree.
func Relaxed(f arrow.Field) arrow.Field {
	f.Nullable = true
	f.Type = relaxedType(f.Type)
	return f
}

func relaxedType(dt arrow.DataType) arrow.DataType {
	switch t := dt.(type) {
	case *arrow.StructType:
		fields := make([]arrow.Field, t.NumFields())
		for i, f := range t.Fields() {
			fields[i] = Relaxed(f)
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(Relaxed(t.ElemField()))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(Relaxed(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), Relaxed(t.ElemField()))
	case *arrow.MapType:
		key := t.KeyField()
		key.Type = relaxedType(key.Type)
		m := arrow.MapOfFields(key, Relaxed(t.ItemField()))
		m.KeysSorted = t.KeysSorted
		return m
	}
	return dt
}

// relax changes f, bottom up, to the types that Relaxed gives. Extension types
// keep their own storage.
func relax(f *Field) {
	for i, c := range f.Children {
		relax(c)
		if f.Kind == Map && i == 0 {
			c.Arrow.Nullable = false
		}
	}
	f.Arrow.Nullable = true
	_, ext := f.Arrow.Type.(arrow.ExtensionType)
	if ext || f.Kind == Leaf {
		return
	}
	f.Storage = relaxedType(f.Storage)
	f.Arrow.Type = f.Storage
}
