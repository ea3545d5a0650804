package columns

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// NewData builds array data from buffers and children that it takes over; a nil bitmap means no nulls.
func NewData(dt arrow.DataType, n, nulls int, bufs []*memory.Buffer, children []arrow.ArrayData) *array.Data {
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

// Fixed is a column of fixed-width values.
type Fixed[T any] struct {
	Vals Vec[T]
	OK   Validity
	DT   arrow.DataType
}

// NewFixed makes an empty column.
func NewFixed[T any](mem memory.Allocator, dt arrow.DataType) Fixed[T] {
	c := Fixed[T]{DT: dt}
	c.Vals.Init(mem)
	c.OK.Bits.Init(mem)
	return c
}

// Push appends a value.
func (c *Fixed[T]) Push(v T) {
	c.Vals.Push(v)
	c.OK.Valid()
}

// Null appends a null.
func (c *Fixed[T]) Null() {
	var zero T
	c.Vals.Push(zero)
	c.OK.Null()
}

// Truncate drops every value from n on; n is at most the length.
func (c *Fixed[T]) Truncate(n int) {
	c.Vals.N = n
	c.OK.Truncate(n)
}

// Bytes is the size of what was appended.
func (c *Fixed[T]) Bytes() int { return c.Vals.Bytes() + c.OK.Bits.N }

// Take hands over the array and empties the column.
func (c *Fixed[T]) Take() *array.Data {
	n := c.Vals.N
	bitmap, nulls := c.OK.Take()
	return NewData(c.DT, n, nulls, []*memory.Buffer{bitmap, c.Vals.Take()}, nil)
}

// Release frees the column.
func (c *Fixed[T]) Release() {
	c.Vals.Release()
	c.OK.Bits.Release()
}

// Bool is a column of booleans, packed into bits.
type Bool struct {
	bits Vec[byte]
	n    int
	ok   Validity
}

// NewBool makes an empty column.
func NewBool(mem memory.Allocator) Bool {
	c := Bool{}
	c.bits.Init(mem)
	c.ok.Bits.Init(mem)
	return c
}

// Push appends a value.
func (c *Bool) Push(v bool) {
	c.set(v)
	c.ok.Valid()
}

func (c *Bool) set(v bool) {
	if c.n/8 == c.bits.N {
		c.bits.Push(0)
	}
	mask := byte(1) << (c.n & 7)
	if v {
		c.bits.V[c.n/8] |= mask
	} else {
		c.bits.V[c.n/8] &^= mask
	}
	c.n++
}

// Null appends a null.
func (c *Bool) Null() {
	c.set(false)
	c.ok.Null()
}

// Truncate drops every value from n on.
func (c *Bool) Truncate(n int) {
	c.n, c.bits.N = n, (n+7)/8
	c.ok.Truncate(n)
}

// Bytes is the size of what was appended.
func (c *Bool) Bytes() int { return c.bits.N + c.ok.Bits.N }

// Take hands over the array and empties the column.
func (c *Bool) Take() *array.Data {
	n := c.n
	c.n = 0
	bitmap, nulls := c.ok.Take()
	return NewData(arrow.FixedWidthTypes.Boolean, n, nulls, []*memory.Buffer{bitmap, c.bits.Take()}, nil)
}

// Release frees the column.
func (c *Bool) Release() {
	c.bits.Release()
	c.ok.Bits.Release()
}

// Offset is the width of the offsets of a Binary column.
type Offset interface{ int32 | int64 }

// Binary is a column of variable-length values: offsets[k+1] is where value k ends.
type Binary[O Offset] struct {
	offsets Vec[O]
	Data    Vec[byte]
	OK      Validity
	DT      arrow.DataType
}

// NewBinary makes an empty column.
func NewBinary[O Offset](mem memory.Allocator, dt arrow.DataType) Binary[O] {
	c := Binary[O]{DT: dt}
	c.offsets.Init(mem)
	c.Data.Init(mem)
	c.OK.Bits.Init(mem)
	return c
}

// Push appends a copy of b.
func (c *Binary[O]) Push(b []byte) {
	copy(c.Data.Room(len(b)), b)
	c.Data.N += len(b)
	c.End()
}

// End closes the value whose bytes were written to the room of Data.
func (c *Binary[O]) End() {
	c.end()
	c.OK.Valid()
}

func (c *Binary[O]) end() {
	if c.offsets.N == 0 {
		c.offsets.Push(0)
	}
	c.offsets.Push(O(c.Data.N))
}

// Null appends a null.
func (c *Binary[O]) Null() {
	c.end()
	c.OK.Null()
}

// Truncate drops every value from n on.
func (c *Binary[O]) Truncate(n int) {
	if c.offsets.N > n+1 {
		c.offsets.N = n + 1
	}
	c.Data.N = 0
	if c.offsets.N > 0 {
		c.Data.N = int(c.offsets.V[c.offsets.N-1])
	}
	c.OK.Truncate(n)
}

// Bytes is the size of what was appended.
func (c *Binary[O]) Bytes() int { return c.offsets.Bytes() + c.Data.N + c.OK.Bits.N }

// Take hands over the array and empties the column.
func (c *Binary[O]) Take() *array.Data {
	if c.offsets.N == 0 {
		c.offsets.Push(0)
	}
	n := c.offsets.N - 1
	bitmap, nulls := c.OK.Take()
	return NewData(c.DT, n, nulls, []*memory.Buffer{bitmap, c.offsets.Take(), c.Data.Take()}, nil)
}

// Release frees the column.
func (c *Binary[O]) Release() {
	c.offsets.Release()
	c.Data.Release()
	c.OK.Bits.Release()
}
