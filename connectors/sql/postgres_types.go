package sql

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5/pgtype"
)

// pgScalar is how a type is read.
type pgScalar struct {
	typ  arrow.DataType
	kind kind
}

// instant is the type of timestamps with a zone.
var instant = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

var pgScalars = map[uint32]pgScalar{
	pgtype.BoolOID:        {arrow.FixedWidthTypes.Boolean, kindBool},
	pgtype.Int2OID:        {arrow.PrimitiveTypes.Int16, kindInt},
	pgtype.Int4OID:        {arrow.PrimitiveTypes.Int32, kindInt},
	pgtype.Int8OID:        {arrow.PrimitiveTypes.Int64, kindInt},
	pgtype.OIDOID:         {arrow.PrimitiveTypes.Uint32, kindOther},
	pgtype.Float4OID:      {arrow.PrimitiveTypes.Float32, kindFloat},
	pgtype.Float8OID:      {arrow.PrimitiveTypes.Float64, kindFloat},
	pgtype.TextOID:        {arrow.BinaryTypes.String, kindText},
	pgtype.VarcharOID:     {arrow.BinaryTypes.String, kindText},
	pgtype.BPCharOID:      {arrow.BinaryTypes.String, kindOther},
	pgtype.NameOID:        {arrow.BinaryTypes.String, kindOther},
	pgtype.UUIDOID:        {arrow.BinaryTypes.String, kindUUID},
	pgtype.JSONOID:        {arrow.BinaryTypes.String, kindOther},
	pgtype.JSONBOID:       {arrow.BinaryTypes.String, kindOther},
	pgtype.ByteaOID:       {arrow.BinaryTypes.Binary, kindOther},
	pgtype.DateOID:        {arrow.FixedWidthTypes.Date32, kindDate},
	pgtype.TimeOID:        {arrow.FixedWidthTypes.Time64us, kindOther},
	pgtype.TimestampOID:   {&arrow.TimestampType{Unit: arrow.Microsecond}, kindTime},
	pgtype.TimestamptzOID: {instant, kindInstant},
}

// pgColumn decides how a column is read. Types that have no form of ours come as the text that psql shows.
func pgColumn(name string, oid uint32, mod int32, types map[uint32]pgTypeInfo) (column, error) {
	c := column{name: name, expr: quote(name)}
	for range 16 { // a domain on a domain …
		t, ok := types[oid]
		if !ok || t.base == 0 {
			break
		}
		if mod < 0 {
			mod = t.mod
		}
		oid = t.base
	}
	c.raw = oid
	if s, ok := pgType(oid, mod); ok {
		c.typ, c.kind = s.typ, s.kind
		return c, nil
	}
	if elem := types[oid].elem; elem != 0 {
		if s, ok := pgType(elem, mod); ok && types[elem].base == 0 {
			c.typ, c.elem = arrow.ListOf(s.typ), elem
			return c, nil
		}
		c.expr += "::text[]"
		c.typ, c.elem = arrow.ListOf(arrow.BinaryTypes.String), pgtype.TextOID
		return c, nil
	}
	c.expr += "::text"
	c.raw, c.typ = pgtype.TextOID, arrow.BinaryTypes.String
	return c, nil
}

// pgType is how a type is read with its modifier; ok is false for those that are read as text.
func pgType(oid uint32, mod int32) (pgScalar, bool) {
	if oid == pgtype.NumericOID {
		precision, scale := (mod-4)>>16&0xffff, (mod-4)&0x7ff
		if mod < 4 || scale > precision || precision > 76 { // without limits, or with a negative scale
			return pgScalar{}, false
		}
		if precision > 38 {
			return pgScalar{&arrow.Decimal256Type{Precision: precision, Scale: scale}, kindDecimal}, true
		}
		return pgScalar{&arrow.Decimal128Type{Precision: precision, Scale: scale}, kindDecimal}, true
	}
	s, ok := pgScalars[oid]
	return s, ok
}
