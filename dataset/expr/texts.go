package expr

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// texts reads strings or bytes by row, without copying.
type texts struct {
	data  []byte
	o32   []int32
	o64   []int64
	width int    // of fixed-size values
	cst   []byte // of a constant
}

func newTexts(v value) *texts {
	if v.arr == nil {
		switch s := v.cst.(type) {
		case string:
			return &texts{cst: []byte(s)}
		case []byte:
			return &texts{cst: s}
		}
		return &texts{}
	}
	d := v.arr.Data()
	t := &texts{}
	if d.Len() == 0 {
		return t
	}
	if w, ok := d.DataType().(*arrow.FixedSizeBinaryType); ok {
		t.width = w.ByteWidth
		t.data = d.Buffers()[1].Bytes()[d.Offset()*w.ByteWidth:]
		return t
	}
	if b := d.Buffers()[2]; b != nil {
		t.data = b.Bytes()
	}
	switch d.DataType().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		t.o64 = view[int64](d.Buffers()[1])[d.Offset() : d.Offset()+d.Len()+1]
	default:
		t.o32 = view[int32](d.Buffers()[1])[d.Offset() : d.Offset()+d.Len()+1]
	}
	return t
}

func (t *texts) at(i int) []byte {
	switch {
	case t.o32 != nil:
		return t.data[t.o32[i]:t.o32[i+1]]
	case t.o64 != nil:
		return t.data[t.o64[i]:t.o64[i+1]]
	case t.width > 0:
		return t.data[i*t.width : (i+1)*t.width]
	}
	return t.cst
}

// str views bytes as a string; it must not outlive them.
func str(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// textOut builds a string or binary array of a known number of rows.
type textOut struct {
	typ       arrow.DataType
	rows, row int
	offsets   *memory.Buffer
	data      *memory.Buffer
	size      int
	o32       []int32
	o64       []int64
}

func (c *evalCtx) newTextOut(typ arrow.DataType, rows int) (*textOut, error) {
	o := &textOut{typ: typ, rows: rows, data: memory.NewResizableBuffer(c.mem)}
	switch typ.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		o.offsets = c.buffer((rows + 1) * 8)
		o.o64 = view[int64](o.offsets)
		o.o64[0] = 0
	case arrow.STRING, arrow.BINARY:
		o.offsets = c.buffer((rows + 1) * 4)
		o.o32 = view[int32](o.offsets)
		o.o32[0] = 0
	default:
		o.data.Release()
		return nil, fmt.Errorf("cannot build %s", typ)
	}
	return o, nil
}

// append adds the next row.
func (o *textOut) append(s []byte) error {
	end := o.size + len(s)
	if end > o.data.Cap() {
		o.data.Reserve(max(end, 2*o.data.Cap(), 1024))
	}
	copy(o.data.Buf()[o.size:end], s)
	o.size = end
	o.row++
	if o.o64 != nil {
		o.o64[o.row] = int64(end)
		return nil
	}
	if end > math.MaxInt32 {
		return fmt.Errorf("the texts of one block exceed 2 GiB at row %d, the limit of %s; use smaller blocks or cast the column to large_string", o.row-1, typeName(o.typ))
	}
	o.o32[o.row] = int32(end)
	return nil
}

func (o *textOut) release() {
	o.offsets.Release()
	o.data.Release()
}

// build finishes the array; valid may be nil. It takes valid over.
func (o *textOut) build(valid *memory.Buffer) arrow.Array {
	o.data.ResizeNoShrink(o.size)
	data := array.NewData(o.typ, o.rows, []*memory.Buffer{valid, o.offsets, o.data}, nil, array.UnknownNullCount, 0)
	defer data.Release()
	if valid != nil {
		valid.Release()
	}
	o.release()
	return array.MakeFromData(data)
}
