package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/twmb/avro"
)

// cursor is the data of one block, being read.
type cursor struct{ p []byte }

// decode reads one value.
type decode func(c *cursor) error

var errShort = fmt.Errorf("%w: a value is cut off", errDamaged)

func (c *cursor) long() (int64, error) {
	v, n := binary.Varint(c.p)
	if n <= 0 {
		return 0, errShort
	}
	c.p = c.p[n:]
	return v, nil
}

func (c *cursor) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(c.p)) {
		return nil, errShort
	}
	b := c.p[:n:n]
	c.p = c.p[n:]
	return b, nil
}

func (c *cursor) bytes() ([]byte, error) {
	n, err := c.long()
	if err != nil {
		return nil, err
	}
	return c.take(n)
}

// items calls fn for every item of an array or map.
func (c *cursor) items(fn func() error) error {
	free := int64(freeItems)
	for {
		n, err := c.long()
		if err != nil || n == 0 {
			return err
		}
		if n < 0 {
			if _, err := c.long(); err != nil {
				return err
			}
			if n = -n; n < 0 {
				return errShort
			}
		}
		for range n {
			before := len(c.p)
			if err := fn(); err != nil {
				return err
			}
			if before == len(c.p) {
				if free--; free < 0 {
					return fmt.Errorf("%w: more than %d items without bytes", errDamaged, freeItems)
				}
			}
		}
	}
}

// reads makes the decoder that appends values of a schema to a builder; a nil builder passes over them.
func reads(n *avro.SchemaNode, b array.Builder) decode {
	switch n.Type {
	case "union":
		return readUnion(n, b)
	case "record", "error":
		return readRecord(n, b)
	case "array":
		return readArray(n, b)
	case "map":
		return readMap(n, b)
	case "null":
		return func(*cursor) error {
			if b != nil {
				b.AppendNull()
			}
			return nil
		}
	case "int", "long":
		return readInteger(b)
	case "enum":
		return readEnum(n, b)
	}
	return readBytes1(n, b)
}

func readUnion(n *avro.SchemaNode, b array.Builder) decode {
	var inner []decode
	members := 0
	s, multiple := b.(*array.StructBuilder)
	count := 0
	for i := range n.Branches {
		if n.Branches[i].Type != "null" {
			count++
		}
	}
	multiple = multiple && count > 1
	for i := range n.Branches {
		branch := &n.Branches[i]
		switch {
		case branch.Type == "null":
			inner = append(inner, func(*cursor) error {
				if b != nil {
					b.AppendNull()
				}
				return nil
			})
			continue
		case multiple:
			k := members
			value := reads(branch, s.FieldBuilder(k))
			inner = append(inner, func(c *cursor) error {
				s.Append(true)
				for j := range s.NumField() {
					if j != k {
						s.FieldBuilder(j).AppendNull()
					}
				}
				return value(c)
			})
		default:
			inner = append(inner, reads(branch, b))
		}
		members++
	}
	return func(c *cursor) error {
		i, err := c.long()
		if err != nil {
			return err
		}
		if i < 0 || i >= int64(len(inner)) {
			return fmt.Errorf("%w: branch %d of a union of %d", errDamaged, i, len(inner))
		}
		return inner[i](c)
	}
}

func readRecord(n *avro.SchemaNode, b array.Builder) decode {
	s, _ := b.(*array.StructBuilder)
	fields := make([]decode, len(n.Fields))
	for i := range n.Fields {
		var fb array.Builder
		if s != nil {
			fb = s.FieldBuilder(i)
		}
		fields[i] = reads(&n.Fields[i].Type, fb)
	}
	return func(c *cursor) error {
		if s != nil {
			s.Append(true)
		}
		for i, f := range fields {
			if err := f(c); err != nil {
				return fmt.Errorf("%s: %w", n.Fields[i].Name, err)
			}
		}
		return nil
	}
}

func readArray(n *avro.SchemaNode, b array.Builder) decode {
	if b == nil {
		item := reads(n.Items, nil)
		return func(c *cursor) error { return c.items(func() error { return item(c) }) }
	}
	l := b.(*array.ListBuilder)
	item := reads(n.Items, l.ValueBuilder())
	return func(c *cursor) error {
		l.Append(true)
		return c.items(func() error { return item(c) })
	}
}

