package expr

import (
	"bytes"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

func mathFunctions() []*function {
	out := []*function{
		{name: "abs", sig: "abs(x)", doc: "the size of a number without its sign", example: `abs(x - y) < 0.1`, min: 1, max: 1, fallible: true, check: checkAbs},
		{name: "pow", sig: "pow(x, y)", doc: "x to the power of y, as float; also x ** y", example: `pow(width, 2)`, min: 2, max: 2, check: checkPower},
		{name: "round", sig: "round(x[, digits])", doc: "x rounded to digits after the point, halves away from zero; integers stay", example: `round(score, 2)`, min: 1, max: 2, check: checkRound},
		{name: "min", sig: "min(a, b, ...)", doc: "the smallest of the arguments; null if one is null", example: `min(width, height) >= 256`, min: 2, max: 64, fallible: true, check: checkExtreme},
		{name: "max", sig: "max(a, b, ...)", doc: "the largest of the arguments; null if one is null", example: `max(width, height)`, min: 2, max: 64, fallible: true, check: checkExtreme},
		{name: "is_nan", sig: "is_nan(x)", doc: "whether a float is not a number", example: `not is_nan(score)`, min: 1, max: 1, check: checkIsNaN},
		{name: "floor", sig: "floor(x)", doc: "the next whole number down; integers stay", example: `floor(x / 10)`, min: 1, max: 1, check: checkWhole(math.Floor)},
		{name: "ceil", sig: "ceil(x)", doc: "the next whole number up; integers stay", example: `ceil(x / 10)`, min: 1, max: 1, check: checkWhole(math.Ceil)},
	}
	for _, f := range []struct {
		name, doc string
		f         func(float64) float64
	}{
		{"sqrt", "the square root; NaN below zero", math.Sqrt},
		{"log", "the natural logarithm; -Inf of zero, NaN below", math.Log},
		{"log2", "the logarithm to base 2", math.Log2},
		{"log10", "the logarithm to base 10", math.Log10},
		{"exp", "e to the power of x", math.Exp},
	} {
		im := floatImpl(f.f)
		out = append(out, &function{name: f.name, sig: f.name + "(x)", doc: f.doc, example: f.name + "(x) > 1", min: 1, max: 1,
			check: func(_ *checker, n *node, args []*tnode) (*tnode, error) {
				if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
					return nil, err
				}
				return strict(n, typeFloat, im, args...), nil
			}})
	}
	return out
}

// floatOf widens a reference value.
func floatOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return v.(float64)
}

func floatImpl(f func(float64) float64) *impl {
	return &impl{
		eval: func(c *evalCtx, _ *tnode, args []value, _ []uint64) (arrow.Array, error) {
			valid, _ := c.validity(args...)
			buf := c.buffer(c.n * 8)
			mapNumbers(c, newReader[float64](args[0]), view[float64](buf), f)
			return build(typeFloat, c.n, valid, buf), nil
		},
		ref: func(_ *tnode, args []any) (any, error) { return f(floatOf(args[0])), nil },
	}
}

var powImpl = &impl{
	eval: func(c *evalCtx, _ *tnode, args []value, _ []uint64) (arrow.Array, error) {
		valid, _ := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[float64](buf)
		a, b := newReader[float64](args[0]), newReader[float64](args[1])
		for from := 0; from < c.n; from += chunk {
			n := min(chunk, c.n-from)
			x, y := a.at(from, n), b.at(from, n)
			for i := range x {
				out[from+i] = math.Pow(x[i], y[i])
			}
		}
		return build(typeFloat, c.n, valid, buf), nil
	},
	ref: func(_ *tnode, args []any) (any, error) { return math.Pow(floatOf(args[0]), floatOf(args[1])), nil },
}

func checkWhole(f func(float64) float64) func(*checker, *node, []*tnode) (*tnode, error) {
	im := floatImpl(f)
	return func(_ *checker, n *node, args []*tnode) (*tnode, error) {
		if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
			return nil, err
		}
		if args[0].kind != kindFloat {
			return args[0], nil
		}
		return strict(n, typeFloat, im, args...), nil
	}
}

