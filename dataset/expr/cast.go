package expr

import (
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func castFunctions() []*function {
	short := func(name, doc, example string, typ arrow.DataType) *function {
		return &function{name: name, sig: name + "(x)", doc: doc, example: example, min: 1, max: 1, fallible: true,
			check: func(_ *checker, n *node, args []*tnode) (*tnode, error) { return checkCast(n, args[0], typ, false) }}
	}
	named := func(name, doc string, try bool) *function {
		return &function{name: name, sig: name + `(x, "type")`, doc: doc, example: name + `(price, "float32")`, min: 2, max: 2, fallible: !try,
			check: func(_ *checker, n *node, args []*tnode) (*tnode, error) {
				s, err := constString(n, 1)
				if err != nil {
					return nil, err
				}
				typ, err := parseType(s)
				if err != nil {
					return nil, typeErr(n.args[1], "%v", err)
				}
				return checkCast(n, args[0], typ, try)
			}}
	}
	return []*function{
		short("int", "the value as int64: text in base 10, floats without their fraction, true is 1", `int(year_text) > 1990`, typeInt),
		short("float", "the value as float64", `float(price) * 1.19`, typeFloat),
		short("string", "the value as text", `string(id) + ".jpg"`, typeString),
		short("bool", "the value as boolean: \"true\", \"false\", \"1\", \"0\", or whether a number is not zero", `bool(flag)`, typeBool),
		named("cast", "the value as another type; a value that does not fit is a row error", false),
		named("try_cast", "the value as another type; null where it does not fit", true),
	}
}

func checkCast(n *node, arg *tnode, typ arrow.DataType, try bool) (*tnode, error) {
	if arg.kind == kindNull {
		return strict(n, typ, castImpl, arg), nil
	}
	if !castable(arg.typ, typ) {
		hint := ""
		if arg.kind.temporal() && kindOf(typ).numeric() {
			hint = "; write epoch_ms(x), or year(x), month(x), …"
		}
		return nil, typeErr(n, "%s cannot convert %s to %s%s", n.name, typeName(arg.typ), typeName(typ), hint)
	}
	if arrow.TypeEqual(arg.typ, typ) {
		return arg, nil
	}
	t := castNode(arg, typ, try)
	t.off = n.off
	return t, nil
}

// castNode converts t; with try, values that do not fit become null.
func castNode(arg *tnode, typ arrow.DataType, try bool) *tnode {
	t := &tnode{form: formStrict, off: arg.off, typ: typ, kind: kindOf(typ), args: []*tnode{arg}, name: "cast", impl: castImpl, aux: try}
	widening := arg.kind.numeric() && typ.ID() == arrow.FLOAT64
	t.fails = !try && !widening
	t.masked = arg.masked || t.fails || kindOf(typ) == kindString
	return t
}

var castImpl = &impl{
	eval: evalCast,
	ref: func(t *tnode, args []any) (any, error) {
		v := args[0]
		if x, ok := v.(instant); ok {
			v = x.v
		}
		out, err := convertConst(v, t.args[0].typ, t.typ)
		if err != nil {
			if t.aux.(bool) {
				return nil, nil
			}
			return nil, err
		}
		return boxed(out, t.typ), nil
	},
}

func evalCast(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
	from, try := t.args[0], t.aux.(bool)
	if from.kind.numeric() && t.typ.ID() == arrow.FLOAT64 {
		valid, _ := c.validity(args...)
		buf := c.buffer(c.n * 8)
		mapNumbers(c, newReader[float64](args[0]), view[float64](buf), func(v float64) float64 { return v })
		return build(t.typ, c.n, valid, buf), nil
	}
	valid, words := c.ownValidity(args...)
	k := &casting{c: c, from: from.typ, to: t.typ, arg: args[0],
		miss: func(i int, err error) {
			if clearBit(words, i); !try {
				c.fail(mask, i, err)
			}
		},
		skip: func(i int) bool { return !bit(words, i) || mask != nil && !bit(mask, i) },
	}
	switch t.kind {
	case kindString, kindBinary:
		return k.texts(valid)
	case kindBool:
		buf, out := c.bitmap(c.n)
		k.each(func(i int, v any) {
			if v.(bool) {
				out[i>>6] |= 1 << (i & 63)
			}
		})
		return build(t.typ, c.n, valid, buf), nil
	}
	buf := c.buffer(c.n * t.typ.(arrow.FixedWidthDataType).Bytes())
	clear(buf.Bytes())
	switch {
	case from.kind == kindString && t.typ.ID() == arrow.INT64:
		parseTexts(k, view[int64](buf), func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) })
	case from.kind == kindString && t.typ.ID() == arrow.FLOAT64:
		parseTexts(k, view[float64](buf), func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
	case from.kind == kindInt && t.kind == kindInt:
		k.integers(intSetter(t.typ, buf))
	default:
		k.each(constSetter(t.typ, buf))
	}
	return build(t.typ, c.n, valid, buf), nil
}

