package block

import (
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

type offset interface{ int32 | int64 }

// offsetsOf returns the offsets of each source, from its first element on.
func offsetsOf[O offset](g *gather) [][]O {
	offs := make([][]O, len(g.src))
	for k, d := range g.src {
		if v := view[O](bufferAt(d, 1)); len(v) > 0 {
			offs[k] = v[g.shift[k]:]
		}
	}
	return offs
}

// newOffsets lays out the picked elements one after the other. Null elements take no room. It returns the offsets and their total.
func newOffsets[O offset](g *gather, offs [][]O, valid *memory.Buffer, dt arrow.DataType) (*memory.Buffer, int64, error) {
	var o O
	width := 4
	if _, large := any(o).(int64); large {
		width = 8
	}
	out := g.buffer((len(g.rows) + 1) * width)
	dst := view[O](out)
	total := int64(0)
	dst[0] = 0
	for i, x := range g.rows {
		if valid == nil || bitutil.BitIsSet(valid.Bytes(), i) {
			k := 0
			if g.from != nil {
				k = int(g.from[i])
			}
			total += int64(offs[k][x+1] - offs[k][x])
		}
		dst[i+1] = O(total)
	}
	if width == 4 {
		if err := errOffsets(total, dt); err != nil {
			return nil, 0, err
		}
	}
	return out, total, nil
}

func gatherBinary[O offset](g *gather, dt arrow.DataType) (*array.Data, error) {
	valid, nulls := g.validity()
	offs := offsetsOf[O](g)
	ob, total, err := newOffsets(g, offs, valid, dt)
	if err != nil {
		return nil, err
	}
	out := g.buffer(int(total))
	vals := make([][]byte, len(g.src))
	for k, d := range g.src {
		vals[k] = view[byte](bufferAt(d, 2))
	}
	if g.from == nil && valid == nil && len(g.rows) > 0 {
		copyBinary(out.Bytes(), vals[0], offs[0], g.rows)
		return g.workshop.data(dt, len(g.rows), []*memory.Buffer{nil, ob, out}, nil, 0), nil
	}
	dst, pos := out.Bytes(), 0
	for i, x := range g.rows {
		if valid != nil && !bitutil.BitIsSet(valid.Bytes(), i) {
			continue
		}
		k := 0
		if g.from != nil {
			k = int(g.from[i])
		}
		pos += copy(dst[pos:], vals[k][offs[k][x]:offs[k][x+1]])
	}
	return g.workshop.data(dt, len(g.rows), []*memory.Buffer{valid, ob, out}, nil, nulls), nil
}

// copyBinary copies the values of one source that has no nulls, neighbours at once.
func copyBinary[O offset](dst, vals []byte, offs []O, rows []uint32) {
	pos := 0
	for i := 0; i < len(rows); {
		x := rows[i]
		n := uint32(1)
		for i+int(n) < len(rows) && rows[i+int(n)] == x+n {
			n++
		}
		pos += copy(dst[pos:], vals[offs[x]:offs[x+n]])
		i += int(n)
	}
}

// gatherList gathers lists and maps: the elements of the picked lists become picks of their own, or, where elements are plain
// values, stretches of bytes.
func gatherList[O offset](g *gather, dt arrow.DataType) (*array.Data, error) {
	valid, nulls := g.validity()
	offs := offsetsOf[O](g)
	ob, total, err := newOffsets(g, offs, valid, dt)
	if err != nil {
		return nil, err
	}
	d, err := listItems(g, offs, valid, total)
	if err != nil {
		return nil, err
	}
	return g.workshop.data(dt, len(g.rows), []*memory.Buffer{valid, ob}, []arrow.ArrayData{d}, nulls), nil
}

func listItems[O offset](g *gather, offs [][]O, valid *memory.Buffer, total int64) (*array.Data, error) {
	c := g.child(nil, nil)
	if width, ok := plainWidth(c.src[0].DataType()); ok && !hasNulls(c.src) {
		out := g.buffer(int(total) * width)
		dst, pos := out.Bytes(), 0
		eachList(g, offs, valid, func(k int, first, last int64) {
			if first < last {
				v := bufferAt(c.src[k], 1).Bytes()
				base := int64(c.shift[k])
				pos += copy(dst[pos:], v[(base+first)*int64(width):(base+last)*int64(width)])
			}
		})
		return g.workshop.data(c.src[0].DataType(), int(total), []*memory.Buffer{nil, out}, nil, 0), nil
	}
	c.rows = make([]uint32, 0, total)
	if g.from != nil {
		c.from = make([]uint32, 0, total)
	}
	deep := false
	eachList(g, offs, valid, func(k int, first, last int64) {
		deep = deep || last > math.MaxUint32
		for x := first; x < last; x++ {
			c.rows = append(c.rows, uint32(x))
			if c.from != nil {
				c.from = append(c.from, uint32(k))
			}
		}
	})
	if deep {
		return nil, errors.New("lists of more than 4294967295 elements in one block are not supported; use smaller blocks")
	}
	return c.data()
}

func eachList[O offset](g *gather, offs [][]O, valid *memory.Buffer, f func(k int, first, last int64)) {
	for i, x := range g.rows {
		if valid != nil && !bitutil.BitIsSet(valid.Bytes(), i) {
			continue
		}
		k := 0
		if g.from != nil {
			k = int(g.from[i])
		}
		f(k, int64(offs[k][x]), int64(offs[k][x+1]))
	}
}

func hasNulls(ds []*array.Data) bool {
	for _, d := range ds {
		if d.NullN() != 0 {
			return true
		}
	}
	return false
}
