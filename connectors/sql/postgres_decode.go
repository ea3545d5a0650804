package sql

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgDecoder appends a value in binary form to a builder. On an error it may have appended something in its place.
type pgDecoder func(raw []byte, b array.Builder) error

var errWidth = errors.New("the value has the wrong length")

var errInfinite = errors.New("infinity has no place in a column of dates or times; leave such rows out in query=, or read the column as text (col::text)")

// decoderOf chooses the decoder of a column.
func decoderOf(c column) pgDecoder {
	if c.elem != 0 {
		return pgList(pgValue(c.elem, c.typ.(*arrow.ListType).Elem())) //nolint // columns with elements are lists
	}
	return pgValue(c.raw, c.typ)
}

// fixed checks the width of a value before it is read.
func fixed[B any](width int, appendTo func(raw []byte, b B) error) pgDecoder {
	return func(raw []byte, b array.Builder) error {
		if len(raw) != width {
			return errWidth
		}
		return appendTo(raw, b.(B)) //nolint // the builder is that of the column's type
	}
}

func pgValue(oid uint32, t arrow.DataType) pgDecoder {
	switch oid {
	case pgtype.BoolOID:
		return fixed(1, func(raw []byte, b *array.BooleanBuilder) error { b.Append(raw[0] != 0); return nil })
	case pgtype.Int2OID:
		return fixed(2, func(raw []byte, b *array.Int16Builder) error {
			b.Append(int16(binary.BigEndian.Uint16(raw)))
			return nil
		})
	case pgtype.Int4OID:
		return fixed(4, func(raw []byte, b *array.Int32Builder) error {
			b.Append(int32(binary.BigEndian.Uint32(raw)))
			return nil
		})
	case pgtype.Int8OID:
		return fixed(8, func(raw []byte, b *array.Int64Builder) error {
			b.Append(int64(binary.BigEndian.Uint64(raw)))
			return nil
		})
	case pgtype.OIDOID:
		return fixed(4, func(raw []byte, b *array.Uint32Builder) error { b.Append(binary.BigEndian.Uint32(raw)); return nil })
	case pgtype.Float4OID:
		return fixed(4, func(raw []byte, b *array.Float32Builder) error {
			b.Append(math.Float32frombits(binary.BigEndian.Uint32(raw)))
			return nil
		})
	case pgtype.Float8OID:
		return fixed(8, func(raw []byte, b *array.Float64Builder) error {
			b.Append(math.Float64frombits(binary.BigEndian.Uint64(raw)))
			return nil
		})
	case pgtype.UUIDOID:
		return fixed(16, pgUUID)
	case pgtype.ByteaOID:
		return func(raw []byte, b array.Builder) error { b.(*array.BinaryBuilder).Append(raw); return nil } //nolint
	case pgtype.NumericOID:
		return pgNumeric(t)
	case pgtype.JSONBOID:
		return func(raw []byte, b array.Builder) error {
			if len(raw) < 1 || raw[0] != 1 {
				return errors.New("jsonb of an unknown version")
			}
			return pgString(raw[1:], b)
		}
	}
	if d := pgTimes(oid); d != nil {
		return d
	}
	return pgString
}

func pgString(raw []byte, b array.Builder) error {
	if !utf8.Valid(raw) {
		return errors.New("the text is not UTF-8")
	}
	b.(*array.StringBuilder).BinaryBuilder.Append(raw) //nolint // texts have such builders
	return nil
}

func pgUUID(raw []byte, b *array.StringBuilder) error {
	var buf [36]byte
	hex.Encode(buf[:8], raw[:4])
	hex.Encode(buf[9:13], raw[4:6])
	hex.Encode(buf[14:18], raw[6:8])
	hex.Encode(buf[19:23], raw[8:10])
	hex.Encode(buf[24:], raw[10:])
	buf[8], buf[13], buf[18], buf[23] = '-', '-', '-', '-'
	b.BinaryBuilder.Append(buf[:])
	return nil
}

