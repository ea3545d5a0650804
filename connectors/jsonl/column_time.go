package jsonl

import (
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// timestampColumn reads dates and times as in RFC 3339: the T may be a blank, seconds, fraction and zone may be missing, and
// a time without a zone is UTC.
type timestampColumn struct {
	fixedColumn[arrow.Timestamp]
	perSecond int64
}

func newTimestampColumn(mem memory.Allocator, t *arrow.TimestampType) column {
	return &timestampColumn{newFixed[arrow.Timestamp](mem, t), int64(time.Second / t.Unit.Multiplier())}
}

func (c *timestampColumn) parse(s *scanner, i int) int {
	if s.buf[i] != '"' {
		if s.isNull(i) {
			return c.parseNull(s, i)
		}
		return s.mismatch(i, c.dt)
	}
	b, end := s.text(i)
	if end < 0 {
		return end
	}
	sec, nano, ok := parseTime(b)
	if !ok {
		return s.failWant(i, c.dt, "is not a date and time as in RFC 3339")
	}
	step := int64(time.Second) / c.perSecond
	if nano%step != 0 {
		return s.failWant(i, c.dt, "is finer than the column's unit")
	}
	if sec > math.MaxInt64/c.perSecond-1 || sec < math.MinInt64/c.perSecond+1 {
		return s.failWant(i, c.dt, "is out of range")
	}
	c.push(arrow.Timestamp(sec*c.perSecond + nano/step))
	return end
}

// dateColumn reads dates of the form 2006-01-02.
type dateColumn struct{ fixedColumn[arrow.Date32] }

func newDateColumn(mem memory.Allocator) column {
	return &dateColumn{newFixed[arrow.Date32](mem, arrow.FixedWidthTypes.Date32)}
}

func (c *dateColumn) parse(s *scanner, i int) int {
	if s.buf[i] != '"' {
		if s.isNull(i) {
			return c.parseNull(s, i)
		}
		return s.mismatch(i, c.dt)
	}
	b, end := s.text(i)
	if end < 0 {
		return end
	}
	days, ok := parseDate(b)
	if !ok || len(b) != 10 {
		return s.failWant(i, c.dt, "is not a date of the form 2006-01-02")
	}
	c.push(arrow.Date32(days))
	return end
}

// digits2 reads two decimal digits, or returns -1.
func digits2(b []byte) int {
	hi, lo := b[0]-'0', b[1]-'0'
	if hi > 9 || lo > 9 {
		return -1
	}
	return int(hi)*10 + int(lo)
}

// parseDate reads the date at the start of b as days since 1970-01-01.
func parseDate(b []byte) (days int64, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	century, year, month, day := digits2(b), digits2(b[2:]), digits2(b[5:]), digits2(b[8:])
	if century < 0 || year < 0 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	y := century*100 + year
	if day > daysIn(y, month) {
		return 0, false
	}
	return civilDays(int64(y), int64(month), int64(day)), true
}

func daysIn(year, month int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays counts the days from 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible low-level date
// algorithms"). Years start in March, so that the leap day is the last.
func civilDays(y, m, d int64) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	if y < 0 {
		era = (y - 399) / 400
	}
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// parseTime reads a date and time as seconds and nanoseconds since 1970-01-01T00:00:00Z.
func parseTime(b []byte) (sec, nano int64, ok bool) {
	days, ok := parseDate(b)
	if !ok {
		return 0, 0, false
	}
	sec = days * 86400
	if len(b) == 10 {
		return sec, 0, true
	}
	if c := b[10]; c != 'T' && c != 't' && c != ' ' || len(b) < 16 || b[13] != ':' {
		return 0, 0, false
	}
	hour, minute, second := digits2(b[11:]), digits2(b[14:]), 0
	b = b[16:]
	if len(b) >= 3 && b[0] == ':' {
		second = digits2(b[1:])
		b = b[3:]
		if len(b) > 1 && b[0] == '.' {
			n := 0
			nano, n = fraction(b[1:])
			if n == 0 {
				return 0, 0, false
			}
			b = b[1+n:]
		}
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, 0, false
	}
	shift, ok := zone(b)
	return sec + int64(hour*3600+minute*60+second) - shift, nano, ok
}

// fraction reads up to nine digits after the point as nanoseconds; n is how many it read, 0 when there are none or too many.
func fraction(b []byte) (nano int64, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		if n == 9 {
			return 0, 0
		}
		nano = nano*10 + int64(b[n]-'0')
		n++
	}
	for k := n; k < 9; k++ {
		nano *= 10
	}
	return nano, n
}

// zone reads Z, +02:00, -0500, +02 or nothing as seconds east of UTC.
func zone(b []byte) (shift int64, ok bool) {
	if len(b) == 0 || len(b) == 1 && b[0]|0x20 == 'z' {
		return 0, true
	}
	if b[0] != '+' && b[0] != '-' || len(b) < 3 {
		return 0, false
	}
	hour, minute := digits2(b[1:]), 0
	switch {
	case len(b) == 3:
	case len(b) == 5:
		minute = digits2(b[3:])
	case len(b) == 6 && b[3] == ':':
		minute = digits2(b[4:])
	default:
		return 0, false
	}
	if hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return 0, false
	}
	shift = int64(hour*3600 + minute*60)
	if b[0] == '-' {
		shift = -shift
	}
	return shift, true
}

