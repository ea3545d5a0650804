package csv

import (
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// timestampColumn reads dates and times as in RFC 3339; scalar.Time says what may be missing.
type timestampColumn struct {
	columns.Fixed[arrow.Timestamp]
	perSecond int64
}

func newTimestamp(mem memory.Allocator, t *arrow.TimestampType) column {
	return &timestampColumn{columns.NewFixed[arrow.Timestamp](mem, t), int64(time.Second / t.Unit.Multiplier())}
}

func (c *timestampColumn) parse(p *parser, i int) int {
	if p.plain && c.perSecond == 1e6 {
		if micros, j := scalar.ShortTime(p.buf, i); j > i {
			if end := p.term(j); end >= 0 {
				c.Push(arrow.Timestamp(micros))
				return end
			}
		}
	}
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	sec, nano, ok := scalar.Time(text)
	if !ok {
		return p.refuse(i, c.DT, "is not a date and time as in RFC 3339")
	}
	step := int64(time.Second) / c.perSecond
	if nano%step != 0 {
		return p.refuse(i, c.DT, "is finer than the column's unit")
	}
	if sec > math.MaxInt64/c.perSecond-1 || sec < math.MinInt64/c.perSecond+1 {
		return p.refuse(i, c.DT, "is out of range")
	}
	c.Push(arrow.Timestamp(sec*c.perSecond + nano/step))
	return end
}

// dateColumn reads dates of the form 2006-01-02.
type dateColumn struct{ columns.Fixed[arrow.Date32] }

func (c *dateColumn) parse(p *parser, i int) int {
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	days, ok := scalar.Date(text)
	if !ok || len(text) != 10 {
		return p.refuse(i, c.DT, "is not a date of the form 2006-01-02")
	}
	c.Push(arrow.Date32(days))
	return end
}

// decimalColumn reads numbers without rounding.
type decimalColumn struct {
	columns.Fixed[decimal128.Num]
	precision, scale int32
}

func newDecimal(mem memory.Allocator, t *arrow.Decimal128Type) column {
	return &decimalColumn{columns.NewFixed[decimal128.Num](mem, t), t.Precision, t.Scale}
}

func (c *decimalColumn) parse(p *parser, i int) int {
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	n, plain, ok := p.number(text)
	if !ok {
		return p.refuse(i, c.DT, "is not a decimal number")
	}
	if n.Form&scalar.Plus != 0 {
		plain = plain[1:]
	}
	v, why := scalar.Decimal(plain, c.precision, c.scale)
	if why != "" {
		return p.refuse(i, c.DT, why)
	}
	c.Push(v)
	return end
}
