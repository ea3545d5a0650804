package tables

import "github.com/apache/arrow-go/v18/arrow"

// BatchBytes is the size of rows [lo, hi) of b, from offsets alone: it depends on the rows only and grows with hi.
func BatchBytes(b arrow.RecordBatch, lo, hi int) int64 {
	n := int64(0)
	for _, c := range b.Columns() {
		n += spanBytes(c.Data(), lo, hi)
	}
	return n
}

// spanBytes is the size of slots [lo, hi): bytes of fixed width, of strings and of elements, without validity.
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
		return spanBytes(a.Children()[0], int(off[o+lo]), int(off[o+hi])) + int64(hi-lo)*4
	case *arrow.LargeListType:
		off := arrow.Int64Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return spanBytes(a.Children()[0], int(off[o+lo]), int(off[o+hi])) + int64(hi-lo)*8
	case *arrow.StringType, *arrow.BinaryType:
		off := arrow.Int32Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return int64(off[o+hi]) - int64(off[o+lo]) + int64(hi-lo)*4
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		off := arrow.Int64Traits.CastFromBytes(a.Buffers()[1].Bytes())
		return off[o+hi] - off[o+lo] + int64(hi-lo)*8
	case arrow.FixedWidthDataType:
		return int64(hi-lo) * int64(max(t.BitWidth(), 8)/8) // whole bytes, so that pieces add up
	}
	return 0
}
