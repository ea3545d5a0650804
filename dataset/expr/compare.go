package expr

import (
	"bytes"
	"cmp"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// cmpOp is a comparison. Each has its complement, because the order is total: NaN is above every number.
type cmpOp uint8

const (
	opEQ cmpOp = iota
	opNE
	opLT
	opGE
	opLE
	opGT
)

var cmpOps = map[string]cmpOp{"==": opEQ, "!=": opNE, "<": opLT, ">=": opGE, "<=": opLE, ">": opGT}

// flipped is the comparison with its sides exchanged.
func (op cmpOp) flipped() cmpOp {
	switch op {
	case opLT:
		return opGT
	case opGT:
		return opLT
	case opLE:
		return opGE
	case opGE:
		return opLE
	}
	return op
}

// holds tells the comparison from the sign of a three-way one.
func (op cmpOp) holds(sign int) bool {
	switch op {
	case opEQ:
		return sign == 0
	case opNE:
		return sign != 0
	case opLT:
		return sign < 0
	case opGE:
		return sign >= 0
	case opLE:
		return sign <= 0
	}
	return sign > 0
}

func compareOperators() []*function {
	out := make([]*function, 0, len(cmpOps))
	for name := range cmpOps {
		out = append(out, &function{name: name, check: checkCompare})
	}
	return out
}

func checkCompare(c *checker, n *node, args []*tnode) (*tnode, error) {
	a, b := args[0], args[1]
	op := cmpOps[n.name]
	if a.isBareNil() || b.isBareNil() {
		if op != opEQ && op != opNE {
			return nil, typeErr(n, "nil has no order, so %s is never true; write x == nil or x != nil", n.name)
		}
		if a.isBareNil() {
			a, b = b, a
		}
		return &tnode{form: formIsNil, off: n.off, typ: typeBool, kind: kindBool, args: []*tnode{a}, negate: op == opNE, name: n.name, masked: a.masked}, nil
	}
	if a.kind == kindNull || b.kind == kindNull {
		return strict(n, typeBool, numbersImpl, a, b), nil
	}
	im := compareImpl(op, a, b)
	if im == nil {
		return nil, compareErr(n, a, b)
	}
	t := strict(n, typeBool, im, a, b)
	t.aux = op
	return t, nil
}

// compareImpl chooses the loop for two kinds; nil if they do not compare.
func compareImpl(op cmpOp, a, b *tnode) *impl {
	equality := op == opEQ || op == opNE
	switch {
	case a.kind.numeric() && b.kind.numeric():
		return numbersImpl
	case a.kind == kindString && b.kind == kindString, a.kind == kindBinary && b.kind == kindBinary:
		return textsImpl
	case a.kind == kindBool && b.kind == kindBool && equality:
		return boolsImpl
	case a.kind.temporal() && b.kind.temporal(), a.kind == kindDuration && b.kind == kindDuration, a.kind == kindTime && b.kind == kindTime:
		return instantsImpl
	case a.kind == kindDecimal && (b.kind.numeric() || b.kind == kindDecimal), b.kind == kindDecimal && a.kind.numeric():
		return decimalsImpl
	}
	return nil
}

func compareErr(n *node, a, b *tnode) error {
	hint := ""
	switch {
	case a.kind == kindString && b.kind.temporal() || b.kind == kindString && a.kind.temporal():
		hint = "; write timestamp(\"2024-01-31T12:00:00Z\") or date(\"2024-01-31\")"
	case a.kind == kindString && (b.kind.numeric() || b.kind == kindDecimal) || b.kind == kindString && (a.kind.numeric() || a.kind == kindDecimal):
		hint = "; convert one side with int(…), float(…) or string(…)"
	case a.kind == kindBool && b.kind == kindBool:
		hint = "; true and false have no order, use == or !="
	case a.kind == kindString && b.kind == kindBinary || b.kind == kindString && a.kind == kindBinary:
		hint = "; write bytes as b\"…\", or convert with string(…)"
	case a.kind == kindBool && n.args[0].is("not"):
		hint = "; not binds tighter than comparisons: write not (a " + n.name + " b)"
	}
	return typeErr(n, "cannot compare %s (%s) with %s (%s)%s", (&Expr{n.args[0]}).String(), typeName(a.typ), (&Expr{n.args[1]}).String(), typeName(b.typ), hint)
}

// compared makes the boolean array of a comparison: fill sets the bits, of which those of nulls are dropped.
func (c *evalCtx) compared(args []value, fill func(words []uint64)) arrow.Array {
	valid, _ := c.validity(args...)
	buf, words := c.bitmap(c.n)
	fill(words)
	if len(words) > 0 {
		trim(words, c.n)
	}
	return build(typeBool, c.n, valid, buf)
}

func flip(words []uint64) {
	for i := range words {
		words[i] = ^words[i]
	}
}

// compareReaders fills words from two readers, one row at a time through three-way order.
func compareReaders[A, B number](c *evalCtx, words []uint64, op cmpOp, a *reader[A], b *reader[B], order func(A, B) int) {
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		x, y := a.at(from, n), b.at(from, n)
		for i := range x {
			if op.holds(order(x[i], y[i])) {
				words[(from+i)>>6] |= 1 << (i & 63)
			}
		}
	}
}