func readMap(n *avro.SchemaNode, b array.Builder) decode {
	if b == nil {
		item := reads(n.Values, nil)
		return func(c *cursor) error {
			return c.items(func() error {
				if _, err := c.bytes(); err != nil {
					return err
				}
				return item(c)
			})
		}
	}
	m := b.(*array.MapBuilder)
	keys := m.KeyBuilder().(*array.StringBuilder)
	item := reads(n.Values, m.ItemBuilder())
	return func(c *cursor) error {
		m.Append(true)
		return c.items(func() error {
			k, err := c.bytes()
			if err != nil {
				return err
			}
			if !utf8.Valid(k) {
				return errText
			}
			keys.BinaryBuilder.Append(k)
			return item(c)
		})
	}
}

var (
	errText  = errors.New("a string is not UTF-8")
	errRange = errors.New("a number does not fit its type")
)

func readInteger(b array.Builder) decode {
	put := func(int64) error { return nil }
	small := func(fn func(int32)) func(int64) error {
		return func(v int64) error {
			if v != int64(int32(v)) {
				return errRange
			}
			fn(int32(v))
			return nil
		}
	}
	wide := func(fn func(int64)) func(int64) error { return func(v int64) error { fn(v); return nil } }
	switch b := b.(type) {
	case *array.Int32Builder:
		put = small(b.Append)
	case *array.Date32Builder:
		put = small(func(v int32) { b.Append(arrow.Date32(v)) })
	case *array.Time32Builder:
		put = small(func(v int32) { b.Append(arrow.Time32(v)) })
	case *array.Int64Builder:
		put = wide(b.Append)
	case *array.Time64Builder:
		put = wide(func(v int64) { b.Append(arrow.Time64(v)) })
	case *array.TimestampBuilder:
		put = wide(func(v int64) { b.Append(arrow.Timestamp(v)) })
	}
	return func(c *cursor) error {
		v, err := c.long()
		if err != nil {
			return err
		}
		return put(v)
	}
}

func readEnum(n *avro.SchemaNode, b array.Builder) decode {
	s, _ := b.(*array.StringBuilder)
	return func(c *cursor) error {
		v, err := c.long()
		switch {
		case err != nil:
			return err
		case v < 0 || v >= int64(len(n.Symbols)):
			return fmt.Errorf("%w: symbol %d of an enum of %d", errDamaged, v, len(n.Symbols))
		case s != nil:
			s.Append(n.Symbols[v])
		}
		return nil
	}
}

// readBytes1 reads the types whose values are bytes as they lie.
func readBytes1(n *avro.SchemaNode, b array.Builder) decode {
	size := map[string]int64{"boolean": 1, "float": 4, "double": 8, "fixed": int64(n.Size)}
	width, fixed := size[n.Type]
	return func(c *cursor) (err error) {
		var p []byte
		if fixed {
			p, err = c.take(width)
		} else {
			p, err = c.bytes()
		}
		if err != nil || b == nil {
			return err
		}
		return appendBytes(b, p)
	}
}

func appendBytes(b array.Builder, p []byte) error {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(p[0] != 0)
	case *array.Float32Builder:
		b.Append(math.Float32frombits(binary.LittleEndian.Uint32(p)))
	case *array.Float64Builder:
		b.Append(math.Float64frombits(binary.LittleEndian.Uint64(p)))
	case *array.FixedSizeBinaryBuilder:
		b.Append(p)
	case *array.BinaryBuilder:
		b.Append(p)
	case *array.StringBuilder:
		if !utf8.Valid(p) {
			return errText
		}
		b.BinaryBuilder.Append(p)
	case *array.Decimal128Builder:
		v := bigInt(p)
		if v.BitLen() > 127 {
			return errRange
		}
		b.Append(decimal128.FromBigInt(v))
	case *array.Decimal256Builder:
		v := bigInt(p)
		if v.BitLen() > 255 {
			return errRange
		}
		b.Append(decimal256.FromBigInt(v))
	default:
		return fmt.Errorf("internal error: bytes for a column of %s", b.Type())
	}
	return nil
}

// bigInt reads a big-endian number in two's complement.
func bigInt(p []byte) *big.Int {
	v := new(big.Int).SetBytes(p)
	if len(p) > 0 && p[0] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return v
}
