package meta

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxThriftDepth bounds the nesting of structures in a footer. The deepest
// legal path (file, row group, chunk, metadata, statistics) is six.
const maxThriftDepth = 24

// errShort says that the bytes ended inside a structure; the page reader takes
// it as a request for more of them.
var errShort = fmt.Errorf("thrift structure is cut off: %w", io.ErrUnexpectedEOF)

var errVarint = errors.New("thrift varint is longer than 64 bits")

// Types of the thrift compact protocol.
const (
	tStop   = 0
	tTrue   = 1
	tFalse  = 2
	tI8     = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tDouble = 7
	tBinary = 8
	tList   = 9
	tSet    = 10
	tMap    = 11
	tStruct = 12
	tUUID   = 13
)

// cursor walks bytes of the thrift compact protocol.
type cursor struct {
	b   []byte
	pos int
}

func (c *cursor) uvarint() (uint64, error) {
	v, n := binary.Uvarint(c.b[c.pos:])
	if n == 0 {
		return 0, errShort
	}
	if n < 0 {
		return 0, errVarint
	}
	c.pos += n
	return v, nil
}

func (c *cursor) varint() (int64, error) {
	u, err := c.uvarint()
	return int64(u>>1) ^ -int64(u&1), err
}

func (c *cursor) byte() (byte, error) {
	if c.pos >= len(c.b) {
		return 0, errShort
	}
	b := c.b[c.pos]
	c.pos++
	return b, nil
}

func (c *cursor) advance(n uint64) error {
	if n > uint64(len(c.b)-c.pos) {
		return errShort
	}
	c.pos += int(n)
	return nil
}

// field reads a field header; typ is tStop at the end of a structure.
func (c *cursor) field(last int16) (id int16, typ byte, err error) {
	b, err := c.byte()
	if err != nil || b == tStop {
		return 0, tStop, err
	}
	if d := b >> 4; d != 0 {
		return last + int16(d), b & 0xF, nil
	}
	v, err := c.varint()
	return int16(v), b & 0xF, err
}

// list reads a list header and refuses a count that the remaining bytes cannot
// hold at one byte per element.
func (c *cursor) list() (n int, typ byte, err error) {
	b, err := c.byte()
	if err != nil {
		return 0, 0, err
	}
	u := uint64(b >> 4)
	if u == 0xF {
		if u, err = c.uvarint(); err != nil {
			return 0, 0, err
		}
	}
	if u > uint64(len(c.b)-c.pos) {
		return 0, 0, fmt.Errorf("thrift list claims %d elements with %d bytes left: %w", u, len(c.b)-c.pos, io.ErrUnexpectedEOF)
	}
	return int(u), b & 0xF, nil
}

// skip walks over one value. inList says that a boolean takes a byte of its own.
func (c *cursor) skip(typ byte, inList bool, depth int) error {
	if depth > maxThriftDepth {
		return fmt.Errorf("thrift structures nest deeper than %d levels", maxThriftDepth)
	}
	switch typ {
	case tTrue, tFalse:
		if inList {
			return c.advance(1)
		}
		return nil
	case tI8:
		return c.advance(1)
	case tI16, tI32, tI64:
		_, err := c.uvarint()
		return err
	case tDouble:
		return c.advance(8)
	case tUUID:
		return c.advance(16)
	case tBinary:
		n, err := c.uvarint()
		if err != nil {
			return err
		}
		return c.advance(n)
	case tList, tSet:
		return c.skipList(depth)
	case tMap:
		return c.skipMap(depth)
	case tStruct:
		return c.skipStruct(depth)
	}
	return fmt.Errorf("unknown thrift type %d at byte %d", typ, c.pos)
}

func (c *cursor) skipList(depth int) error {
	n, typ, err := c.list()
	if err != nil {
		return err
	}
	for range n {
		if err := c.skip(typ, true, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) skipMap(depth int) error {
	n, err := c.uvarint()
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(len(c.b)-c.pos) {
		return fmt.Errorf("thrift map claims %d entries with %d bytes left: %w", n, len(c.b)-c.pos, io.ErrUnexpectedEOF)
	}
	kv, err := c.byte()
	if err != nil {
		return err
	}
	for range n {
		if err := c.skip(kv>>4, true, depth+1); err != nil {
			return err
		}
		if err := c.skip(kv&0xF, true, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *cursor) skipStruct(depth int) error {
	last := int16(0)
	for {
		id, typ, err := c.field(last)
		if err != nil {
			return err
		}
		if typ == tStop {
			return nil
		}
		if err := c.skip(typ, false, depth+1); err != nil {
			return err
		}
		last = id
	}
}

// check walks one structure and returns how many bytes it takes. A footer that
// passes allocates at most one element per byte of itself when it is decoded.
func check(b []byte) (int, error) {
	c := cursor{b: b}
	if err := c.skipStruct(0); err != nil {
		return 0, err
	}
	return c.pos, nil
}