// decimalColumn reads numbers, and strings that hold one, without rounding.
type decimalColumn struct {
	fixedColumn[decimal128.Num]
	precision, scale int32
}

func newDecimalColumn(mem memory.Allocator, t *arrow.Decimal128Type) column {
	return &decimalColumn{newFixed[decimal128.Num](mem, t), t.Precision, t.Scale}
}

func (c *decimalColumn) parse(s *scanner, i int) int {
	var b []byte
	end := i
	switch ch := s.buf[i]; {
	case ch == 'n':
		return c.parseNull(s, i)
	case ch == '"':
		if b, end = s.text(i); end < 0 {
			return end
		}
	case ch == '-' || ch-'0' <= 9:
		if _, end = s.number(i); end < 0 {
			return end
		}
		b = s.buf[i:end]
	default:
		return s.mismatch(i, c.dt)
	}
	v, why := parseDecimal(b, c.precision, c.scale)
	if why != "" {
		return s.failWant(i, c.dt, why)
	}
	c.push(v)
	return end
}

// parseDecimal reads a decimal number exactly at the given scale; why says what is wrong with it.
func parseDecimal(b []byte, precision, scale int32) (v decimal128.Num, why string) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	digits, point, exp, ok := decimalDigits(b)
	if !ok {
		return v, "is not a decimal number"
	}
	shift := int(scale) - point + exp // zeros to append to, or digits to cut from, the digits read
	for ; shift < 0 && len(digits) > 0; shift++ {
		if digits[len(digits)-1] != '0' {
			return v, "has more digits after the point than the column"
		}
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return v, ""
	}
	if len(digits)+shift > int(precision) {
		return v, "is out of range"
	}
	ten := decimal128.FromI64(10)
	for k := range len(digits) + shift {
		v = v.Mul(ten)
		if k < len(digits) {
			v = v.Add(decimal128.FromI64(int64(digits[k] - '0')))
		}
	}
	if neg {
		v = v.Negate()
	}
	return v, ""
}

// decimalDigits splits an unsigned number into its digits without leading zeros, how many of them follow the point, and
// its exponent.
func decimalDigits(b []byte) (digits []byte, point, exp int, ok bool) {
	digits = make([]byte, 0, 40)
	seen, after := 0, false
	k := 0
	for ; k < len(b); k++ {
		if b[k] == '.' && !after {
			after = true
			continue
		}
		if b[k]-'0' > 9 {
			break
		}
		seen++
		if after {
			point++
		}
		if b[k] != '0' || len(digits) > 0 {
			digits = append(digits, b[k])
		}
	}
	if seen == 0 {
		return nil, 0, 0, false
	}
	if k < len(b) {
		if b[k]|0x20 != 'e' {
			return nil, 0, 0, false
		}
		e, ok := smallInt(b[k+1:])
		if !ok {
			return nil, 0, 0, false
		}
		exp = e
	}
	return digits, point, exp, true
}

// smallInt reads an exponent; anything beyond any decimal's reach is cut to a value that is out of range too.
func smallInt(b []byte) (int, bool) {
	neg := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	n := 0
	for _, c := range b {
		if c-'0' > 9 {
			return 0, false
		}
		n = min(n*10+int(c-'0'), 10000)
	}
	if neg {
		n = -n
	}
	return n, true
}