// casting is one cast of one column: skip tells the rows to leave out, miss records those that do not fit.
type casting struct {
	c        *evalCtx
	from, to arrow.DataType
	arg      value
	skip     func(i int) bool
	miss     func(i int, err error)
}

// each converts row by row through convertConst.
func (k *casting) each(set func(i int, v any)) {
	at := valueReader(k.arg, k.from)
	for i := range k.c.n {
		if k.skip(i) {
			continue
		}
		v, err := convertConst(at(i), k.from, k.to)
		if err != nil {
			k.miss(i, err)
			continue
		}
		set(i, v)
	}
}

// integers checks the bounds of a narrower type.
func (k *casting) integers(set func(i int, v int64)) {
	lo, hi := intBounds(k.to)
	least, most := lo.Int64(), hi.Int64()
	r := newReader[int64](k.arg)
	for i := range k.c.n {
		v := row(r, i)
		if set(i, v); (v < least || v > most) && !k.skip(i) {
			k.miss(i, castErr(v, k.to))
		}
	}
}

func parseTexts[T any](k *casting, out []T, parse func(string) (T, error)) {
	a := newTexts(k.arg)
	for i := range out {
		if k.skip(i) {
			continue
		}
		v, err := parse(str(a.at(i)))
		if out[i] = v; err != nil {
			k.miss(i, castErr(string(a.at(i)), k.to))
		}
	}
}

// texts writes values as text. It takes valid over.
func (k *casting) texts(valid *memory.Buffer) (arrow.Array, error) {
	out, err := k.c.newTextOut(k.to, k.c.n)
	if err != nil {
		valid.Release()
		return nil, err
	}
	at := valueReader(k.arg, k.from)
	var ints *reader[int64]
	if kindOf(k.from) == kindInt {
		ints = newReader[int64](k.arg)
	}
	var scratch []byte
	for i := range k.c.n {
		scratch = scratch[:0]
		switch {
		case k.skip(i):
		case ints != nil:
			scratch = strconv.AppendInt(scratch, row(ints, i), 10)
		default:
			x, err := convertConst(at(i), k.from, k.to)
			switch x := x.(type) {
			case string:
				scratch = append(scratch, x...)
			case []byte:
				scratch = append(scratch, x...)
			default:
				k.miss(i, err)
			}
		}
		if err := out.append(scratch); err != nil {
			out.release()
			valid.Release()
			return nil, err
		}
	}
	return out.build(valid), nil
}

// valueReader reads rows as constants: temporal ones as integers, decimals as decimalValue.
func valueReader(v value, typ arrow.DataType) func(i int) any {
	if v.isConst() {
		return func(int) any { return v.cst }
	}
	switch kindOf(typ) {
	case kindDecimal:
		scale := decimalScale(typ)
		return func(i int) any { return decimalRat(decimalAt(v.arr, i), scale) }
	case kindString:
		a := newTexts(v)
		return func(i int) any { return string(a.at(i)) }
	case kindBinary:
		a := newTexts(v)
		return func(i int) any { return a.at(i) }
	case kindBool, kindNull:
		return func(i int) any { x, _ := constOf(v.arr, i); return x }
	case kindUint:
		r := newReader[uint64](v)
		return func(i int) any { return row(r, i) }
	case kindFloat:
		r := newReader[float64](v)
		return func(i int) any { return row(r, i) }
	}
	r := newReader[int64](v)
	return func(i int) any { return row(r, i) }
}

func setter[T number](b []byte) func(i int, v int64) {
	out := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(*new(T))))
	return func(i int, v int64) { out[i] = T(v) }
}

// constSetter writes constants into a buffer of a fixed-width type.
func constSetter(t arrow.DataType, buf interface{ Bytes() []byte }) func(i int, v any) {
	switch t.ID() {
	case arrow.FLOAT64:
		set := setter[int64](buf.Bytes())
		return func(i int, v any) { set(i, int64(math.Float64bits(v.(float64)))) }
	case arrow.FLOAT32:
		set := setter[int32](buf.Bytes())
		return func(i int, v any) { set(i, int64(int32(math.Float32bits(float32(v.(float64)))))) }
	}
	set := intSetter(t, buf)
	return func(i int, v any) {
		if u, ok := v.(uint64); ok {
			set(i, int64(u))
			return
		}
		set(i, v.(int64))
	}
}

func castErr(v any, typ arrow.DataType) error {
	switch s := v.(type) {
	case string:
		v = strconv.Quote(clip(s))
	case []byte:
		v = fmt.Sprintf("b%q", clip(string(s)))
	}
	return fmt.Errorf("cast %v to %s: the value does not fit; try_cast gives null instead", v, typeName(typ))
}
