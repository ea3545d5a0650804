package sql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// sqliteDecoder appends a value, which is not null, to a builder. On an error it has appended nothing.
type sqliteDecoder func(v driver.Value, b array.Builder) error

// sqliteDecoderOf chooses the decoder of a type; nil if SQLite has nothing that is read as it.
func sqliteDecoderOf(t arrow.DataType) sqliteDecoder {
	switch t := t.(type) {
	case *arrow.Int8Type:
		return sqliteInt(math.MinInt8, math.MaxInt8, t, func(v int64, b *array.Int8Builder) { b.Append(int8(v)) })
	case *arrow.Int16Type:
		return sqliteInt(math.MinInt16, math.MaxInt16, t, func(v int64, b *array.Int16Builder) { b.Append(int16(v)) })
	case *arrow.Int32Type:
		return sqliteInt(math.MinInt32, math.MaxInt32, t, func(v int64, b *array.Int32Builder) { b.Append(int32(v)) })
	case *arrow.Int64Type:
		return sqliteInt(math.MinInt64, math.MaxInt64, t, func(v int64, b *array.Int64Builder) { b.Append(v) })
	case *arrow.Uint8Type:
		return sqliteInt(0, math.MaxUint8, t, func(v int64, b *array.Uint8Builder) { b.Append(uint8(v)) })
	case *arrow.Uint16Type:
		return sqliteInt(0, math.MaxUint16, t, func(v int64, b *array.Uint16Builder) { b.Append(uint16(v)) })
	case *arrow.Uint32Type:
		return sqliteInt(0, math.MaxUint32, t, func(v int64, b *array.Uint32Builder) { b.Append(uint32(v)) })
	case *arrow.Uint64Type:
		return sqliteInt(0, math.MaxInt64, t, func(v int64, b *array.Uint64Builder) { b.Append(uint64(v)) })
	case *arrow.BooleanType:
		return sqliteInt(0, 1, t, func(v int64, b *array.BooleanBuilder) { b.Append(v == 1) })
	case *arrow.Float64Type:
		return sqliteFloat(t, func(v float64, b *array.Float64Builder) { b.Append(v) })
	case *arrow.Float32Type:
		return sqliteFloat(t, func(v float64, b *array.Float32Builder) { b.Append(float32(v)) })
	case *arrow.StringType:
		return sqliteText
	case *arrow.BinaryType:
		return sqliteBytes
	case *arrow.Date32Type:
		return sqliteDate
	case *arrow.TimestampType:
		return sqliteTimestamp(t)
	case *arrow.Decimal128Type:
		return sqliteDecimal(t)
	}
	return nil
}

// sqliteOdd is the error of a value of another type than its column's: SQLite keeps any value in any column.
func sqliteOdd(v driver.Value, t arrow.DataType) error {
	name := "TEXT"
	switch v.(type) {
	case int64:
		name = "INTEGER"
	case float64:
		name = "REAL"
	case []byte:
		name = "BLOB"
	}
	return fmt.Errorf("the value %s of type %s is no %s; declare another type with schema= or cast it in query=", shortValue(v), name, t)
}

// shortValue is the beginning of a value, for messages.
func shortValue(v any) string {
	const most = 40
	s := fmt.Sprintf("%v", v)
	if b, ok := v.([]byte); ok {
		s = fmt.Sprintf("x'%x'", b[:min(len(b), most)])
	} else if t, ok := v.(string); ok {
		s = strconv.Quote(t[:min(len(t), most)])
	}
	if len(s) > 2*most {
		s = s[:2*most] + "…"
	}
	return s
}

func sqliteInt[B any](lo, hi int64, t arrow.DataType, appendTo func(int64, B)) sqliteDecoder {
	return func(v driver.Value, b array.Builder) error {
		n, ok := v.(int64)
		if f, isFloat := v.(float64); isFloat && f == math.Trunc(f) && math.Abs(f) < 1<<53 { // 3.0 in a column without affinity
			n, ok = int64(f), true
		}
		if !ok || n < lo || n > hi {
			return sqliteOdd(v, t)
		}
		appendTo(n, b.(B)) //nolint // the builder is that of the column's type
		return nil
	}
}