// pgTimes decodes what counts days or microseconds.
func pgTimes(oid uint32) pgDecoder {
	const shift = pgEpoch * 86400 * 1e6
	switch oid {
	case pgtype.DateOID:
		return fixed(4, func(raw []byte, b *array.Date32Builder) error {
			d := int32(binary.BigEndian.Uint32(raw))
			if d == math.MaxInt32 || d == math.MinInt32 {
				return errInfinite
			}
			b.Append(arrow.Date32(d + pgEpoch))
			return nil
		})
	case pgtype.TimeOID:
		return fixed(8, func(raw []byte, b *array.Time64Builder) error {
			b.Append(arrow.Time64(binary.BigEndian.Uint64(raw)))
			return nil
		})
	case pgtype.TimestampOID, pgtype.TimestamptzOID:
		return fixed(8, func(raw []byte, b *array.TimestampBuilder) error {
			v := int64(binary.BigEndian.Uint64(raw))
			if v == math.MaxInt64 || v == math.MinInt64 {
				return errInfinite
			}
			b.Append(arrow.Timestamp(v + shift))
			return nil
		})
	}
	return nil
}

// pgNumeric decodes numbers of a fixed precision and scale.
func pgNumeric(t arrow.DataType) pgDecoder {
	d := t.(arrow.DecimalType) //nolint // of a numeric
	m := pgtype.NewMap()
	var n pgtype.Numeric
	plan := m.PlanScan(pgtype.NumericOID, pgtype.BinaryFormatCode, &n)
	return func(raw []byte, b array.Builder) error {
		n = pgtype.Numeric{}
		if err := plan.Scan(raw, &n); err != nil {
			return flat(err)
		}
		if n.NaN || n.InfinityModifier != pgtype.Finite {
			return errors.New("NaN and infinity have no place in a column of decimals; read the column as text (col::text) or float8")
		}
		v, err := rescale(&n, d)
		if err != nil {
			return err
		}
		switch b := b.(type) {
		case *array.Decimal128Builder:
			b.Append(decimal128.FromBigInt(v))
		case *array.Decimal256Builder:
			b.Append(decimal256.FromBigInt(v))
		}
		return nil
	}
}

// rescale gives the unscaled value of n at the scale of t.
func rescale(n *pgtype.Numeric, t arrow.DecimalType) (*big.Int, error) {
	shift := int64(n.Exp) + int64(t.GetScale())
	if shift > 200 || shift < -20_000 {
		return nil, fmt.Errorf("the number does not fit %s", t)
	}
	v := new(big.Int).Set(n.Int)
	if shift >= 0 {
		v.Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(shift), nil))
	} else {
		var rest big.Int
		v.QuoRem(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(-shift), nil), &rest)
		if rest.Sign() != 0 {
			return nil, fmt.Errorf("the number has more digits than %s", t)
		}
	}
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.GetPrecision())), nil)
	if v.CmpAbs(limit) >= 0 {
		return nil, fmt.Errorf("the number does not fit %s", t)
	}
	return v, nil
}

// pgList decodes arrays of one dimension. Its form: dimensions, flags, type of the elements; length and lower bound of each dimension;
// each element behind its length, -1 for null.
func pgList(elem pgDecoder) pgDecoder {
	return func(raw []byte, b array.Builder) error {
		if len(raw) < 12 {
			return errWidth
		}
		dims := binary.BigEndian.Uint32(raw)
		switch {
		case dims == 0:
			b.(*array.ListBuilder).Append(true) //nolint // lists have such builders
			return nil
		case dims > 1:
			return fmt.Errorf("the array has %d dimensions, only one can be read; take its elements in query= (array_to_json)", dims)
		case len(raw) < 20:
			return errWidth
		}
		n := int64(int32(binary.BigEndian.Uint32(raw[12:])))
		items, err := splitItems(raw[20:], n)
		if err != nil {
			return err
		}
		list := b.(*array.ListBuilder) //nolint // as above
		return appendList(list, items, elem)
	}
}

func splitItems(raw []byte, n int64) ([][]byte, error) {
	if n < 0 || n*4 > int64(len(raw)) {
		return nil, errWidth
	}
	items := make([][]byte, n)
	for i := range items {
		if len(raw) < 4 {
			return nil, errWidth
		}
		size := int64(int32(binary.BigEndian.Uint32(raw)))
		raw = raw[4:]
		if size == -1 {
			continue
		}
		if size < 0 || size > int64(len(raw)) {
			return nil, errWidth
		}
		items[i], raw = raw[:size:size], raw[size:]
	}
	return items, nil
}

func appendList(list *array.ListBuilder, items [][]byte, elem pgDecoder) error {
	values := list.ValueBuilder()
	list.Append(true)
	for i, item := range items {
		if item == nil {
			values.AppendNull()
			continue
		}
		if err := elem(item, values); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	return nil
}
