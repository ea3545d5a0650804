package jsonl

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// fixedColumn is what all columns of fixed-width values share.
type fixedColumn[T any] struct {
	vals vec[T]
	ok   validity
	dt   arrow.DataType
}

func newFixed[T any](mem memory.Allocator, dt arrow.DataType) fixedColumn[T] {
	c := fixedColumn[T]{dt: dt}
	c.vals.init(mem)
	c.ok.bits.init(mem)
	return c
}

func (c *fixedColumn[T]) push(v T) {
	c.vals.push(v)
	c.ok.valid()
}

func (c *fixedColumn[T]) null() {
	var zero T
	c.vals.push(zero)
	c.ok.null()
}

func (c *fixedColumn[T]) truncate(n int) {
	c.vals.n = n
	c.ok.truncate(n)
}

func (c *fixedColumn[T]) bytes() int { return c.vals.bytes() + c.ok.bits.n }

func (c *fixedColumn[T]) take() *array.Data {
	n := c.vals.n
	bitmap, nulls := c.ok.take()
	return newData(c.dt, n, nulls, []*memory.Buffer{bitmap, c.vals.take()}, nil)
}

func (c *fixedColumn[T]) release() {
	c.vals.release()
	c.ok.bits.release()
}

// parseNull matches the null at i.
func (c *fixedColumn[T]) parseNull(s *scanner, i int) int {
	if i = s.word(i, "null"); i >= 0 {
		c.null()
	}
	return i
}

type intColumn[T int8 | int16 | int32 | int64] struct{ fixedColumn[T] }

func newIntColumn[T int8 | int16 | int32 | int64](mem memory.Allocator, dt arrow.DataType) column {
	return &intColumn[T]{newFixed[T](mem, dt)}
}

func (c *intColumn[T]) parse(s *scanner, i int) int {
	if v, end := scalar.ShortInt(s.buf, i); end > i && int64(T(v)) == v {
		c.push(T(v))
		return end
	}
	b := s.buf[i]
	if b != '-' && b-'0' > 9 {
		if b == 'n' {
			return c.parseNull(s, i)
		}
		return s.mismatch(i, c.dt)
	}
	n, end := s.number(i)
	if end < 0 {
		return end
	}
	v, ok := n.Int64(s.buf[i:end])
	if !ok || int64(T(v)) != v {
		return s.failWant(i, c.dt, n.WhyNotInteger())
	}
	c.push(T(v))
	return end
}

type uintColumn[T uint8 | uint16 | uint32 | uint64] struct{ fixedColumn[T] }

func newUintColumn[T uint8 | uint16 | uint32 | uint64](mem memory.Allocator, dt arrow.DataType) column {
	return &uintColumn[T]{newFixed[T](mem, dt)}
}

func (c *uintColumn[T]) parse(s *scanner, i int) int {
	b := s.buf[i]
	if b != '-' && b-'0' > 9 {
		if b == 'n' {
			return c.parseNull(s, i)
		}
		return s.mismatch(i, c.dt)
	}
	n, end := s.number(i)
	if end < 0 {
		return end
	}
	v, ok := n.Uint64(s.buf[i:end])
	if !ok || uint64(T(v)) != v {
		return s.failWant(i, c.dt, n.WhyNotInteger())
	}
	c.push(T(v))
	return end
}

type floatColumn[T float32 | float64] struct{ fixedColumn[T] }

func newFloatColumn[T float32 | float64](mem memory.Allocator, dt arrow.DataType) column {
	return &floatColumn[T]{newFixed[T](mem, dt)}
}

func (c *floatColumn[T]) parse(s *scanner, i int) int {
	b := s.buf[i]
	if b != '-' && b-'0' > 9 {
		if b == 'n' {
			return c.parseNull(s, i)
		}
		return s.mismatch(i, c.dt)
	}
	n, end := s.number(i)
	if end < 0 {
		return end
	}
	v, ok := n.Float64(s.buf[i:end])
	if !ok || math.IsInf(float64(T(v)), 0) {
		return s.failWant(i, c.dt, "is out of range")
	}
	c.push(T(v))
	return end
}

// boolColumn packs booleans into bits.
type boolColumn struct {
	bits vec[byte]
	n    int
	ok   validity
}

func newBoolColumn(mem memory.Allocator) column {
	c := &boolColumn{}
	c.bits.init(mem)
	c.ok.bits.init(mem)
	return c
}

func (c *boolColumn) push(v bool) {
	if c.n/8 == c.bits.n {
		c.bits.push(0)
	}
	mask := byte(1) << (c.n & 7)
	if v {
		c.bits.v[c.n/8] |= mask
	} else {
		c.bits.v[c.n/8] &^= mask
	}
	c.n++
}

func (c *boolColumn) parse(s *scanner, i int) int {
	switch s.buf[i] {
	case 't':
		if i = s.word(i, "true"); i >= 0 {
			c.push(true)
			c.ok.valid()
		}
	case 'f':
		if i = s.word(i, "false"); i >= 0 {
			c.push(false)
			c.ok.valid()
		}
	case 'n':
		if i = s.word(i, "null"); i >= 0 {
			c.null()
		}
	default:
		return s.mismatch(i, arrow.FixedWidthTypes.Boolean)
	}
	return i
}

func (c *boolColumn) null() {
	c.push(false)
	c.ok.null()
}

func (c *boolColumn) truncate(n int) {
	c.n, c.bits.n = n, (n+7)/8
	c.ok.truncate(n)
}

func (c *boolColumn) bytes() int { return c.bits.n + c.ok.bits.n }

func (c *boolColumn) take() *array.Data {
	n := c.n
	c.n = 0
	bitmap, nulls := c.ok.take()
	return newData(arrow.FixedWidthTypes.Boolean, n, nulls, []*memory.Buffer{bitmap, c.bits.take()}, nil)
}

func (c *boolColumn) release() {
	c.bits.release()
	c.ok.bits.release()
}
