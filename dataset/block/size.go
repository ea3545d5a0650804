package block

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// recordBytes returns the bytes that the rows of rec occupy and the bytes of the buffers they pin.
func recordBytes(rec arrow.RecordBatch) (live, pinned int64) {
	for _, c := range rec.Columns() {
		l, p := dataBytes(c.Data().(*array.Data))
		live += l
		pinned += p
	}
	return live, pinned
}

// ArrayBytes returns the bytes that the elements of a occupy; for a slice, its own part of shared buffers.
func ArrayBytes(a arrow.Array) int64 {
	live, _ := dataBytes(a.Data().(*array.Data))
	return live
}

func dataBytes(d *array.Data) (live, pinned int64) {
	n := int64(d.Len())
	bufs := d.Buffers()
	for _, b := range bufs {
		if b != nil {
			pinned += int64(b.Cap())
		}
	}
	if len(bufs) > 0 && bufs[0] != nil {
		live += (n + 7) / 8
	}
	dt := d.DataType()
	if e, ok := dt.(arrow.ExtensionType); ok {
		dt = e.StorageType()
	}
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		l, p := dataBytes(dict)
		live, pinned = live+l, pinned+p
	}
	switch t := dt.(type) {
	case *arrow.BooleanType:
		live += (n + 7) / 8
	case arrow.FixedWidthDataType:
		if t.ID() != arrow.FIXED_SIZE_LIST {
			live += n * int64(t.BitWidth()) / 8
		}
	case arrow.BinaryDataType, arrow.ListLikeType:
		live += offsetBytes(d, n)
	}
	for i, c := range d.Children() {
		l, p := dataBytes(c.(*array.Data))
		pinned += p
		if cn := int64(c.Len()); cn > 0 {
			l = int64(float64(l) * float64(childRows(d, dt, i, cn)) / float64(cn))
		}
		live += l
	}
	return live, pinned
}

// offsetBytes returns the size of the offsets of n elements and, for binary types, of their values.
func offsetBytes(d *array.Data, n int64) int64 {
	if len(d.Buffers()) < 2 || d.Buffers()[1] == nil || d.Buffers()[1].Len() == 0 {
		return 0
	}
	first, last, width := offsetSpan(d)
	if width == 0 {
		return 0
	}
	size := (n + 1) * width
	if len(d.Buffers()) > 2 {
		size += last - first
	}
	return size
}

// offsetSpan returns the first and last offset of the window of d and the width of an offset in bytes (0: has none).
func offsetSpan(d *array.Data) (first, last, width int64) {
	off, n := d.Offset(), d.Len()
	switch d.DataType().Layout().Buffers[1].ByteWidth {
	case 4:
		o := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())
		if len(o) > off+n {
			return int64(o[off]), int64(o[off+n]), 4
		}
	case 8:
		o := arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())
		if len(o) > off+n {
			return o[off], o[off+n], 8
		}
	}
	return 0, 0, 0
}

// childRows returns how many rows of child i the window of d covers.
func childRows(d *array.Data, dt arrow.DataType, i int, have int64) int64 {
	switch t := dt.(type) {
	case *arrow.FixedSizeListType:
		return min(have, int64(d.Len())*int64(t.Len()))
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		if len(d.Buffers()) > 1 && d.Buffers()[1] != nil && d.Buffers()[1].Len() > 0 {
			first, last, _ := offsetSpan(d)
			return min(have, last-first)
		}
		return 0
	}
	return min(have, int64(d.Len()))
}
