package csv

import (
	"bytes"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// kind is what a field looks like. A column's kinds are those of its fields that are not null.
type kind uint8

const (
	kindBool kind = 1 << iota
	kindInt       // fits int64
	kindBig       // a whole number that does not: likely a code, whose digits count
	kindFloat
	kindDate
	kindTime
	kindNano // a time finer than microseconds
	kindText
)

// classify says what a field that is not null looks like. Numbers with leading zeros or a plus sign are codes and telephone numbers more
// often than quantities, and are text.
func (v *values) classify(text []byte) kind {
	switch c := text[0]; {
	case c-'0' <= 9 || c == '-' || c == '+' || c == v.decimal:
		if n, plain, ok := v.number(text); ok {
			return numberKind(n, plain)
		}
		if k := timeKind(text); k != 0 {
			return k
		}
	}
	if _, ok := notFinite(text); ok {
		return kindFloat
	}
	if _, ok := readBool(text, false); ok {
		return kindBool
	}
	return kindText
}

func numberKind(n scalar.Number, plain []byte) kind {
	if n.Form&oddForms != 0 {
		return kindText
	}
	if n.Real {
		if _, ok := n.Float64(plain); !ok {
			return kindText
		}
		return kindFloat
	}
	if _, ok := n.Int64(plain); ok {
		return kindInt
	}
	return kindBig
}

func timeKind(text []byte) kind {
	if _, ok := scalar.Date(text); ok && len(text) == 10 {
		return kindDate
	}
	sec, nano, ok := scalar.Time(text)
	switch {
	case !ok:
		return 0
	case nano%1000 == 0:
		return kindTime
	case sec > math.MaxInt64/1_000_000_000-1 || sec < math.MinInt64/1_000_000_000+1:
		return kindText // nanoseconds do not reach that far
	}
	return kindNano
}

// typeOf is the type that takes all of the kinds. Mixtures without a common type, and columns of nothing but nulls, are text.
func typeOf(k kind) arrow.DataType {
	switch {
	case k == 0 || k&kindText != 0:
	case k == kindBool:
		return arrow.FixedWidthTypes.Boolean
	case k == kindInt:
		return arrow.PrimitiveTypes.Int64
	case k&kindFloat != 0 && k&^(kindInt|kindBig|kindFloat) == 0:
		return arrow.PrimitiveTypes.Float64
	case k == kindDate:
		return arrow.FixedWidthTypes.Date32
	case k&kindNano != 0 && k&^(kindDate|kindTime|kindNano) == 0:
		return &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	case k&^(kindDate|kindTime) == 0:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	return arrow.BinaryTypes.String
}

// sample adds the records of data, the start of a file, to the kinds of its columns. Broken and ragged records count for what they
// hold: reading reports them. first, if it is not nil, is called with the first field of each kind in each column and the byte at which its
// record begins.
func (p *parser) sample(i int, kinds []kind, first func(column int, k kind, at int, text []byte)) {
	for i < p.to {
		next, blank := p.blank(i)
		if blank {
			i = next
			continue
		}
		start := i
		for k := 0; ; k++ {
			text, _, end := p.field(i)
			if end == incomplete {
				return
			}
			if end < 0 {
				n, _, done := p.advance(atRecord, p.buf[start:p.to])
				if !done {
					return
				}
				i = start + n
				break
			}
			text = bytes.Trim(text, " \t")
			null := len(text) == 0 || p.isNull(text) // in quotes too: it is text only if other fields are
			if k < len(kinds) && kinds[k]&kindText == 0 && !null {
				seen := p.classify(text)
				if first != nil && kinds[k]&seen == 0 {
					first(k, seen, start, text)
				}
				kinds[k] |= seen
			}
			i = end + 1
			if p.buf[end] == '\n' {
				break
			}
		}
	}
}

// blank passes an empty line or a comment at i.
func (p *parser) blank(i int) (next int, ok bool) {
	switch c := p.buf[i]; {
	case c == '\n':
		return i + 1, true
	case c == '\r' && p.buf[i+1] == '\n':
		return i + 2, true
	case c == p.comment && c != 0:
		return i + bytes.IndexByte(p.buf[i:p.to], '\n') + 1, true
	}
	return i, false
}
