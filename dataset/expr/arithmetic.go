package expr

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
)

func arithmeticOperators() []*function {
	return []*function{
		{name: "+", fallible: true, check: checkAdd},
		{name: "-", fallible: true, check: checkAdd},
		{name: "*", fallible: true, check: checkArithmetic},
		{name: "/", check: checkArithmetic},
		{name: "%", check: checkArithmetic},
		{name: "**", check: checkPower},
		{name: opNeg, fallible: true, check: checkNeg},
	}
}

// checkAdd covers numbers, texts, and times with durations.
func checkAdd(c *checker, n *node, args []*tnode) (*tnode, error) {
	a, b := args[0].kind, args[1].kind
	switch {
	case n.name == "+" && (a == kindString || a == kindBinary) && (b == a || b == kindNull), n.name == "+" && a == kindNull && (b == kindString || b == kindBinary):
		return checkConcat(c, n, args)
	case a.temporal() || a == kindDuration || b.temporal() || b == kindDuration:
		return checkTimeAdd(n, args)
	}
	return checkArithmetic(c, n, args)
}

func checkArithmetic(c *checker, n *node, args []*tnode) (*tnode, error) {
	for i, a := range args {
		if a.kind.numeric() || a.kind == kindNull {
			continue
		}
		hint := castHint(a, []kind{kindFloat})
		switch {
		case a.kind == kindDecimal:
			hint = "; convert it with float(…)"
		case a.kind == kindString && n.name == "+":
			hint = "; join texts with + after string(…), or convert with int(…) or float(…)"
		case a.kind == kindBool:
			hint = "; convert it with int(…)"
		}
		return nil, typeErr(n.args[i], "%s wants numbers, but %s is %s%s", n.name, (&Expr{n.args[i]}).String(), typeName(a.typ), hint)
	}
	typ := arithmeticType(args[0], args[1])
	if n.name == "/" {
		typ = typeFloat
	}
	t := strict(n, typ, arithmeticImpl, args...)
	t.aux = n.name
	t.fails = t.fails && t.kind != kindFloat
	t.masked = t.fails || args[0].masked || args[1].masked
	return t, nil
}

func checkPower(_ *checker, n *node, args []*tnode) (*tnode, error) {
	for i := range args {
		if err := want(n, args, i, kindInt, kindUint, kindFloat); err != nil {
			return nil, err
		}
	}
	return strict(n, typeFloat, powImpl, args...), nil
}

func checkNeg(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind == kindDuration {
		return strict(n, args[0].typ, negImpl, args...), nil
	}
	if err := want(n, args, 0, kindInt, kindUint, kindFloat); err != nil {
		return nil, err
	}
	typ := arrow.DataType(typeInt)
	if args[0].kind == kindFloat {
		typ = typeFloat
	}
	return strict(n, typ, negImpl, args...), nil
}

// overflow is the failure of integer arithmetic.
func overflow(op string, a, b any, typ arrow.DataType) error {
	return fmt.Errorf("%v %s %v overflows %s; convert an operand with float(…)", a, op, b, typ)
}

var arithmeticImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		op := t.aux.(string)
		switch {
		case t.kind == kindFloat:
			return c.floatArithmetic(op, args), nil
		case t.args[0].kind == kindInt && t.args[1].kind == kindInt && t.kind == kindInt:
			return c.intArithmetic(op, args, mask), nil
		}
		return c.mixedArithmetic(t, op, args, mask), nil
	},
	ref: refArithmetic,
}

