package csv

import (
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/internal/columns"
	"github.com/sluice-data/sluice/connectors/internal/scalar"
)

// column builds one Arrow array from fields.
type column interface {
	// parse appends the field at p.buf[i] and returns the position of the delimiter or newline behind it, or incomplete or failed. A
	// column whose parse did not succeed may hold one value more or not; its owner truncates it.
	parse(p *parser, i int) int
	Null()
	// Truncate drops the values from n on; n is never more than the length.
	Truncate(n int)
	// Bytes is the size of what was appended so far.
	Bytes() int
	// Take hands over everything that was appended and empties the column.
	Take() *array.Data
	Release()
}

// readable reports whether fields can be read as a type.
func readable(dt arrow.DataType) bool {
	c, err := newColumn(memory.DefaultAllocator, dt, false)
	if err != nil {
		return false
	}
	c.Release()
	return true
}

// newColumn makes the column of a type. given says that the user named the type: spellings that inference would rather take for text,
// such as 007, are then numbers.
func newColumn(mem memory.Allocator, dt arrow.DataType, given bool) (column, error) {
	switch t := dt.(type) {
	case *arrow.BooleanType:
		return &boolColumn{columns.NewBool(mem), given}, nil
	case *arrow.Int8Type:
		return newInt[int8](mem, dt, given), nil
	case *arrow.Int16Type:
		return newInt[int16](mem, dt, given), nil
	case *arrow.Int32Type:
		return newInt[int32](mem, dt, given), nil
	case *arrow.Int64Type:
		return newInt[int64](mem, dt, given), nil
	case *arrow.Uint8Type:
		return newUint[uint8](mem, dt, given), nil
	case *arrow.Uint16Type:
		return newUint[uint16](mem, dt, given), nil
	case *arrow.Uint32Type:
		return newUint[uint32](mem, dt, given), nil
	case *arrow.Uint64Type:
		return newUint[uint64](mem, dt, given), nil
	case *arrow.Float32Type:
		return &floatColumn[float32]{columns.NewFixed[float32](mem, dt), given}, nil
	case *arrow.Float64Type:
		return &floatColumn[float64]{columns.NewFixed[float64](mem, dt), given}, nil
	case *arrow.StringType:
		return newText[int32](mem, dt), nil
	case *arrow.LargeStringType:
		return newText[int64](mem, dt), nil
	case *arrow.BinaryType:
		return &base64Column[int32]{columns.NewBinary[int32](mem, dt)}, nil
	case *arrow.LargeBinaryType:
		return &base64Column[int64]{columns.NewBinary[int64](mem, dt)}, nil
	case *arrow.TimestampType:
		return newTimestamp(mem, t), nil
	case *arrow.Date32Type:
		return &dateColumn{columns.NewFixed[arrow.Date32](mem, dt)}, nil
	case *arrow.Decimal128Type:
		return newDecimal(mem, t), nil
	}
	return nil, fmt.Errorf("read CSV as %s: not supported; read it as string and cast it", dt)
}

// oddForms are the spellings of numbers that lose something when they are read as one: codes, telephone numbers.
const oddForms = scalar.Plus | scalar.LeadingZero

type intColumn[T int8 | int16 | int32 | int64] struct {
	columns.Fixed[T]
	given bool
}

func newInt[T int8 | int16 | int32 | int64](mem memory.Allocator, dt arrow.DataType, given bool) column {
	return &intColumn[T]{columns.NewFixed[T](mem, dt), given}
}

func (c *intColumn[T]) parse(p *parser, i int) int {
	if p.plain {
		if v, j := scalar.ShortInt(p.buf, i); j > i && int64(T(v)) == v {
			if end := p.term(j); end >= 0 {
				c.Push(T(v))
				return end
			}
		}
	}
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	n, plain, ok := p.number(text)
	if !ok {
		return p.refuse(i, c.DT, "is not a number")
	}
	if n.Form&oddForms != 0 && !c.given {
		return p.refuse(i, c.DT, whyOdd(n))
	}
	v, ok := n.Int64(plain)
	if !ok || int64(T(v)) != v {
		return p.refuse(i, c.DT, n.WhyNotInteger())
	}
	c.Push(T(v))
	return end
}