func sqliteFloat[B any](t arrow.DataType, appendTo func(float64, B)) sqliteDecoder {
	return func(v driver.Value, b array.Builder) error {
		switch v := v.(type) {
		case float64:
			appendTo(v, b.(B)) //nolint // as above
		case int64:
			appendTo(float64(v), b.(B)) //nolint // as above
		default:
			return sqliteOdd(v, t)
		}
		return nil
	}
}

// sqliteText reads anything that has a text.
func sqliteText(v driver.Value, b array.Builder) error {
	out := b.(*array.StringBuilder) //nolint // of text columns
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return errors.New("the text is not UTF-8; read it as bytes: CAST(column AS BLOB)")
		}
		out.Append(v)
	case []byte:
		if !utf8.Valid(v) {
			return sqliteOdd(v, arrow.BinaryTypes.String)
		}
		out.BinaryBuilder.Append(v)
	case int64:
		out.Append(strconv.FormatInt(v, 10))
	case float64:
		out.BinaryBuilder.Append(scalar.AppendFloat(nil, v, 64))
	default:
		return sqliteOdd(v, arrow.BinaryTypes.String)
	}
	return nil
}

func sqliteBytes(v driver.Value, b array.Builder) error {
	out := b.(*array.BinaryBuilder) //nolint // of blob columns
	switch v := v.(type) {
	case []byte:
		out.Append(v)
	case string:
		out.AppendString(v)
	default:
		return sqliteOdd(v, arrow.BinaryTypes.Binary)
	}
	return nil
}

func sqliteDate(v driver.Value, b array.Builder) error {
	text, ok := v.(string)
	if ok && len(text) == len("2006-01-02") {
		if days, ok := scalar.Date([]byte(text)); ok {
			b.(*array.Date32Builder).Append(arrow.Date32(days)) //nolint // of dates
			return nil
		}
	}
	return sqliteOdd(v, arrow.FixedWidthTypes.Date32)
}

// sqliteTimestamp reads the texts that SQLite's own functions give and take, with and without a zone, and dates. Numbers are refused: they may
// be days, seconds or milliseconds.
func sqliteTimestamp(t *arrow.TimestampType) sqliteDecoder {
	return func(v driver.Value, b array.Builder) error {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%w; a number may count days, seconds or milliseconds, so say which in query=: datetime(column, 'unixepoch')", sqliteOdd(v, t))
		}
		at, ok := parseTimestamp(text)
		if !ok {
			return sqliteOdd(v, t)
		}
		n, err := arrow.TimestampFromTime(at, t.Unit)
		if err != nil {
			return sqliteOdd(v, t)
		}
		b.(*array.TimestampBuilder).Append(n) //nolint // of timestamps
		return nil
	}
}

func parseTimestamp(text string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// sqliteDecimal reads numbers by their shortest decimal form, which is what was written as long as it has no more than 15 digits.
func sqliteDecimal(t *arrow.Decimal128Type) sqliteDecoder {
	return func(v driver.Value, b array.Builder) error {
		var text []byte
		switch v := v.(type) {
		case int64:
			text = strconv.AppendInt(nil, v, 10)
		case float64:
			text = scalar.AppendFloat(nil, v, 64)
		case string:
			text = []byte(v)
		default:
			return sqliteOdd(v, t)
		}
		n, why := scalar.Decimal(text, t.Precision, t.Scale)
		if why != "" {
			return fmt.Errorf("%w (%s)", sqliteOdd(v, t), why)
		}
		appendDecimal(b, n)
		return nil
	}
}

func appendDecimal(b array.Builder, n decimal128.Num) {
	b.(*array.Decimal128Builder).Append(n) //nolint // of decimals
}
