package csv

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/encoded"

	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// appender appends the field of one row of an array.
type appender func(dst []byte, row int) []byte

// writableIDs are the types that valueAppender knows.
var writableIDs = []arrow.Type{arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16,
	arrow.UINT32, arrow.UINT64, arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
	arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY, arrow.TIMESTAMP, arrow.DATE32, arrow.DATE64,
	arrow.TIME32, arrow.TIME64, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256, arrow.DURATION}

// writable reports a type that has no place in a field.
func writable(dt arrow.DataType) error {
	switch t := dt.(type) {
	case arrow.ExtensionType:
		if err := writable(t.StorageType()); err != nil {
			return fmt.Errorf("%s has no place in a CSV field; encode it first, or write parquet", t.ExtensionName())
		}
		return nil
	case *arrow.DictionaryType:
		return writable(t.ValueType)
	case *arrow.RunEndEncodedType:
		return writable(t.Encoded())
	case arrow.NestedType:
		return fmt.Errorf("%s is nested, and CSV is flat; unnest or select its parts, or write jsonl or parquet", dt)
	}
	if !slices.Contains(writableIDs, dt.ID()) {
		return fmt.Errorf("%s has no place in a CSV field; cast it", dt)
	}
	return nil
}

// textWriter writes fields.
type textWriter struct {
	delim      byte
	null       string
	alone      bool // the file has one column
	badText    int64
	aloneNulls int64
}

// appender makes the appender of an array, nulls included.
func (t *textWriter) appender(a arrow.Array) appender {
	value := t.valueAppender(a)
	if a.NullN() == 0 {
		return value
	}
	return func(dst []byte, row int) []byte {
		if a.IsNull(row) {
			return t.appendNull(dst)
		}
		return value(dst, row)
	}
}

// appendNull appends a null. A line of nothing is no record to any reader, so that of a file of one column has quotes.
func (t *textWriter) appendNull(dst []byte) []byte {
	if t.alone && t.null == "" {
		t.aloneNulls++
		return append(dst, `""`...)
	}
	return append(dst, t.null...)
}

func (t *textWriter) valueAppender(a arrow.Array) appender {
	switch a := a.(type) {
	case array.ExtensionArray:
		if a.DataType().(arrow.ExtensionType).ExtensionName() == "arrow.uuid" {
			return func(dst []byte, row int) []byte { return t.field(dst, a.ValueStr(row)) }
		}
		return t.appender(a.Storage())
	case *array.Dictionary:
		values := t.appender(a.Dictionary())
		return func(dst []byte, row int) []byte { return values(dst, a.GetValueIndex(row)) }
	case *array.RunEndEncoded:
		values := t.appender(a.Values())
		return func(dst []byte, row int) []byte {
			return values(dst, encoded.FindPhysicalIndex(a.Data(), row+a.Data().Offset()))
		}
	case *array.Null:
		return func(dst []byte, _ int) []byte { return t.appendNull(dst) }
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return strconv.AppendBool(dst, a.Value(row)) }
	case array.StringLike:
		return func(dst []byte, row int) []byte { return t.field(dst, a.Value(row)) }
	case interface{ Value(int) []byte }:
		return func(dst []byte, row int) []byte { return t.binary(dst, a.Value(row)) }
	case *array.Timestamp:
		return t.timestamps(a)
	case *array.Date32:
		return func(dst []byte, row int) []byte { return a.Value(row).ToTime().AppendFormat(dst, time.DateOnly) }
	case *array.Date64:
		return func(dst []byte, row int) []byte { return a.Value(row).ToTime().AppendFormat(dst, time.DateOnly) }
	}
	if f := numberAppender(a); f != nil {
		return f
	}
	return func(dst []byte, row int) []byte { return t.field(dst, a.ValueStr(row)) } // times of day, decimals, durations
}

func numberAppender(a arrow.Array) appender {
	switch a := a.(type) {
	case *array.Int8:
		return signed(a.Int8Values())
	case *array.Int16:
		return signed(a.Int16Values())
	case *array.Int32:
		return signed(a.Int32Values())
	case *array.Int64:
		return signed(a.Int64Values())
	case *array.Uint8:
		return unsigned(a.Uint8Values())
	case *array.Uint16:
		return unsigned(a.Uint16Values())
	case *array.Uint32:
		return unsigned(a.Uint32Values())
	case *array.Uint64:
		return unsigned(a.Uint64Values())
	case *array.Float16:
		return func(dst []byte, row int) []byte { return appendFloat(dst, float64(a.Value(row).Float32()), 32) }
	case *array.Float32:
		return func(dst []byte, row int) []byte { return appendFloat(dst, float64(a.Value(row)), 32) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return appendFloat(dst, a.Value(row), 64) }
	}
	return nil
}

// timestamps writes times in the zone of the column, or in UTC where that has none or one that this machine does not know.
func (t *textWriter) timestamps(a *array.Timestamp) appender {
	dt := a.DataType().(*arrow.TimestampType) //nolint // a timestamp array has a timestamp type
	zone, err := dt.GetZone()
	if err != nil || zone == nil {
		zone = time.UTC
	}
	return func(dst []byte, row int) []byte {
		return a.Value(row).ToTime(dt.Unit).In(zone).AppendFormat(dst, time.RFC3339Nano)
	}
}

func signed[T int8 | int16 | int32 | int64](v []T) appender {
	return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, int64(v[row]), 10) }
}

func unsigned[T uint8 | uint16 | uint32 | uint64](v []T) appender {
	return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, uint64(v[row]), 10) }
}

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	return scalar.AppendFloat(dst, f, bits)
}

func (t *textWriter) binary(dst, b []byte) []byte {
	if len(b) == 0 {
		return append(dst, `""`...)
	}
	return base64.StdEncoding.AppendEncode(dst, b)
}

// field appends text, in quotes where it must be. Bytes that are not UTF-8 become U+FFFD.
func (t *textWriter) field(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		t.badText++
		s = string(charset.AppendValid(nil, []byte(s)))
	}
	if !t.quotes(s) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	for {
		k := strings.IndexByte(s, '"')
		if k < 0 {
			break
		}
		dst = append(append(dst, s[:k+1]...), '"')
		s = s[k+1:]
	}
	return append(append(dst, s...), '"')
}

// quotes reports whether text must be in quotes to read back as it is, here and elsewhere.
func (t *textWriter) quotes(s string) bool {
	if s == "" || s[0] == ' ' || s[0] == '\t' || s == t.null || s == `\.` { // which ends a COPY of Postgres
		return true
	}
	for i := range len(s) {
		if c := s[i]; c == t.delim || c == '"' || c == '\n' || c == '\r' {
			return true
		}
	}
	return false
}
