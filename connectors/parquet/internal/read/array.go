package read

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// wasteShift decides when a buffer is cut to size: its unused part is more
// than a quarter of it.
const wasteShift = 2

// seal cuts a buffer to n bytes and hands it over.
func (b *builder) seal(p **memory.Buffer, n int) *memory.Buffer {
	if *p == nil {
		*p = memory.NewResizableBuffer(b.mem)
	}
	out := *p
	*p = nil
	if out.Cap()-n > out.Cap()>>wasteShift+slack {
		out.Resize(n)
	} else {
		out.ResizeNoShrink(n)
	}
	return out
}

// take hands the batch over as array data of type dt and empties the builder.
func (b *builder) take(dt arrow.DataType) *array.Data {
	n, nulls := b.n, b.nulls
	if b.shape == shapeBytes && n > 0 {
		b.perSlot = float64(b.size) / float64(n)
	}
	var bufs []*memory.Buffer
	if nulls > 0 {
		bufs = append(bufs, b.seal(&b.valid, (n+7)/8))
	} else {
		bufs = append(bufs, nil)
	}
	switch b.shape {
	case shapeFixed:
		bufs = append(bufs, b.seal(&b.fixed, n*b.width))
	case shapeBits:
		bufs = append(bufs, b.seal(&b.fixed, (n+7)/8))
	case shapeBytes:
		b.offsets(0)
		off := b.seal(&b.off, (n+1)*4)
		if wide(dt) {
			off = b.widen(off)
		}
		bufs = append(bufs, off, b.seal(&b.data, b.size))
	}
	b.release()
	return handOver(dt, n, bufs, nil, nulls)
}

// handOver makes array data that owns bufs and children.
func handOver(dt arrow.DataType, n int, bufs []*memory.Buffer, children []arrow.ArrayData, nulls int) *array.Data {
	d := array.NewData(dt, n, bufs, children, nulls, 0)
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return d
}

func wide(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LARGE_LIST:
		return true
	}
	return false
}

// widen turns 32-bit offsets into 64-bit ones and releases the former.
func (b *builder) widen(off *memory.Buffer) *memory.Buffer {
	src := view[int32](off.Bytes())
	out := memory.NewResizableBuffer(b.mem)
	out.Resize(len(src) * 8)
	dst := view[int64](out.Bytes())
	for i, v := range src {
		dst[i] = int64(v)
	}
	off.Release()
	return out
}

// snapshot copies the values so far into array data of type dt.
func (b *builder) snapshot(dt arrow.DataType) arrow.ArrayData {
	c := builder{mem: b.mem, shape: shapeBytes, limit: maxData}
	o := c.offsets(b.n)
	if b.n > 0 {
		copy(o, view[int32](b.off.Bytes())[1:])
		copy(c.grow(&c.data, b.size), b.data.Bytes()[:b.size])
	}
	c.n, c.size = b.n, b.size
	return c.take(dt)
}

// takeArray hands over the batch of a leaf as its storage type.
func (l *leaf) takeArray(dt arrow.DataType) (arrow.ArrayData, error) {
	switch t := dt.(type) {
	case *arrow.NullType:
		n, nulls := l.out.n, l.out.nulls
		l.out.release()
		if nulls != n {
			return nil, fmt.Errorf("column of type null has %d values that are not", n-nulls)
		}
		return handOver(dt, n, []*memory.Buffer{nil}, nil, n), nil
	case *arrow.DictionaryType:
		if l.intern.values.n == 0 {
			l.intern.values.offsets(0)
		}
		d := l.out.take(t.IndexType)
		defer d.Release()
		out := array.NewDataWithDictionary(dt, d.Len(), d.Buffers(), d.NullN(), 0, l.intern.array().Data().(*array.Data))
		return out, nil
	}
	return l.out.take(dt), nil
}
