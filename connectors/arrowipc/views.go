package arrowipc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/codec/arrowmeta"
)

// Columns of views (Utf8View, BinaryView), as Polars writes them by itself, become ordinary text and binary as they are read: the engine carries
// no views. A schema is read with the ordinary types, and the tree of fields remembers where views lie.

// viewBytes is the size of a view; values of up to viewInline bytes lie in it.
const (
	viewBytes  = 16
	viewInline = 12
)

// unview is a type without views, and the tree of its fields with their places.
func unview(dt arrow.DataType, f *arrowmeta.Field) arrow.DataType {
	child := func(i int) *arrowmeta.Field {
		for len(f.Children) <= i {
			f.Children = append(f.Children, arrowmeta.Field{})
		}
		return &f.Children[i]
	}
	elem := func(e arrow.Field, i int) arrow.Field {
		e.Type = unview(e.Type, child(i))
		return e
	}
	switch t := dt.(type) {
	case *arrow.StringViewType:
		f.View = true
		return arrow.BinaryTypes.String
	case *arrow.BinaryViewType:
		f.View = true
		return arrow.BinaryTypes.Binary
	case *arrow.DictionaryType:
		return &arrow.DictionaryType{IndexType: t.IndexType, ValueType: unview(t.ValueType, f), Ordered: t.Ordered}
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = elem(fields[i], i)
		}
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(elem(t.ElemField(), 0))
	case *arrow.LargeListType:
		return arrow.LargeListOfField(elem(t.ElemField(), 0))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), elem(t.ElemField(), 0))
	}
	return dt
}

// hasView tells whether views lie in a type.
func hasView(dt arrow.DataType) bool {
	switch t := dt.(type) {
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return true
	case *arrow.DictionaryType:
		return hasView(t.ValueType)
	case *arrow.MapType:
		return false
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if hasView(f.Type) {
				return true
			}
		}
	}
	return false
}

// viewBuffers is how many buffers the next column of views has: bitmap, views, and those that hold long values.
func (w *walk) viewBuffers() (int, error) {
	if w.view >= len(w.variadic) {
		return 0, errShort
	}
	n := w.variadic[w.view]
	w.view++
	if n < 0 || n > int64(len(w.buffers)) {
		return 0, fmt.Errorf("%w: a column of views with %d buffers, of %d", errDamaged, n, len(w.buffers))
	}
	return 2 + int(n), nil
}

// gather makes text or binary of n views. raw are the bitmap, the views and the buffers that hold long values; any may be nil.
func (w *walk) gather(dt arrow.DataType, n int, nulls int, raw []*memory.Buffer) (*array.Data, error) {
	var views []byte
	if raw[1] != nil {
		views = raw[1].Bytes()
	}
	if int64(len(views)) < int64(n)*viewBytes {
		return nil, fmt.Errorf("%w: %d bytes for %d views", errDamaged, len(views), n)
	}
	long := make([][]byte, len(raw)-2)
	for i, b := range raw[2:] {
		if b != nil {
			long[i] = b.Bytes()
		}
	}
	total := int64(0)
	for i := range n {
		if nulls > 0 && !bitutil.BitIsSet(raw[0].Bytes(), i) {
			continue
		}
		v, err := viewed(views[i*viewBytes:][:viewBytes], long)
		if err != nil {
			return nil, fmt.Errorf("value %d: %w", i, err)
		}
		total += int64(len(v))
	}
	size := total + int64(n+1)*4
	switch {
	case size > w.left: // views may share bytes, so that a small file stands for a great deal of them
		return nil, w.tooLarge(size)
	case total > math.MaxInt32:
		return nil, fmt.Errorf("it has %d bytes in one batch, over the limit of %d; write smaller batches", total, math.MaxInt32)
	}
	w.left -= size
	offsets, data := memory.NewResizableBuffer(w.mem), memory.NewResizableBuffer(w.mem)
	defer offsets.Release()
	defer data.Release()
	offsets.Resize((n + 1) * 4)
	data.Resize(int(total))
	at, out := 0, data.Bytes()
	binary.LittleEndian.PutUint32(offsets.Bytes(), 0)
	for i := range n {
		if nulls == 0 || bitutil.BitIsSet(raw[0].Bytes(), i) {
			v, _ := viewed(views[i*viewBytes:][:viewBytes], long) // it was looked at above
			at += copy(out[at:], v)
		}
		binary.LittleEndian.PutUint32(offsets.Bytes()[4*(i+1):], uint32(at))
	}
	return array.NewData(dt, n, []*memory.Buffer{raw[0], offsets, data}, nil, nulls, 0), nil
}

// viewed is the value of a view.
func viewed(view []byte, long [][]byte) ([]byte, error) {
	n := int64(int32(binary.LittleEndian.Uint32(view)))
	if n < 0 {
		return nil, fmt.Errorf("%w: a view of %d bytes", errDamaged, n)
	}
	if n <= viewInline {
		return view[4:][:n], nil
	}
	b, off := int64(int32(binary.LittleEndian.Uint32(view[8:]))), int64(int32(binary.LittleEndian.Uint32(view[12:])))
	if b < 0 || b >= int64(len(long)) {
		return nil, fmt.Errorf("%w: a view of buffer %d of %d", errDamaged, b, len(long))
	}
	if off < 0 || off > int64(len(long[b])) || n > int64(len(long[b]))-off {
		return nil, fmt.Errorf("%w: a view of %d bytes at %d of a buffer of %d", errDamaged, n, off, len(long[b]))
	}
	return long[b][off : off+n], nil
}
