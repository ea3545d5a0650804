package jsonl

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
)

// structColumn holds objects.
type structColumn struct {
	obj *object
	n   int
	ok  columns.Validity
	dt  *arrow.StructType
}

func newStructColumn(mem memory.Allocator, t *arrow.StructType) (column, error) {
	obj, err := newObject(mem, t.Fields())
	if err != nil {
		return nil, err
	}
	c := &structColumn{obj: obj, dt: unmarkType(t).(*arrow.StructType)}
	c.ok.Bits.Init(mem)
	return c, nil
}

func (c *structColumn) parse(s *scanner, i int) int {
	switch s.buf[i] {
	case '{':
	case 'n':
		if i = s.word(i, "null"); i >= 0 {
			c.null()
		}
		return i
	default:
		return s.mismatch(i, c.dt)
	}
	if i = c.obj.parse(s, i, c.n); i >= 0 {
		c.n++
		c.ok.Valid()
	}
	return i
}

func (c *structColumn) null() {
	for _, f := range c.obj.fields {
		f.col.null()
	}
	c.n++
	c.ok.Null()
}

func (c *structColumn) truncate(n int) {
	c.obj.truncate(n)
	c.n = n
	c.ok.Truncate(n)
}

func (c *structColumn) bytes() int { return c.obj.bytes() + c.ok.Bits.N }

func (c *structColumn) take() *array.Data {
	n := c.n
	c.n = 0
	bitmap, nulls := c.ok.Take()
	return columns.NewData(c.dt, n, nulls, []*memory.Buffer{bitmap}, c.obj.take())
}

func (c *structColumn) release() {
	c.obj.release()
	c.ok.Bits.Release()
}

// listColumn holds arrays; offsets[k+1] is where the elements of list k end.
type listColumn[O offset] struct {
	offsets columns.Vec[O]
	elem    column
	count   int // elements so far
	ok      columns.Validity
	dt      arrow.DataType
}

func newListColumn[O offset](mem memory.Allocator, dt arrow.DataType, elem arrow.Field) (column, error) {
	inner, err := newColumn(mem, elem)
	if err != nil {
		return nil, err
	}
	c := &listColumn[O]{elem: inner, dt: unmarkType(dt)}
	c.offsets.Init(mem)
	c.ok.Bits.Init(mem)
	return c, nil
}

func (c *listColumn[O]) parse(s *scanner, i int) int {
	switch s.buf[i] {
	case '[':
	case 'n':
		if i = s.word(i, "null"); i >= 0 {
			c.null()
		}
		return i
	default:
		return s.mismatch(i, c.dt)
	}
	if !s.enter(i) {
		return -1
	}
	i = s.space(i + 1)
	if s.buf[i] == ']' {
		s.depth--
		i++
	} else {
		for k, more := 0, true; more; k++ {
			if i = c.elem.parse(s, i); i < 0 {
				return s.within("[" + strconv.Itoa(k) + "]")
			}
			c.count++
			if i, more = s.comma(i, ']'); i < 0 {
				return i
			}
		}
	}
	c.end()
	c.ok.Valid()
	return i
}

func (c *listColumn[O]) end() {
	if c.offsets.N == 0 {
		c.offsets.Push(0)
	}
	c.offsets.Push(O(c.count))
}

func (c *listColumn[O]) null() {
	c.end()
	c.ok.Null()
}

func (c *listColumn[O]) truncate(n int) {
	if c.offsets.N > n+1 {
		c.offsets.N = n + 1
	}
	c.count = 0
	if c.offsets.N > 0 {
		c.count = int(c.offsets.V[c.offsets.N-1])
	}
	c.elem.truncate(c.count)
	c.ok.Truncate(n)
}

func (c *listColumn[O]) bytes() int { return c.offsets.Bytes() + c.elem.bytes() + c.ok.Bits.N }

func (c *listColumn[O]) take() *array.Data {
	if c.offsets.N == 0 {
		c.offsets.Push(0)
	}
	n := c.offsets.N - 1
	c.count = 0
	bitmap, nulls := c.ok.Take()
	return columns.NewData(c.dt, n, nulls, []*memory.Buffer{bitmap, c.offsets.Take()}, []arrow.ArrayData{c.elem.take()})
}

func (c *listColumn[O]) release() {
	c.offsets.Release()
	c.elem.release()
	c.ok.Bits.Release()
}
