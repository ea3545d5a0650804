package parquet

import (
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// leafField is a leaf with the Arrow type of its arrays.
type leafField struct {
	*schema.Field
	dt    arrow.DataType
	names []string
}

func (l leafField) path() string {
	s := l.names[0]
	for _, n := range l.names[1:] {
		s += "\x00" + n
	}
	return s
}

// leafFields lists the leaves below f. The names are those of the Parquet
// schema, which has two levels for a list where Arrow has one.
func leafFields(f *schema.Field, dt arrow.DataType, above []string) []leafField {
	name := f.Arrow.Name
	return leavesOf(f, dt, append(append([]string(nil), above...), name))
}

func leavesOf(f *schema.Field, dt arrow.DataType, path []string) []leafField {
	for {
		ext, ok := dt.(arrow.ExtensionType)
		if !ok {
			break
		}
		dt = ext.StorageType()
	}
	switch f.Kind {
	case schema.Struct:
		var out []leafField
		for i, c := range f.Children {
			out = append(out, leafFields(c, dt.(*arrow.StructType).Field(i).Type, path)...)
		}
		return out
	case schema.List:
		under := append(append([]string(nil), path...), "list", "element")
		return leavesOf(f.Children[0], dt.(arrow.ListLikeType).Elem(), under)
	case schema.Map:
		m := dt.(*arrow.MapType)
		under := append(append([]string(nil), path...), "key_value")
		out := leavesOf(f.Children[0], m.KeyType(), append(append([]string(nil), under...), "key"))
		return append(out, leavesOf(f.Children[1], m.ItemType(), append(append([]string(nil), under...), "value"))...)
	}
	return []leafField{{Field: f, dt: dt, names: path}}
}

// fit returns how many rows of b from lo on go into the row group, and whether
// they fill it. The row that reaches the limit is the last one, wherever
// batches end.
func (w *Writer) fit(b arrow.RecordBatch, lo, n int) (k int, full bool) {
	k = int(min(int64(n-lo), w.opts.RowGroupRows-w.rows))
	left := w.opts.RowGroupBytes - w.bytes
	if batchBytes(b, lo, lo+k) >= left {
		k = 1 + sort.Search(k-1, func(i int) bool { return batchBytes(b, lo, lo+i+1) >= left })
		return k, true
	}
	return k, w.rows+int64(k) == w.opts.RowGroupRows
}

// batchBytes is the size of rows [lo, hi) before encoding, from offsets alone.
func batchBytes(b arrow.RecordBatch, lo, hi int) int64 {
	n := int64(0)
	for _, c := range b.Columns() {
		n += spanBytes(c.Data(), lo, hi)
	}
	return n
}

// spanBytes is the size of slots [lo, hi), which grows with hi: bytes of fixed
// width, of strings and of elements, without validity.
func spanBytes(a arrow.ArrayData, lo, hi int) int64 {
	if lo >= hi {
		return 0
	}
	dt := a.DataType()
	for {
		ext, ok := dt.(arrow.ExtensionType)
		if !ok {
			break
		}
		dt = ext.StorageType()
	}
	o := a.Offset()
	switch t := dt.(type) {
	case *arrow.NullType:
		return 0
	case *arrow.DictionaryType:
		return int64(hi-lo) * 4
	case *arrow.StructType:
		n := int64(0)
		for _, c := range a.Children() {
			n += spanBytes(c, o+lo, o+hi)
		}
		return n
	case *arrow.FixedSizeListType:
		return spanBytes(a.Children()[0], (o+lo)*int(t.Len()), (o+hi)*int(t.Len()))
	case *arrow.ListType, *arrow.MapType:
		off := arrow.Int32Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return spanBytes(a.Children()[0], int(off[o+lo]), int(off[o+hi]))
	case *arrow.LargeListType:
		off := arrow.Int64Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return spanBytes(a.Children()[0], int(off[o+lo]), int(off[o+hi]))
	case *arrow.StringType, *arrow.BinaryType:
		off := arrow.Int32Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return int64(off[o+hi]) - int64(off[o+lo]) + int64(hi-lo)*4
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		off := arrow.Int64Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return off[o+hi] - off[o+lo] + int64(hi-lo)*4
	case arrow.FixedWidthDataType:
		return int64(hi-lo) * int64(max(t.BitWidth(), 8)/8) // whole bytes, so that pieces add up
	}
	return 0
}
