package block

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// gather builds one array of rows picked from several arrays of one type. Row i comes from src[from[i]], or from src[0] where from is
// nil. Element x of source k lies at shift[k]+x in its buffers.
type gather struct {
	*workshop
	src   []*array.Data
	shift []int
	from  []uint32
	rows  []uint32
}

// at returns the source of row i and the place of its element in that source's buffers.
func (g *gather) at(i int) (k, x int) {
	if g.from != nil {
		k = int(g.from[i])
	}
	return k, g.shift[k] + int(g.rows[i])
}

func (g *gather) data() (*array.Data, error) {
	dt, n := g.src[0].DataType(), len(g.rows)
	st := storageOf(dt)
	switch t := st.(type) {
	case *arrow.NullType:
		return g.workshop.data(dt, n, []*memory.Buffer{nil}, nil, n), nil
	case *arrow.BooleanType:
		valid, nulls := g.validity()
		return g.workshop.data(dt, n, []*memory.Buffer{valid, g.bools()}, nil, nulls), nil
	case *arrow.DictionaryType:
		return g.dictionary(dt, t)
	case *arrow.BinaryType, *arrow.StringType:
		return gatherBinary[int32](g, dt)
	case *arrow.LargeBinaryType, *arrow.LargeStringType:
		return gatherBinary[int64](g, dt)
	case *arrow.ListType, *arrow.MapType:
		return gatherList[int32](g, dt)
	case *arrow.LargeListType:
		return gatherList[int64](g, dt)
	case *arrow.FixedSizeListType:
		return g.fixedList(dt, int(t.Len()))
	case *arrow.StructType:
		return g.structs(dt, t.NumFields())
	case arrow.FixedWidthDataType:
		valid, nulls := g.validity()
		return g.workshop.data(dt, n, []*memory.Buffer{valid, g.fixed(t.BitWidth()/8, 1)}, nil, nulls), nil
	}
	return g.slow()
}

// validity gathers the bitmap; nil if no picked row is null.
func (g *gather) validity() (*memory.Buffer, int) {
	maps := make([][]byte, len(g.src))
	some := false
	for k, d := range g.src {
		maps[k] = validity(d)
		some = some || maps[k] != nil
	}
	if !some {
		return nil, 0
	}
	out := g.buffer((len(g.rows) + 7) / 8)
	valid := 0
	packBits(out.Bytes(), len(g.rows), func(i int) bool {
		k, x := g.at(i)
		return maps[k] == nil || bitutil.BitIsSet(maps[k], x)
	}, &valid)
	if valid == len(g.rows) {
		return nil, 0
	}
	return out, len(g.rows) - valid
}

// packBits fills out with n bits and counts those set.
func packBits(out []byte, n int, bit func(i int) bool, set *int) {
	for i := 0; i < n; i += 8 {
		b := byte(0)
		for j := range min(8, n-i) {
			if bit(i + j) {
				b |= 1 << j
			}
		}
		out[i/8] = b
		*set += bits.OnesCount8(b)
	}
}

func (g *gather) bools() *memory.Buffer {
	maps := make([][]byte, len(g.src))
	for k, d := range g.src {
		maps[k] = view[byte](bufferAt(d, 1))
	}
	out := g.buffer((len(g.rows) + 7) / 8)
	set := 0
	if g.from == nil {
		m, shift := maps[0], g.shift[0]
		packBits(out.Bytes(), len(g.rows), func(i int) bool { return bitutil.BitIsSet(m, shift+int(g.rows[i])) }, &set)
		return out
	}
	packBits(out.Bytes(), len(g.rows), func(i int) bool {
		k, x := g.at(i)
		return bitutil.BitIsSet(maps[k], x)
	}, &set)
	return out
}

// fixed gathers elements of width bytes, each per values long.
func (g *gather) fixed(width, per int) *memory.Buffer {
	out := g.buffer(len(g.rows) * width * per)
	switch width * per {
	case 1:
		gatherFixed[uint8](g, out)
	case 2:
		gatherFixed[uint16](g, out)
	case 4:
		gatherFixed[uint32](g, out)
	case 8:
		gatherFixed[uint64](g, out)
	case 16:
		gatherFixed[[2]uint64](g, out)
	default:
		g.wide(out.Bytes(), width*per)
	}
	return out
}

func gatherFixed[T any](g *gather, out *memory.Buffer) {
	dst := view[T](out)
	if g.from == nil {
		if len(g.rows) == 0 {
			return
		}
		src := view[T](bufferAt(g.src[0], 1))[g.shift[0]:]
		rows := g.rows[:len(dst)]
		for i := range dst {
			dst[i] = src[rows[i]]
		}
		return
	}
	srcs := make([][]T, len(g.src))
	for k, d := range g.src {
		if v := view[T](bufferAt(d, 1)); len(v) > 0 {
			srcs[k] = v[g.shift[k]:]
		}
	}
	for i, x := range g.rows {
		dst[i] = srcs[g.from[i]][x]
	}
}

