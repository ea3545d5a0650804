package block

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// window is a stretch of one array: elements first to first+n of its buffers.
type window struct {
	d        *array.Data
	first, n int
}

// concat joins windows of arrays of one type.
type concat struct {
	*workshop
	win []window
	n   int
}

func (c *concat) add(d *array.Data, first, n int) {
	c.win = append(c.win, window{d, first, n})
	c.n += n
}

func (c *concat) data() (*array.Data, error) {
	dt := c.win[0].d.DataType()
	switch t := storageOf(dt).(type) {
	case *arrow.NullType:
		return c.workshop.data(dt, c.n, []*memory.Buffer{nil}, nil, c.n), nil
	case *arrow.BooleanType:
		valid, nulls := c.validity()
		return c.workshop.data(dt, c.n, []*memory.Buffer{valid, c.bitmap(1)}, nil, nulls), nil
	case *arrow.DictionaryType:
		return c.dictionary(dt, t)
	case *arrow.BinaryType, *arrow.StringType:
		return concatBinary[int32](c, dt)
	case *arrow.LargeBinaryType, *arrow.LargeStringType:
		return concatBinary[int64](c, dt)
	case *arrow.ListType, *arrow.MapType:
		return concatList[int32](c, dt)
	case *arrow.LargeListType:
		return concatList[int64](c, dt)
	case *arrow.FixedSizeListType:
		valid, nulls := c.validity()
		d, err := c.children(0, int(t.Len()))
		if err != nil {
			return nil, err
		}
		return c.workshop.data(dt, c.n, []*memory.Buffer{valid}, []arrow.ArrayData{d}, nulls), nil
	case *arrow.StructType:
		return c.structs(dt, t.NumFields())
	case arrow.FixedWidthDataType:
		valid, nulls := c.validity()
		return c.workshop.data(dt, c.n, []*memory.Buffer{valid, c.fixed(t.BitWidth() / 8)}, nil, nulls), nil
	}
	return c.slow()
}

func (c *concat) validity() (*memory.Buffer, int) {
	nulls := 0
	for _, w := range c.win {
		if v := validity(w.d); v != nil {
			nulls += w.n - bitutil.CountSetBits(v, w.first, w.n)
		}
	}
	if nulls == 0 {
		return nil, 0
	}
	return c.bitmap(0), nulls
}

// bitmap joins bitmaps of buffer i; a validity bitmap that is absent counts as all set.
func (c *concat) bitmap(i int) *memory.Buffer {
	out := c.bits(c.n)
	pos := 0
	for _, w := range c.win {
		src := view[byte](bufferAt(w.d, i))
		switch {
		case i == 0 && validity(w.d) == nil:
			bitutil.SetBitsTo(out.Bytes(), int64(pos), int64(w.n), true)
		case w.n > 0:
			bitutil.CopyBitmap(src, w.first, w.n, out.Bytes(), pos)
		}
		pos += w.n
	}
	return out
}

func (c *concat) fixed(width int) *memory.Buffer {
	out := c.buffer(c.n * width)
	dst := out.Bytes()
	for _, w := range c.win {
		if w.n > 0 {
			dst = dst[copy(dst, bufferAt(w.d, 1).Bytes()[w.first*width:(w.first+w.n)*width]):]
		}
	}
	return out
}

// children joins child f of every window; each element of the parent covers per elements of the child.
func (c *concat) children(f, per int) (*array.Data, error) {
	k := &concat{workshop: c.workshop}
	for _, w := range c.win {
		d := w.d.Children()[f].(*array.Data)
		k.add(d, d.Offset()+w.first*per, w.n*per)
	}
	return k.data()
}

func (c *concat) structs(dt arrow.DataType, fields int) (*array.Data, error) {
	valid, nulls := c.validity()
	kids := make([]arrow.ArrayData, fields)
	for f := range kids {
		d, err := c.children(f, 1)
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", f, err)
		}
		kids[f] = d
	}
	return c.workshop.data(dt, c.n, []*memory.Buffer{valid}, kids, nulls), nil
}