// comparePairs is compareReaders for two values of one type, without a call per row.
func comparePairs[T number](c *evalCtx, words []uint64, op cmpOp, a, b *reader[T]) {
	base, invert := op&^1, op&1 != 0 // EQ, LT and LE; the odd ones are their complements
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		pairWords(words[from>>6:], a.at(from, n), b.at(from, n), base)
	}
	if invert {
		flip(words)
	}
}

func pairWords[T number](dst []uint64, x, y []T, base cmpOp) {
	y = y[:len(x)]
	switch base {
	case opEQ:
		for i := range x {
			var v uint64
			if x[i] == y[i] || (x[i] != x[i] && y[i] != y[i]) {
				v = 1
			}
			dst[i>>6] |= v << (i & 63)
		}
	case opLT:
		for i := range x {
			var v uint64
			if x[i] < y[i] || (y[i] != y[i] && x[i] == x[i]) {
				v = 1
			}
			dst[i>>6] |= v << (i & 63)
		}
	default:
		for i := range x {
			var v uint64
			if x[i] <= y[i] || y[i] != y[i] {
				v = 1
			}
			dst[i>>6] |= v << (i & 63)
		}
	}
}

var numbersImpl = &impl{lift: true, prepare: prepareNumbers, eval: evalNumbers, ref: refCompare}

func evalNumbers(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
	if p, ok := t.prep.(*constCompare); ok && !args[p.column].isConst() {
		return c.compared(args, func(w []uint64) { p.fill(c, w, args[p.column].arr) }), nil
	}
	op := t.aux.(cmpOp)
	a, b, ka, kb := args[0], args[1], t.args[0].kind, t.args[1].kind
	if ka > kb { // int < uint < float
		a, b, ka, kb, op = b, a, kb, ka, op.flipped()
	}
	return c.compared(args, func(w []uint64) {
		switch {
		case ka == kindInt && kb == kindInt:
			comparePairs(c, w, op, newReader[int64](a), newReader[int64](b))
		case ka == kindUint && kb == kindUint:
			comparePairs(c, w, op, newReader[uint64](a), newReader[uint64](b))
		case ka == kindFloat:
			comparePairs(c, w, op, newReader[float64](a), newReader[float64](b))
		case kb == kindUint:
			compareReaders(c, w, op, newReader[int64](a), newReader[uint64](b), orderIntUint)
		case ka == kindInt:
			compareReaders(c, w, op, newReader[int64](a), newReader[float64](b), orderIntFloat)
		default:
			compareReaders(c, w, op, newReader[uint64](a), newReader[float64](b), orderUintFloat)
		}
	}), nil
}

func orderIntUint(a int64, b uint64) int {
	if a < 0 {
		return -1
	}
	return cmp.Compare(uint64(a), b)
}

// orderIntFloat compares exactly: beyond 2^53 the integer is not rounded.
func orderIntFloat(a int64, b float64) int {
	switch {
	case b != b || b >= 1<<63:
		return -1
	case b < -1<<63:
		return 1
	}
	whole := math.Floor(b)
	if s := cmp.Compare(a, int64(whole)); s != 0 || whole == b {
		return s
	}
	return -1
}

