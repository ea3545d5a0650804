package jsonl

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// fixedColumn is what all columns of fixed-width values share.
type fixedColumn[T any] struct {
	vals columns.Fixed[T]
	dt   arrow.DataType
}

func newFixed[T any](mem memory.Allocator, dt arrow.DataType) fixedColumn[T] {
	return fixedColumn[T]{columns.NewFixed[T](mem, dt), dt}
}

func (c *fixedColumn[T]) push(v T)          { c.vals.Push(v) }
func (c *fixedColumn[T]) null()             { c.vals.Null() }
func (c *fixedColumn[T]) truncate(n int)    { c.vals.Truncate(n) }
func (c *fixedColumn[T]) bytes() int        { return c.vals.Bytes() }
func (c *fixedColumn[T]) take() *array.Data { return c.vals.Take() }
func (c *fixedColumn[T]) release()          { c.vals.Release() }

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

type boolColumn struct{ vals columns.Bool }

func newBoolColumn(mem memory.Allocator) column { return &boolColumn{columns.NewBool(mem)} }

func (c *boolColumn) parse(s *scanner, i int) int {
	switch s.buf[i] {
	case 't':
		if i = s.word(i, "true"); i >= 0 {
			c.vals.Push(true)
		}
	case 'f':
		if i = s.word(i, "false"); i >= 0 {
			c.vals.Push(false)
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

func (c *boolColumn) null()             { c.vals.Null() }
func (c *boolColumn) truncate(n int)    { c.vals.Truncate(n) }
func (c *boolColumn) bytes() int        { return c.vals.Bytes() }
func (c *boolColumn) take() *array.Data { return c.vals.Take() }
func (c *boolColumn) release()          { c.vals.Release() }
