package numpy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dtype is an element type of NumPy and the type that it is read as.
type dtype struct {
	kind  byte // b i u f S U M m
	width int  // bytes of an element
	big   bool
	arrow arrow.DataType
	mul   int64 // times: ticks of the arrow type in one of NumPy's
}

var numbers = map[string]arrow.DataType{
	"b1": arrow.FixedWidthTypes.Boolean,
	"i1": arrow.PrimitiveTypes.Int8, "i2": arrow.PrimitiveTypes.Int16, "i4": arrow.PrimitiveTypes.Int32, "i8": arrow.PrimitiveTypes.Int64,
	"u1": arrow.PrimitiveTypes.Uint8, "u2": arrow.PrimitiveTypes.Uint16, "u4": arrow.PrimitiveTypes.Uint32, "u8": arrow.PrimitiveTypes.Uint64,
	"f2": arrow.FixedWidthTypes.Float16, "f4": arrow.PrimitiveTypes.Float32, "f8": arrow.PrimitiveTypes.Float64,
}

// clock is a unit of datetime64 and timedelta64.
type clock struct {
	unit arrow.TimeUnit
	mul  int64
}

var clocks = map[string]clock{"[h]": {arrow.Second, 3600}, "[m]": {arrow.Second, 60}, "[s]": {arrow.Second, 1}, "[ms]": {arrow.Millisecond, 1},
	"[us]": {arrow.Microsecond, 1}, "[ns]": {arrow.Nanosecond, 1}}

// parseDtype reads a descr.
func parseDtype(descr string) (dtype, error) {
	if len(descr) < 2 {
		return dtype{}, fmt.Errorf("dtype %q is not known", descr)
	}
	d := dtype{kind: descr[1], big: descr[0] == '>'}
	rest := descr[1:]
	if descr[0] != '<' && descr[0] != '>' && descr[0] != '|' && descr[0] != '=' {
		return d, fmt.Errorf("dtype %q is not known", descr)
	}
	if t, ok := numbers[rest]; ok {
		d.arrow, d.width = t, int(rest[1]-'0')
		return d, nil
	}
	switch d.kind {
	case 'S', 'U':
		n, err := strconv.ParseUint(rest[1:], 10, 28)
		if err != nil {
			return d, fmt.Errorf("dtype %q is not known", descr)
		}
		d.width, d.arrow = int(n), arrow.BinaryTypes.Binary
		if d.kind == 'U' {
			d.width, d.arrow = int(n)*4, arrow.BinaryTypes.String
		}
		return d, nil
	case 'M', 'm':
		if len(rest) < 3 || rest[1] != '8' {
			break
		}
		d.width = 8
		if d.kind == 'M' && rest[2:] == "[D]" {
			d.arrow = arrow.FixedWidthTypes.Date32
			return d, nil
		}
		c, ok := clocks[rest[2:]]
		if !ok {
			return d, fmt.Errorf("dtype %q: its unit is not read; convert it with astype to one of D, h, m, s, ms, us, ns", descr)
		}
		d.mul, d.arrow = c.mul, &arrow.DurationType{Unit: c.unit}
		if d.kind == 'M' {
			d.arrow = &arrow.TimestampType{Unit: c.unit}
		}
		return d, nil
	case 'O':
		return d, errors.New("an array of Python objects: they are pickles, which are code and are not read; save it with another dtype")
	case 'c':
		return d, fmt.Errorf("dtype %q: complex numbers are not read; save the real and imaginary parts as two arrays", descr)
	}
	return d, fmt.Errorf("dtype %q is not read; convert it with astype", descr)
}

// column is the type of rows: nested fixed-size lists, an axis each.
func (d dtype) column(h *header) arrow.DataType {
	t := d.arrow
	for _, n := range slices.Backward(h.shape[min(1, len(h.shape)):]) {
		t = arrow.FixedSizeListOf(int32(n), t)
	}
	return t
}

// wrap makes rows of an array of elements, which it takes over.
func wrap(elems arrow.ArrayData, t arrow.DataType, rows int) arrow.ArrayData {
	list, ok := t.(*arrow.FixedSizeListType)
	if !ok {
		return elems
	}
	child := wrap(elems, list.Elem(), rows*int(list.Len()))
	defer child.Release()
	return array.NewData(t, rows, []*memory.Buffer{nil}, []arrow.ArrayData{child}, 0, 0)
}

// elements makes an array of n elements of their bytes, which it takes over.
func (d dtype) elements(mem memory.Allocator, raw *memory.Buffer, n int) (arrow.ArrayData, error) {
	defer raw.Release()
	b := raw.Bytes()[:n*d.width]
	switch d.kind {
	case 'i', 'u', 'f':
		if d.big {
			swap(b, d.width)
		}
		return array.NewData(d.arrow, n, []*memory.Buffer{nil, raw}, nil, 0, 0), nil
	}
	builder := array.NewBuilder(mem, d.arrow)
	defer builder.Release()
	builder.Reserve(n)
	for i := range n {
		if err := d.append(builder, b[i*d.width:(i+1)*d.width]); err != nil {
			return nil, fmt.Errorf("element %d of these rows: %w", i, err)
		}
	}
	out := builder.NewArray()
	defer out.Release()
	out.Data().Retain()
	return out.Data(), nil
}

func swap(b []byte, width int) {
	for i := 0; width > 1 && i < len(b); i += width {
		slices.Reverse(b[i : i+width])
	}
}

// append adds one element of a kind that is not stored as Arrow stores it.
func (d dtype) append(b array.Builder, p []byte) error {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(p[0] != 0)
	case *array.BinaryBuilder:
		for len(p) > 0 && p[len(p)-1] == 0 {
			p = p[:len(p)-1]
		}
		b.Append(p)
	case *array.StringBuilder:
		return d.appendText(b, p)
	default:
		return d.appendTime(b, p)
	}
	return nil
}

func (d dtype) order() binary.ByteOrder {
	if d.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (d dtype) appendText(b *array.StringBuilder, p []byte) error {
	order := d.order()
	for len(p) > 0 && order.Uint32(p[len(p)-4:]) == 0 {
		p = p[:len(p)-4]
	}
	out := make([]byte, 0, len(p))
	for ; len(p) > 0; p = p[4:] {
		r := order.Uint32(p)
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return fmt.Errorf("text holds the code %#x, which is no character", r)
		}
		out = utf8.AppendRune(out, rune(r))
	}
	b.BinaryBuilder.Append(out)
	return nil
}

func (d dtype) appendTime(b array.Builder, p []byte) error {
	v := int64(d.order().Uint64(p))
	if v == math.MinInt64 { // NaT
		b.AppendNull()
		return nil
	}
	if d.mul > 1 && (v > math.MaxInt64/d.mul || v < math.MinInt64/d.mul) {
		return fmt.Errorf("the time %d overflows", v)
	}
	switch b := b.(type) {
	case *array.Date32Builder:
		if v != int64(int32(v)) {
			return fmt.Errorf("the date %d days from 1970 overflows", v)
		}
		b.Append(arrow.Date32(v))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v * d.mul))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v * d.mul))
	}
	return nil
}