func (c *evalCtx) floatArithmetic(op string, args []value) arrow.Array {
	buf := c.buffer(c.n * 8)
	out := view[float64](buf)
	a, b := newReader[float64](args[0]), newReader[float64](args[1])
	divides := op == "/" || op == "%"
	valid, words := c.validity(args...)
	if divides && words == nil {
		valid, words = c.ownValidity()
	}
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		x, y, z := a.at(from, n), b.at(from, n), out[from:from+n]
		y, z = y[:len(x)], z[:len(x)]
		switch op {
		case "+":
			for i := range x {
				z[i] = x[i] + y[i]
			}
		case "-":
			for i := range x {
				z[i] = x[i] - y[i]
			}
		case "*":
			for i := range x {
				z[i] = x[i] * y[i]
			}
		case "/":
			for i := range x {
				z[i] = x[i] / y[i]
			}
		default:
			for i := range x {
				z[i] = math.Mod(x[i], y[i])
			}
		}
		if divides {
			for i := range y {
				if y[i] == 0 {
					clearBit(words, from+i)
				}
			}
		}
	}
	return build(typeFloat, c.n, valid, buf)
}

func (c *evalCtx) intArithmetic(op string, args []value, mask []uint64) arrow.Array {
	buf := c.buffer(c.n * 8)
	out := view[int64](buf)
	a, b := newReader[int64](args[0]), newReader[int64](args[1])
	valid, words := c.validity(args...)
	if op == "%" && words == nil {
		valid, words = c.ownValidity()
	}
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		x, y, z := a.at(from, n), b.at(from, n), out[from:from+n]
		if op == "%" {
			remainders(words, from, x, y, z)
			continue
		}
		if !addChunk(op, x, y, z) {
			continue
		}
		for i := range x { // some row of the chunk overflowed: find which, leaving out nulls
			if (words == nil || bit(words, from+i)) && overflows(op, x[i], y[i]) {
				c.fail(mask, from+i, overflow(op, x[i], y[i], typeInt))
			}
		}
	}
	return build(typeInt, c.n, valid, buf)
}

// addChunk computes z = x op y and reports whether any row overflowed.
func addChunk(op string, x, y, z []int64) bool {
	y, z = y[:len(x)], z[:len(x)]
	var over int64
	switch op {
	case "+":
		for i := range x {
			r := x[i] + y[i]
			over |= (x[i] ^ r) & (y[i] ^ r)
			z[i] = r
		}
	case "-":
		for i := range x {
			r := x[i] - y[i]
			over |= (x[i] ^ y[i]) & (x[i] ^ r)
			z[i] = r
		}
	default:
		for i := range x {
			hi, lo := mulSigned(x[i], y[i])
			if hi != int64(lo)>>63 {
				over = -1
			}
			z[i] = int64(lo)
		}
	}
	return over < 0
}

func mulSigned(a, b int64) (hi int64, lo uint64) {
	h, lo := bits.Mul64(uint64(a), uint64(b))
	return int64(h) - (a>>63)&b - (b>>63)&a, lo
}

func overflows(op string, a, b int64) bool {
	switch op {
	case "+":
		r := a + b
		return (a^r)&(b^r) < 0
	case "-":
		r := a - b
		return (a^b)&(a^r) < 0
	}
	hi, lo := mulSigned(a, b)
	return hi != int64(lo)>>63
}

func remainders(words []uint64, from int, x, y, z []int64) {
	for i := range x {
		switch y[i] {
		case 0:
			clearBit(words, from+i)
			z[i] = 0
		case -1:
			z[i] = 0 // the smallest integer has no positive counterpart
		default:
			z[i] = x[i] % y[i]
		}
	}
}

// signed is an integer of 65 bits.
type signed struct {
	neg bool
	mag uint64
}

func signedOf(v any) signed {
	if i, ok := v.(int64); ok && i < 0 {
		return signed{true, -uint64(i)}
	} else if ok {
		return signed{false, uint64(i)}
	}
	return signed{false, v.(uint64)}
}