func checkRound(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
		return nil, err
	}
	digits := int64(0)
	if len(args) == 2 {
		d, ok := n.args[1].lit.(int64)
		if !ok || d < 0 || d > 15 {
			return nil, typeErr(n.args[1], "the digits of round must be an integer literal from 0 to 15")
		}
		digits = d
	}
	if args[0].kind != kindFloat {
		return args[0], nil
	}
	scale := math.Pow10(int(digits))
	return strict(n, typeFloat, floatImpl(func(v float64) float64 {
		r := math.Round(v * scale)
		if math.IsInf(r, 0) || digits == 0 { // too large to have digits after the point
			return math.Round(v)
		}
		return r / scale
	}), args[0]), nil
}

func checkIsNaN(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
		return nil, err
	}
	return strict(n, typeBool, isNaNImpl, args...), nil
}

var isNaNImpl = &impl{
	eval: func(c *evalCtx, _ *tnode, args []value, _ []uint64) (arrow.Array, error) {
		return c.compared(args, func(w []uint64) {
			r := newReader[float64](args[0])
			for i := range c.n {
				if v := row(r, i); v != v {
					w[i>>6] |= 1 << (i & 63)
				}
			}
		}), nil
	},
	ref: func(_ *tnode, args []any) (any, error) { return math.IsNaN(floatOf(args[0])), nil },
}

func checkAbs(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
		return nil, err
	}
	switch args[0].kind {
	case kindUint:
		return args[0], nil
	case kindFloat:
		return strict(n, typeFloat, floatImpl(math.Abs), args...), nil
	}
	return strict(n, typeInt, absImpl, args...), nil
}

var absImpl = &impl{
	eval: func(c *evalCtx, _ *tnode, args []value, mask []uint64) (arrow.Array, error) {
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[int64](buf)
		mapNumbers(c, newReader[int64](args[0]), out, func(v int64) int64 { return max(v, -v) })
		c.failSmallest(out, words, mask, "abs(%d) overflows int64; convert it with float(…)")
		return build(typeInt, c.n, valid, buf), nil
	},
	ref: func(_ *tnode, args []any) (any, error) {
		v := args[0].(int64)
		if v == math.MinInt64 {
			return nil, fmt.Errorf("abs(%d) overflows int64", v)
		}
		return max(v, -v), nil
	},
}

// checkExtreme makes min and max of many a chain of two.
func checkExtreme(_ *checker, n *node, args []*tnode) (*tnode, error) {
	acc := args[0]
	for i, a := range args {
		switch a.kind {
		case kindInt, kindUint, kindFloat, kindString, kindTimestamp, kindDate, kindDuration, kindNull:
		default:
			return nil, typeErr(n.args[i], "%s cannot order %s", n.name, typeName(a.typ))
		}
		if i == 0 {
			continue
		}
		typ, err := commonType(n, acc, a)
		if err != nil {
			return nil, err
		}
		x, y := coerce(acc, typ), coerce(a, typ)
		acc = strict(n, typ, extremeImpl, x, y)
		acc.fails = false
		acc.masked = x.masked || y.masked
		acc.aux = n.name == "max"
	}
	return acc, nil
}

// extremeImpl orders the two arguments, which have one type, and picks row by row.
var extremeImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
		op := opLE
		if t.aux.(bool) {
			op = opGE
		}
		pick := c.words()
		a, b := args[0], args[1]
		switch t.kind {
		case kindFloat:
			comparePairs(c, pick, op, newReader[float64](a), newReader[float64](b))
		case kindUint:
			comparePairs(c, pick, op, newReader[uint64](a), newReader[uint64](b))
		case kindString:
			x, y := newTexts(a), newTexts(b)
			for i := range c.n {
				if op.holds(bytes.Compare(x.at(i), y.at(i))) {
					pick[i>>6] |= 1 << (i & 63)
				}
			}
		default:
			comparePairs(c, pick, op, newReader[int64](a), newReader[int64](b))
		}
		if len(pick) > 0 {
			trim(pick, c.n)
		}
		// Where one side is null, pick that side.
		_, va := c.scratchValidity(a)
		_, vb := c.scratchValidity(b)
		for i := range pick {
			if vb != nil {
				pick[i] &= vb[i]
			}
			if va != nil {
				pick[i] |= ^va[i]
			}
		}
		if len(pick) > 0 {
			trim(pick, c.n)
		}
		return c.blend(t.typ, pick, a, b)
	},
	ref: func(t *tnode, args []any) (any, error) {
		s := orderAny(args[0], args[1])
		if t.aux.(bool) {
			s = -s
		}
		if s <= 0 {
			return args[0], nil
		}
		return args[1], nil
	},
}