// orNull ends the parse of a field that was null or did not come off.
func orNull(c column, end int) int {
	if end >= 0 {
		c.Null()
	}
	return end
}

func whyOdd(n scalar.Number) string {
	if n.Form&scalar.Plus != 0 {
		return "has a plus sign, which a number would lose"
	}
	return "has leading zeros, which a number would lose"
}

type uintColumn[T uint8 | uint16 | uint32 | uint64] struct {
	columns.Fixed[T]
	given bool
}

func newUint[T uint8 | uint16 | uint32 | uint64](mem memory.Allocator, dt arrow.DataType, given bool) column {
	return &uintColumn[T]{columns.NewFixed[T](mem, dt), given}
}

func (c *uintColumn[T]) parse(p *parser, i int) int {
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	n, plain, ok := p.number(text)
	if !ok {
		return p.refuse(i, c.DT, "is not a number")
	}
	v, ok := n.Uint64(plain)
	if !ok || uint64(T(v)) != v {
		return p.refuse(i, c.DT, n.WhyNotInteger())
	}
	c.Push(T(v))
	return end
}

type floatColumn[T float32 | float64] struct {
	columns.Fixed[T]
	given bool
}

func (c *floatColumn[T]) parse(p *parser, i int) int {
	if p.plain {
		if f, j := scalar.ShortFloat(p.buf, i); j > i && c.DT.ID() == arrow.FLOAT64 {
			if end := p.term(j); end >= 0 {
				c.Push(T(f))
				return end
			}
		}
		if n, j := scalar.Scan(p.buf, i); n.Form == 0 {
			if end := p.term(j); end >= 0 {
				return c.push(p, n, p.buf[i:j], i, end)
			}
		}
	}
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	if v, ok := notFinite(text); ok {
		c.Push(T(v))
		return end
	}
	n, plain, ok := p.number(text)
	if !ok {
		return p.refuse(i, c.DT, "is not a number")
	}
	if n.Form&oddForms != 0 && !c.given {
		return p.refuse(i, c.DT, whyOdd(n))
	}
	return c.push(p, n, plain, i, end)
}

func (c *floatColumn[T]) push(p *parser, n scalar.Number, text []byte, i, end int) int {
	var v T
	var ok bool
	if _, wide := any(v).(float64); wide {
		var f float64
		f, ok = n.Float64(text)
		v = T(f)
	} else {
		var f float32
		f, ok = n.Float32(text)
		v = T(f)
	}
	if !ok {
		return p.refuse(i, c.DT, "is out of range")
	}
	c.Push(v)
	return end
}

// notFinite reads the spellings of NaN and the infinities.
func notFinite(text []byte) (float64, bool) {
	sign := 1
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	if len(text) > len("infinity") {
		return 0, false
	}
	switch strings.ToLower(string(text)) {
	case "nan":
		return math.NaN(), true
	case "inf", "infinity":
		return math.Inf(sign), true
	}
	return 0, false
}

type boolColumn struct {
	columns.Bool
	given bool
}

func (c *boolColumn) parse(p *parser, i int) int {
	if p.nulls == nil { // the usual spellings at once; pad bytes follow
		j, v := i, false
		switch {
		case string(p.buf[i:i+4]) == "true":
			j, v = i+4, true
		case string(p.buf[i:i+5]) == "false":
			j = i + 5
		}
		if j > i {
			if end := p.term(j); end >= 0 {
				c.Push(v)
				return end
			}
		}
	}
	text, null, end := p.value(i)
	if end < 0 || null {
		return orNull(c, end)
	}
	v, ok := readBool(text, c.given)
	if !ok {
		return p.refuse(i, arrow.FixedWidthTypes.Boolean, "is neither true nor false")
	}
	c.Push(v)
	return end
}

// readBool reads true and false in any case; of a column that is declared a boolean also 1, t, yes, y and their opposites.
func readBool(text []byte, given bool) (v, ok bool) {
	switch string(text) { // the usual spellings, without a copy
	case "true", "True", "TRUE":
		return true, true
	case "false", "False", "FALSE":
		return false, true
	}
	if len(text) > 5 {
		return false, false
	}
	switch strings.ToLower(string(text)) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "1", "t", "yes", "y":
		return true, given
	case "0", "f", "no", "n":
		return false, given
	}
	return false, false
}
