package jsonl

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// scalarIDs are the types that scalarAppender knows.
var scalarIDs = []arrow.Type{arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16,
	arrow.UINT32, arrow.UINT64, arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
	arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY, arrow.TIMESTAMP, arrow.DATE32, arrow.DATE64,
	arrow.TIME32, arrow.TIME64, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256, arrow.DURATION,
	arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO}

// scalarAppender makes the appender of an array without children, or nil if its type has no JSON form.
func scalarAppender(a arrow.Array, n *notes) appender {
	switch a := a.(type) {
	case *array.Null:
		return func(dst []byte, _ int) []byte { return append(dst, "null"...) }
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return strconv.AppendBool(dst, a.Value(row)) }
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
		return func(dst []byte, row int) []byte { return n.float(dst, float64(a.Value(row).Float32()), 32) }
	case *array.Float32:
		return func(dst []byte, row int) []byte { return n.float(dst, float64(a.Value(row)), 32) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return n.float(dst, a.Value(row), 64) }
	case array.StringLike:
		return func(dst []byte, row int) []byte { return n.text(dst, a.Value(row)) }
	case *array.Binary:
		return func(dst []byte, row int) []byte { return appendBase64(dst, a.Value(row)) }
	case *array.LargeBinary:
		return func(dst []byte, row int) []byte { return appendBase64(dst, a.Value(row)) }
	case *array.BinaryView:
		return func(dst []byte, row int) []byte { return appendBase64(dst, a.Value(row)) }
	case *array.FixedSizeBinary:
		return func(dst []byte, row int) []byte { return appendBase64(dst, a.Value(row)) }
	}
	return timeAppender(a)
}

// timeAppender makes the appender of times, and of what is written as Arrow writes it, in quotes.
func timeAppender(a arrow.Array) appender {
	switch a := a.(type) {
	case *array.Timestamp:
		return timestamps(a)
	case *array.Date32:
		return func(dst []byte, row int) []byte { return appendTime(dst, a.Value(row).ToTime(), time.DateOnly) }
	case *array.Date64:
		return func(dst []byte, row int) []byte { return appendTime(dst, a.Value(row).ToTime(), time.DateOnly) }
	case *array.Time32, *array.Time64, *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256, *array.Duration,
		*array.MonthInterval, *array.DayTimeInterval, *array.MonthDayNanoInterval:
		return func(dst []byte, row int) []byte { return appendString(dst, a.ValueStr(row)) }
	}
	return nil
}

// timestamps writes times in the zone of the column, or in UTC where that has none or one that this machine does not know.
func timestamps(a *array.Timestamp) appender {
	t := a.DataType().(*arrow.TimestampType) //nolint // a timestamp array has a timestamp type
	zone, err := t.GetZone()
	if err != nil || zone == nil {
		zone = time.UTC
	}
	return func(dst []byte, row int) []byte {
		return appendTime(dst, a.Value(row).ToTime(t.Unit).In(zone), time.RFC3339Nano)
	}
}

func appendTime(dst []byte, t time.Time, layout string) []byte {
	return append(t.AppendFormat(append(dst, '"'), layout), '"')
}

func signed[T int8 | int16 | int32 | int64](v []T) appender {
	return func(dst []byte, row int) []byte { return strconv.AppendInt(dst, int64(v[row]), 10) }
}

func unsigned[T uint8 | uint16 | uint32 | uint64](v []T) appender {
	return func(dst []byte, row int) []byte { return strconv.AppendUint(dst, uint64(v[row]), 10) }
}

const hexDigits = "0123456789abcdef"

// safe says which bytes stand for themselves inside a JSON string.
var safe = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if safe[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func validString(s string) bool { return utf8.ValidString(s) }
