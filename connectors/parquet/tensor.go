package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// storedSchema replaces tensor columns by what they are stored as.
func storedSchema(s *arrow.Schema) *arrow.Schema {
	fields := make([]arrow.Field, s.NumFields())
	changed := false
	for i, f := range s.Fields() {
		t, ok := schema.StoredTensor(f)
		fields[i] = t
		changed = changed || ok
	}
	if !changed {
		return s
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md)
}

// storedBatch is a batch of the stored schema, which the caller releases. The
// bytes of tensors are not copied.
func (w *Writer) storedBatch(b arrow.RecordBatch) (arrow.RecordBatch, error) {
	if w.stored == w.schema {
		b.Retain()
		return b, nil
	}
	cols := make([]arrow.Array, 0, b.NumCols())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, c := range b.Columns() {
		fsb, ok := w.stored.Field(i).Type.(*arrow.FixedSizeBinaryType)
		ext, isExt := c.(array.ExtensionArray)
		if !ok || !isExt {
			c.Retain()
			cols = append(cols, c)
			continue
		}
		flat, err := flattenTensor(ext.Storage().Data(), fsb)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", w.stored.Field(i).Name, err)
		}
		cols = append(cols, flat)
	}
	return array.NewRecordBatch(w.stored, cols, b.NumRows()), nil
}

// nullElement tells whether a list that is not null has an element that is.
func nullElement(d, child arrow.ArrayData, n int) bool {
	list, elems := array.MakeFromData(d), array.MakeFromData(child)
	defer list.Release()
	defer elems.Release()
	for i := range d.Len() {
		if list.IsNull(i) {
			continue
		}
		for j := (d.Offset() + i) * n; j < (d.Offset()+i+1)*n; j++ {
			if elems.IsNull(j) {
				return true
			}
		}
	}
	return false
}

// flattenTensor sees the numbers of fixed-size lists as one value each.
func flattenTensor(d arrow.ArrayData, fsb *arrow.FixedSizeBinaryType) (arrow.Array, error) {
	n := int(d.DataType().(*arrow.FixedSizeListType).Len())
	child := d.Children()[0]
	if child.NullN() > 0 && nullElement(d, child, n) {
		return nil, fmt.Errorf("a tensor has null elements, which bytes cannot hold: fill them or write with layout=list")
	}
	// The list's slots begin at a multiple of its length in the child, whose
	// own offset need not be one: the buffer is cut there.
	elem := fsb.ByteWidth / n
	values := child.Buffers()[1]
	var data *memory.Buffer
	if values != nil {
		from := (child.Offset() + d.Offset()*n) * elem
		data = memory.NewBufferBytes(values.Bytes()[from : from+d.Len()*fsb.ByteWidth])
		defer data.Release()
	}
	valid := d.Buffers()[0]
	if valid != nil && valid.Len() > 0 && d.Offset() > 0 {
		bits := make([]byte, (d.Len()+7)/8)
		for i := range d.Len() {
			if at := d.Offset() + i; valid.Bytes()[at/8]>>(at%8)&1 == 1 {
				bits[i/8] |= 1 << (i % 8)
			}
		}
		valid = memory.NewBufferBytes(bits)
		defer valid.Release()
	}
	out := array.NewData(fsb, d.Len(), []*memory.Buffer{valid, data}, nil, d.NullN(), 0)
	defer out.Release()
	return array.MakeFromData(out), nil
}
