package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// convertConst converts one value that is not null; temporal values are integers in the unit of their type. It is the
// meaning of casts; hot pairs have loops of their own.
func convertConst(v any, from, to arrow.DataType) (any, error) {
	var out any
	ok := false
	switch kindOf(to) {
	case kindInt:
		out, ok = toInt(v, to)
	case kindUint:
		out, ok = toUint(v)
	case kindFloat:
		out, ok = toFloat(v, to)
	case kindBool:
		out, ok = toBool(v)
	case kindString:
		out, ok = toText(v, from)
	case kindBinary:
		if s, isText := v.(string); isText {
			v = []byte(s)
		}
		out, ok = v.([]byte)
	case kindDate, kindTimestamp:
		return toInstant(v, from, to)
	case kindDuration:
		out, ok = toDuration(v, from, to)
	}
	if !ok {
		if kindOf(from) != kindInt && (kindOf(from) == kindDuration || kindOf(from).temporal()) {
			if s, fine := toText(v, from); fine {
				v = s
			}
		}
		if r, isRat := v.(*big.Rat); isRat {
			v = r.FloatString(int(max(0, decimalScale(from))))
		}
		return nil, castErr(v, to)
	}
	return out, nil
}

func toInt(v any, to arrow.DataType) (any, bool) {
	whole, ok := wholeOf(v)
	if !ok {
		return nil, false
	}
	lo, hi := intBounds(to)
	if whole.Cmp(lo) < 0 || whole.Cmp(hi) > 0 {
		return nil, false
	}
	return whole.Int64(), true
}

func toUint(v any) (any, bool) {
	whole, ok := wholeOf(v)
	if !ok || !whole.IsUint64() {
		return nil, false
	}
	return whole.Uint64(), true
}

// wholeOf is a value as an integer, without its fraction.
func wholeOf(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), true
	case uint64:
		return new(big.Int).SetUint64(v), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > 1<<65 {
			return nil, false
		}
		i, _ := big.NewFloat(v).Int(nil)
		return i, true
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	case string:
		if len(v) > 32 {
			return nil, false
		}
		if i, err := strconv.ParseInt(v, 10, 64); err == nil {
			return big.NewInt(i), true
		}
		u, err := strconv.ParseUint(strings.TrimPrefix(v, "+"), 10, 64)
		return new(big.Int).SetUint64(u), err == nil && !strings.HasPrefix(v, "++")
	case *big.Rat:
		return new(big.Int).Quo(v.Num(), v.Denom()), true
	}
	return nil, false
}

func toFloat(v any, to arrow.DataType) (any, bool) {
	var f float64
	switch v := v.(type) {
	case int64:
		f = float64(v)
	case uint64:
		f = float64(v)
	case float64:
		f = v
	case bool:
		if v {
			f = 1
		}
	case string:
		p, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return nil, false
		}
		f = p
	case *big.Rat:
		f, _ = v.Float64()
	}
	if to.ID() == arrow.FLOAT32 {
		n := float64(float32(f))
		if math.IsInf(n, 0) && !math.IsInf(f, 0) {
			return nil, false
		}
		f = n
	}
	return f, true
}

func toBool(v any) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v != 0, true
	case uint64:
		return v != 0, true
	case float64:
		return v != 0, v == v
	case bool:
		return v, true
	case *big.Rat:
		return v.Sign() != 0, true
	case string:
		switch strings.ToLower(v) {
		case "true", "1":
			return true, true
		case "false", "0":
			return false, true
		}
	}
	return nil, false
}

func toText(v any, from arrow.DataType) (any, bool) {
	switch v := v.(type) {
	case int64:
		switch kindOf(from) {
		case kindTimestamp, kindDate:
			return instantText(v, from)
		case kindDuration:
			return durationText(v, from), true
		}
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		bits := 64
		if from.ID() == arrow.FLOAT32 || from.ID() == arrow.FLOAT16 {
			bits = 32
		}
		return strconv.FormatFloat(v, 'g', -1, bits), true
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return v, true
	case []byte:
		return string(v), utf8.Valid(v)
	case *big.Rat:
		return v.FloatString(int(max(0, decimalScale(from)))), true
	}
	return nil, false
}