// dictionary joins indices where all arrays share one dictionary, and gathers them where not.
func (c *concat) dictionary(dt arrow.DataType, t *arrow.DictionaryType) (*array.Data, error) {
	src := make([]*array.Data, len(c.win))
	for k, w := range c.win {
		src[k] = w.d
	}
	dicts, same := dictionariesOf(src)
	if !same {
		return c.gatherAll(src)
	}
	valid, nulls := c.validity()
	width := t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	return c.dictData(dt, c.n, []*memory.Buffer{valid, c.fixed(width)}, nulls, dicts[0]), nil
}

// gatherAll joins by picking every element.
func (c *concat) gatherAll(src []*array.Data) (*array.Data, error) {
	g := &gather{workshop: c.workshop, src: src, shift: make([]int, len(src))}
	g.from, g.rows = make([]uint32, 0, c.n), make([]uint32, 0, c.n)
	for k, w := range c.win {
		for i := range w.n {
			g.from, g.rows = append(g.from, uint32(k)), append(g.rows, uint32(w.first+i))
		}
	}
	return g.data()
}

// joinOffsets writes the offsets of all windows one after the other and returns the element range of each.
func joinOffsets[O offset](c *concat, dt arrow.DataType) (*memory.Buffer, [][2]O, int64, error) {
	var o O
	width := 4
	if _, large := any(o).(int64); large {
		width = 8
	}
	out := c.buffer((c.n + 1) * width)
	dst := view[O](out)
	spans := make([][2]O, len(c.win))
	total, at := int64(0), 0
	for k, w := range c.win {
		if w.n == 0 {
			continue
		}
		src := view[O](bufferAt(w.d, 1))[w.first : w.first+w.n+1]
		spans[k] = [2]O{src[0], src[w.n]}
		shift := O(total) - src[0]
		for i, x := range src[:w.n] {
			dst[at+i] = x + shift
		}
		total += int64(src[w.n] - src[0])
		at += w.n
	}
	dst[c.n] = O(total)
	if width == 4 {
		if err := errOffsets(total, dt); err != nil {
			return nil, nil, 0, err
		}
	}
	return out, spans, total, nil
}

func concatBinary[O offset](c *concat, dt arrow.DataType) (*array.Data, error) {
	valid, nulls := c.validity()
	ob, spans, total, err := joinOffsets[O](c, dt)
	if err != nil {
		return nil, err
	}
	out := c.buffer(int(total))
	dst := out.Bytes()
	for k, w := range c.win {
		if s := spans[k]; s[1] > s[0] {
			dst = dst[copy(dst, bufferAt(w.d, 2).Bytes()[s[0]:s[1]]):]
		}
	}
	return c.workshop.data(dt, c.n, []*memory.Buffer{valid, ob, out}, nil, nulls), nil
}

func concatList[O offset](c *concat, dt arrow.DataType) (*array.Data, error) {
	valid, nulls := c.validity()
	ob, spans, _, err := joinOffsets[O](c, dt)
	if err != nil {
		return nil, err
	}
	k := &concat{workshop: c.workshop}
	for i, w := range c.win {
		d := w.d.Children()[0].(*array.Data)
		k.add(d, d.Offset()+int(spans[i][0]), int(spans[i][1]-spans[i][0]))
	}
	d, err := k.data()
	if err != nil {
		return nil, err
	}
	return c.workshop.data(dt, c.n, []*memory.Buffer{valid, ob}, []arrow.ArrayData{d}, nulls), nil
}

// slow joins types that have no kernel.
func (c *concat) slow() (*array.Data, error) {
	parts := make([]arrow.Array, 0, len(c.win))
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for _, w := range c.win {
		from := int64(w.first - w.d.Offset())
		d := array.NewSliceData(w.d, from, from+int64(w.n))
		parts = append(parts, array.MakeFromData(d))
		d.Release()
	}
	a, err := array.Concatenate(parts, c.mem)
	if err != nil {
		return nil, err
	}
	return c.keep(a), nil
}
