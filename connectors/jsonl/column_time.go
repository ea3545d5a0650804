package jsonl

import (
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
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
	sec, nano, ok := scalar.Time(b)
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
	days, ok := scalar.Date(b)
	if !ok || len(b) != 10 {
		return s.failWant(i, c.dt, "is not a date of the form 2006-01-02")
	}
	c.push(arrow.Date32(days))
	return end
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
	v, why := scalar.Decimal(b, c.precision, c.scale)
	if why != "" {
		return s.failWant(i, c.dt, why)
	}
	c.push(v)
	return end
}