// textYears bounds the years that text can show.
const textYears = 9999

func instantText(v int64, from arrow.DataType) (any, bool) {
	sec, nano := toSeconds(v, ticks(from))
	if year, _, _ := civil(floorDiv(sec, 86400)); year < 0 || year > textYears {
		return nil, false
	}
	at := time.Unix(sec, nano).UTC()
	if kindOf(from) == kindDate {
		return at.Format(time.DateOnly), true
	}
	loc, err := location(from)
	if err != nil {
		return nil, false
	}
	if from.(*arrow.TimestampType).TimeZone == "" {
		return at.Format("2006-01-02T15:04:05.999999999"), true
	}
	return at.In(loc).Format(time.RFC3339Nano), true
}

func durationText(v int64, from arrow.DataType) string {
	hi, lo := mulSigned(v, ticks(from))
	if hi == int64(lo)>>63 {
		return time.Duration(lo).String()
	}
	return strconv.FormatInt(v, 10) + from.(*arrow.DurationType).Unit.String()
}

// toInstant converts to a date or timestamp. Text without a zone, and dates, are wall-clock time in the zone of the
// target; a timestamp becomes the date of its own zone.
func toInstant(v any, from, to arrow.DataType) (any, error) {
	if s, ok := v.(string); ok {
		return textInstant(s, to)
	}
	n := v.(int64)
	if kindOf(from) == kindInt {
		return n, nil
	}
	sec, nano := toSeconds(n, ticks(from))
	switch {
	case kindOf(to) == kindDate:
		loc, err := location(from)
		if err != nil {
			return nil, err
		}
		return dateUnits(floorDiv(newZone(loc).local(sec), 86400), to)
	case kindOf(from) == kindDate:
		loc, err := location(to)
		if err != nil {
			return nil, err
		}
		sec = newZone(loc).utc(sec)
	}
	out, ok := joinUnits(sec, nano, ticks(to))
	if !ok {
		return nil, castErr(n, to)
	}
	return out, nil
}

func textInstant(s string, to arrow.DataType) (any, error) {
	if kindOf(to) == kindDate {
		days, err := parseDate(s)
		if err != nil {
			return nil, err
		}
		return dateUnits(days, to)
	}
	at, zoned, err := parseTime(s)
	if err != nil {
		return nil, err
	}
	sec := at.Unix()
	if loc, err := location(to); err != nil {
		return nil, err
	} else if !zoned {
		sec = newZone(loc).utc(sec)
	}
	out, ok := joinUnits(sec, int64(at.Nanosecond()), ticks(to))
	if !ok {
		return nil, castErr(s, to)
	}
	return out, nil
}

// dateUnits expresses days in date32 or date64.
func dateUnits(days int64, to arrow.DataType) (any, error) {
	if to.ID() == arrow.DATE32 {
		if days != int64(int32(days)) {
			return nil, castErr(strconv.FormatInt(days, 10)+" days", to)
		}
		return days, nil
	}
	hi, lo := mulSigned(days, 86400e3)
	if hi != int64(lo)>>63 {
		return nil, castErr(strconv.FormatInt(days, 10)+" days", to)
	}
	return int64(lo), nil
}

func toDuration(v any, from, to arrow.DataType) (any, bool) {
	n, ok := v.(int64)
	if !ok || kindOf(from) == kindInt {
		return n, ok
	}
	sec, nano := toSeconds(n, ticks(from))
	return joinOK(sec, nano, ticks(to))
}

func joinOK(sec, nano, tick int64) (any, bool) {
	v, ok := joinUnits(sec, nano, tick)
	return v, ok
}