// mixedArithmetic covers everything with uint64 in it, exactly.
func (c *evalCtx) mixedArithmetic(t *tnode, op string, args []value, mask []uint64) arrow.Array {
	buf := c.buffer(c.n * 8)
	out := view[uint64](buf)
	valid, words := c.ownValidity(args...)
	at := [2]func(int) any{}
	for k, a := range args {
		at[k], _ = numberAt(a) // check has admitted numbers only
	}
	for i := range c.n {
		out[i] = 0
		if !bit(words, i) {
			continue
		}
		x, y := at[0](i), at[1](i)
		r, ok, null := signedArithmetic(op, signedOf(x), signedOf(y))
		switch {
		case null:
			clearBit(words, i)
		case ok && t.kind == kindUint && (!r.neg || r.mag == 0):
			out[i] = r.mag
		case ok && t.kind == kindInt && r.fitsInt():
			out[i] = r.mag
			if r.neg {
				out[i] = -r.mag
			}
		default:
			c.fail(mask, i, overflow(op, x, y, t.typ))
		}
	}
	return build(t.typ, c.n, valid, buf)
}

func (s signed) fitsInt() bool { return s.mag < 1<<63 || s.neg && s.mag == 1<<63 }

// signedArithmetic computes op exactly; ok is false when 64 bits do not hold the size of the result, null after a
// division by zero.
func signedArithmetic(op string, a, b signed) (r signed, ok, null bool) {
	switch op {
	case "*":
		hi, lo := bits.Mul64(a.mag, b.mag)
		return signed{a.neg != b.neg, lo}, hi == 0, false
	case "%":
		if b.mag == 0 {
			return signed{}, false, true
		}
		return signed{a.neg, a.mag % b.mag}, true, false
	case "-":
		b.neg = !b.neg
	}
	switch {
	case a.neg == b.neg:
		sum, carry := bits.Add64(a.mag, b.mag, 0)
		return signed{a.neg, sum}, carry == 0, false
	case a.mag >= b.mag:
		return signed{a.neg, a.mag - b.mag}, true, false
	}
	return signed{b.neg, b.mag - a.mag}, true, false
}

var negImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
		valid, words := c.validity(args...)
		buf := c.buffer(c.n * 8)
		switch t.args[0].kind {
		case kindFloat:
			mapNumbers(c, newReader[float64](args[0]), view[float64](buf), func(v float64) float64 { return -v })
		case kindUint:
			out := view[int64](buf)
			for i, r := 0, newReader[uint64](args[0]); i < c.n; i++ {
				v := r.at(i, 1)[0]
				if out[i] = int64(-v); v > 1<<63 && (words == nil || bit(words, i)) {
					c.fail(mask, i, fmt.Errorf("-(%d) overflows int64; convert it with float(…)", v))
				}
			}
		default:
			out := view[int64](buf)
			mapNumbers(c, newReader[int64](args[0]), out, func(v int64) int64 { return -v })
			c.failSmallest(out, words, mask, "-(%d) overflows int64; convert it with float(…)")
		}
		return build(t.typ, c.n, valid, buf), nil
	},
	ref: func(t *tnode, args []any) (any, error) {
		switch v := args[0].(type) {
		case float64:
			return -v, nil
		case uint64:
			if v > 1<<63 {
				return nil, fmt.Errorf("-(%d) overflows int64", v)
			}
			return int64(-v), nil
		case instant:
			if v.v == math.MinInt64 {
				return nil, fmt.Errorf("-(%d) overflows int64", v.v)
			}
			return instant{-v.v, v.typ}, nil
		}
		v := args[0].(int64)
		if v == math.MinInt64 {
			return nil, fmt.Errorf("-(%d) overflows int64", v)
		}
		return -v, nil
	},
}

// failSmallest fails the rows that hold the one integer whose negation does not fit.
func (c *evalCtx) failSmallest(out []int64, valid, mask []uint64, format string) {
	for i, v := range out {
		if v == math.MinInt64 && (valid == nil || bit(valid, i)) {
			c.fail(mask, i, fmt.Errorf(format, v))
		}
	}
}

func mapNumbers[A, B number](c *evalCtx, r *reader[A], out []B, f func(A) B) {
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		for i, v := range r.at(from, n) {
			out[from+i] = f(v)
		}
	}
}