// wide gathers elements of an unusual width, stretches of neighbours at once.
func (g *gather) wide(dst []byte, width int) {
	if width == 0 {
		return
	}
	for i := 0; i < len(g.rows); {
		k, x := g.at(i)
		n := g.run(i)
		copy(dst[i*width:(i+n)*width], bufferAt(g.src[k], 1).Bytes()[x*width:])
		i += n
	}
}

// run returns how many rows from i on are neighbours in one source.
func (g *gather) run(i int) int {
	n := 1
	for i+n < len(g.rows) && g.rows[i+n] == g.rows[i]+uint32(n) && (g.from == nil || g.from[i+n] == g.from[i]) {
		n++
	}
	return n
}

func (g *gather) structs(dt arrow.DataType, fields int) (*array.Data, error) {
	valid, nulls := g.validity()
	children := make([]arrow.ArrayData, fields)
	for f := range fields {
		c := &gather{workshop: g.workshop, from: g.from, rows: g.rows}
		c.src, c.shift = make([]*array.Data, len(g.src)), make([]int, len(g.src))
		for k, d := range g.src {
			c.src[k] = d.Children()[f].(*array.Data)
			c.shift[k] = g.shift[k] + c.src[k].Offset()
		}
		d, err := c.data()
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", f, err)
		}
		children[f] = d
	}
	return g.workshop.data(dt, len(g.rows), []*memory.Buffer{valid}, children, nulls), nil
}

// slow gathers types that have no kernel, by joining slices of neighbouring rows.
func (g *gather) slow() (*array.Data, error) {
	if len(g.rows) == 0 {
		a := Nulls(g.mem, g.src[0].DataType(), 0)
		return g.keep(a), nil
	}
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for i := 0; i < len(g.rows); {
		k, x := g.at(i)
		n := g.run(i)
		d := array.NewSliceData(g.src[k], int64(x-g.src[k].Offset()), int64(x-g.src[k].Offset()+n))
		parts = append(parts, array.MakeFromData(d))
		d.Release()
		i += n
	}
	a, err := array.Concatenate(parts, g.mem)
	if err != nil {
		return nil, err
	}
	return g.keep(a), nil
}

// child makes the gather for the elements of lists: element ranges were expanded into from and rows.
func (g *gather) child(from, rows []uint32) *gather {
	c := &gather{workshop: g.workshop, from: from, rows: rows}
	c.src, c.shift = make([]*array.Data, len(g.src)), make([]int, len(g.src))
	for k, d := range g.src {
		c.src[k] = d.Children()[0].(*array.Data)
		c.shift[k] = c.src[k].Offset()
	}
	return c
}

// fixedList gathers fixed-size lists; lists of numbers without nulls are copied as wide values.
func (g *gather) fixedList(dt arrow.DataType, per int) (*array.Data, error) {
	valid, nulls := g.validity()
	n := len(g.rows)
	if n*per > math.MaxInt32 {
		return nil, errOffsets(int64(n*per), dt)
	}
	if d, ok := g.flatList(per); ok {
		return g.workshop.data(dt, n, []*memory.Buffer{valid}, []arrow.ArrayData{d}, nulls), nil
	}
	rows := make([]uint32, 0, n*per)
	var from []uint32
	if g.from != nil {
		from = make([]uint32, 0, n*per)
	}
	for i := range n {
		k, x := g.at(i)
		for j := range per {
			rows = append(rows, uint32(x*per+j))
			if from != nil {
				from = append(from, uint32(k))
			}
		}
	}
	d, err := g.child(from, rows).data()
	if err != nil {
		return nil, err
	}
	return g.workshop.data(dt, n, []*memory.Buffer{valid}, []arrow.ArrayData{d}, nulls), nil
}

// flatList copies the elements of fixed-size lists of fixed-width values without nulls; ok is false for other lists.
func (g *gather) flatList(per int) (d *array.Data, ok bool) {
	ct := g.src[0].Children()[0].DataType()
	width, ok := plainWidth(ct)
	if !ok || per == 0 {
		return nil, false
	}
	c := g.child(g.from, g.rows)
	for k := range c.src {
		if c.src[k].NullN() != 0 || c.src[k].Offset() != 0 {
			return nil, false
		}
		c.shift[k] = g.shift[k]
	}
	out := c.fixed(width, per)
	return g.workshop.data(ct, len(g.rows)*per, []*memory.Buffer{nil, out}, nil, 0), true
}

// plainWidth returns the bytes of one value of types that are nothing but a buffer of values of whole bytes.
func plainWidth(dt arrow.DataType) (int, bool) {
	st := storageOf(dt)
	f, ok := st.(arrow.FixedWidthDataType)
	if !ok || f.BitWidth()%8 != 0 {
		return 0, false
	}
	switch st.ID() {
	case arrow.FIXED_SIZE_LIST, arrow.DICTIONARY, arrow.STRUCT, arrow.BOOL:
		return 0, false
	}
	return f.BitWidth() / 8, true
}