func orderUintFloat(a uint64, b float64) int {
	switch {
	case b != b || b >= 1<<64:
		return -1
	case b < 0:
		return 1
	}
	whole := math.Floor(b)
	if s := cmp.Compare(a, uint64(whole)); s != 0 || whole == b {
		return s
	}
	return -1
}

// orderFloat is the total order of floats: NaN equals NaN and is above all, -0 equals 0.
func orderFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	case a != a && b != b:
		return 0
	case a != a:
		return 1
	}
	return -1
}

var textsImpl = &impl{lift: true, ref: refCompare, eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
	op := t.aux.(cmpOp)
	if args[0].isConst() && !args[1].isConst() {
		args, op = []value{args[1], args[0]}, op.flipped()
	}
	a, b := newTexts(args[0]), newTexts(args[1])
	return c.compared(args, func(w []uint64) {
		switch {
		case args[1].isConst() && !args[0].isConst() && (op == opEQ || op == opNE):
			equalConst(w, a, b.cst, c.n, mask)
		case op == opEQ || op == opNE:
			for i := range c.n {
				if bytes.Equal(a.at(i), b.at(i)) {
					w[i>>6] |= 1 << (i & 63)
				}
			}
		default:
			for i := range c.n {
				if op.holds(bytes.Compare(a.at(i), b.at(i))) {
					w[i>>6] |= 1 << (i & 63)
				}
			}
			return
		}
		if op == opNE {
			flip(w)
		}
	}), nil
}}

// equalConst compares texts with one constant.
func equalConst(dst []uint64, a *texts, s []byte, n int, mask []uint64) {
	switch {
	case a.o32 != nil && len(s) <= shortText:
		equalShort(dst, a.data, a.o32, s, mask)
	case a.o64 != nil && len(s) <= shortText:
		equalShort(dst, a.data, a.o64, s, mask)
	default:
		for i := range n {
			if bytes.Equal(a.at(i), s) {
				dst[i>>6] |= 1 << (i & 63)
			}
		}
	}
}

var boolsImpl = &impl{lift: true, ref: refCompare, eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
	a, b := c.loadTri(args[0]), c.loadTri(args[1])
	for i := range a.truth {
		known := a.known[i] & b.known[i]
		x := a.truth[i] ^ b.truth[i]
		if t.aux.(cmpOp) == opEQ {
			x = ^x
		}
		a.truth[i], a.known[i] = x&known, known
	}
	return c.boolArray(a), nil
}}

// instantsImpl compares times of any two units exactly.
var instantsImpl = &impl{lift: true, prepare: prepareInstants, ref: refCompare, eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
	if p, ok := t.prep.(*constCompare); ok && !args[p.column].isConst() {
		return c.compared(args, func(w []uint64) { p.fill(c, w, args[p.column].arr) }), nil
	}
	op := t.aux.(cmpOp)
	ta, tb := ticks(t.args[0].typ), ticks(t.args[1].typ)
	return c.compared(args, func(w []uint64) {
		a, b := newReader[int64](args[0]), newReader[int64](args[1])
		if ta == tb {
			comparePairs(c, w, op, a, b)
			return
		}
		compareReaders(c, w, op, a, b, func(x, y int64) int { return orderTicks(x, ta, y, tb) })
	}), nil
}}

// orderTicks compares x units of tx nanoseconds with y units of ty, without overflow: seconds and the rest apart.
func orderTicks(x, tx, y, ty int64) int {
	xs, xn := toSeconds(x, tx)
	ys, yn := toSeconds(y, ty)
	if s := cmp.Compare(xs, ys); s != 0 {
		return s
	}
	return cmp.Compare(xn, yn)
}

// toSeconds splits v units of t nanoseconds into whole seconds, rounded down, and nanoseconds.
func toSeconds(v, t int64) (sec, nano int64) {
	if t >= 1e9 {
		return v * (t / 1e9), 0
	}
	per := 1e9 / t
	sec = v / per
	rest := v - sec*per
	if rest < 0 {
		sec, rest = sec-1, rest+per
	}
	return sec, rest * t
}
