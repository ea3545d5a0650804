package jsonl

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
)

type offset = columns.Offset

// bytesColumn is what columns of variable-length values share.
type bytesColumn[O offset] struct {
	vals columns.Binary[O]
	dt   arrow.DataType
}

func newBytes[O offset](mem memory.Allocator, dt arrow.DataType) bytesColumn[O] {
	return bytesColumn[O]{columns.NewBinary[O](mem, dt), dt}
}

// push appends a copy of b.
func (c *bytesColumn[O]) push(b []byte)     { c.vals.Push(b) }
func (c *bytesColumn[O]) null()             { c.vals.Null() }
func (c *bytesColumn[O]) truncate(n int)    { c.vals.Truncate(n) }
func (c *bytesColumn[O]) bytes() int        { return c.vals.Bytes() }
func (c *bytesColumn[O]) take() *array.Data { return c.vals.Take() }
func (c *bytesColumn[O]) release()          { c.vals.Release() }

// textColumn holds strings. With any, other values are kept as their JSON text.
type textColumn[O offset] struct {
	bytesColumn[O]
	any bool
}

func newTextColumn[O offset](mem memory.Allocator, dt arrow.DataType, any bool) column {
	return &textColumn[O]{newBytes[O](mem, dt), any}
}

func (c *textColumn[O]) parse(s *scanner, i int) int {
	if s.buf[i] != '"' {
		return c.parseOther(s, i)
	}
	end, flags := s.stringEnd(i + 1)
	if end < 0 {
		return end
	}
	raw := s.buf[i+1 : end]
	if flags == 0 || flags == textWide && utf8.Valid(raw) {
		c.push(raw)
		return end + 1
	}
	b, next := s.text(i)
	if next >= 0 {
		c.push(b)
	}
	return next
}

func (c *textColumn[O]) parseOther(s *scanner, i int) int {
	if s.buf[i] == 'n' {
		if i = s.word(i, "null"); i >= 0 {
			c.null()
		}
		return i
	}
	end := s.skip(i)
	if end < 0 {
		return end
	}
	if !c.any {
		return s.mismatch(i, c.dt)
	}
	b := s.buf[i:end]
	if s.replace && !utf8.Valid(b) {
		b = appendValid(nil, b)
	}
	c.push(b)
	return end
}

// base64Column holds binary values, written in JSON as base64 with or without padding.
type base64Column[O offset] struct{ bytesColumn[O] }

func newBase64Column[O offset](mem memory.Allocator, dt arrow.DataType) column {
	return &base64Column[O]{newBytes[O](mem, dt)}
}

func (c *base64Column[O]) parse(s *scanner, i int) int {
	if s.buf[i] != '"' {
		if s.isNull(i) {
			if i = s.word(i, "null"); i >= 0 {
				c.null()
			}
			return i
		}
		return s.mismatch(i, c.dt)
	}
	b, end := s.text(i)
	if end < 0 {
		return end
	}
	for len(b) > 0 && b[len(b)-1] == '=' {
		b = b[:len(b)-1]
	}
	dst := c.vals.Data.Room(base64.RawStdEncoding.DecodedLen(len(b)))
	n, err := base64.RawStdEncoding.Decode(dst, b)
	if err != nil {
		return s.failWant(i, c.dt, "is not base64")
	}
	c.vals.Data.N += n
	c.vals.End()
	return end
}
