package expr

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
)

// constCompare is a comparison of a column with a constant, brought into the column's own type once, so that the loop
// runs on native values: x > 0.5 over int8 becomes x > 0. Where no value can decide, always says the result.
type constCompare struct {
	column int // which argument is the column
	op     cmpOp
	always int8 // 1: true for every row, -1: false, 0: compare
	i      int64
	u      uint64
	f      float64
	isNaN  bool
}

// bounds of the column types that integer comparisons run on.
func intBounds(t arrow.DataType) (lo, hi *big.Int) {
	b := func(v int64) *big.Int { return big.NewInt(v) }
	switch t.ID() {
	case arrow.INT8:
		return b(math.MinInt8), b(math.MaxInt8)
	case arrow.INT16:
		return b(math.MinInt16), b(math.MaxInt16)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return b(math.MinInt32), b(math.MaxInt32)
	case arrow.UINT8:
		return b(0), b(math.MaxUint8)
	case arrow.UINT16:
		return b(0), b(math.MaxUint16)
	case arrow.UINT32:
		return b(0), b(math.MaxUint32)
	case arrow.UINT64:
		return b(0), new(big.Int).SetUint64(math.MaxUint64)
	}
	return b(math.MinInt64), b(math.MaxInt64)
}

func prepareNumbers(t *tnode) {
	column, cst, op, ok := constSide(t)
	if !ok {
		return
	}
	p := &constCompare{column: column, op: op}
	if f, isFloat := cst.lit.(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) && t.args[column].kind != kindFloat {
		p.beyond(f < 0)
		t.prep = p
		return
	}
	if t.args[column].kind == kindFloat {
		p.float(cst.lit)
	} else {
		floor, exact := floorOf(cst.lit)
		p.integer(floor, exact, t.args[column].typ)
	}
	t.prep = p
}

// prepareInstants brings a constant time into the unit of the column.
func prepareInstants(t *tnode) {
	column, cst, op, ok := constSide(t)
	if !ok {
		return
	}
	unit := big.NewInt(ticks(t.args[column].typ))
	v := new(big.Int).Mul(big.NewInt(cst.lit.(int64)), big.NewInt(ticks(cst.typ)))
	floor, rest := new(big.Int).DivMod(v, unit, new(big.Int)) // Euclidean: rounds down for positive units
	p := &constCompare{column: column, op: op}
	p.integer(floor, rest.Sign() == 0, t.args[column].typ)
	t.prep = p
}

// constSide finds the constant of a comparison and turns op so that the column is on the left.
func constSide(t *tnode) (column int, cst *tnode, op cmpOp, ok bool) {
	op, _ = t.aux.(cmpOp)
	a, b := t.args[0], t.args[1]
	switch {
	case a.isLiteral() == b.isLiteral():
		return 0, nil, op, false
	case b.isLiteral():
		return 0, b, op, b.lit != nil
	}
	return 1, a, op.flipped(), a.lit != nil
}

func floorOf(v any) (floor *big.Int, exact bool) {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), true
	case uint64:
		return new(big.Int).SetUint64(v), true
	}
	f := math.Floor(v.(float64))
	floor, _ = new(big.Float).SetFloat64(f).Int(nil)
	return floor, f == v.(float64)
}

// beyond settles a comparison with a constant that is above (or below) every value of the column.
func (p *constCompare) beyond(below bool) {
	p.always = -1
	switch {
	case p.op == opNE:
		p.always = 1
	case p.op == opEQ:
	case (p.op == opLT || p.op == opLE) != below:
		p.always = 1
	}
}

// between replaces a constant that lies between the column's values v and the next by v.
func (p *constCompare) between() {
	switch p.op {
	case opEQ:
		p.always = -1
	case opNE:
		p.always = 1
	case opLT:
		p.op = opLE
	case opGE:
		p.op = opGT
	}
}

func (p *constCompare) integer(floor *big.Int, exact bool, typ arrow.DataType) {
	lo, hi := intBounds(typ)
	switch {
	case floor.Cmp(lo) < 0:
		p.beyond(true)
		return
	case floor.Cmp(hi) > 0:
		p.beyond(false)
		return
	case !exact:
		p.between()
	}
	if floor.IsInt64() {
		p.i = floor.Int64()
	}
	p.u = floor.Uint64()
}

func (p *constCompare) float(v any) {
	var exact *big.Float
	switch v := v.(type) {
	case float64:
		p.f, p.isNaN = v, math.IsNaN(v)
		return
	case int64:
		exact = new(big.Float).SetInt64(v)
	case uint64:
		exact = new(big.Float).SetUint64(v)
	}
	f, acc := exact.Float64()
	if acc == big.Above {
		f = math.Nextafter(f, math.Inf(-1))
	}
	p.f = f
	if acc != big.Exact {
		p.between()
	}
}

// fill sets the bits of the rows of arr for which the comparison holds.
func (p *constCompare) fill(c *evalCtx, w []uint64, arr arrow.Array) {
	if p.always != 0 {
		if p.always > 0 {
			fillOnes(w, c.n)
		}
		return
	}
	switch arr.DataType().ID() {
	case arrow.INT8:
		constWords(w, raw[int8](arr), p.op, int8(p.i))
	case arrow.INT16:
		constWords(w, raw[int16](arr), p.op, int16(p.i))
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		constWords(w, raw[int32](arr), p.op, int32(p.i))
	case arrow.UINT8:
		constWords(w, raw[uint8](arr), p.op, uint8(p.i))
	case arrow.UINT16:
		constWords(w, raw[uint16](arr), p.op, uint16(p.i))
	case arrow.UINT32:
		constWords(w, raw[uint32](arr), p.op, uint32(p.i))
	case arrow.UINT64:
		constWords(w, raw[uint64](arr), p.op, p.u)
	case arrow.FLOAT64:
		p.fillFloats(w, raw[float64](arr))
	case arrow.FLOAT32, arrow.FLOAT16:
		r := newReader[float64](value{arr: arr})
		for from := 0; from < c.n; from += chunk {
			p.fillFloats(w[from>>6:], r.at(from, min(chunk, c.n-from)))
		}
	default:
		constWords(w, raw[int64](arr), p.op, p.i)
	}
}

func (p *constCompare) fillFloats(w []uint64, v []float64) {
	if !p.isNaN {
		constWords(w, v, p.op, p.f)
		return
	}
	for i, x := range v { // NaN equals NaN and is above every number
		if p.op.holds(orderFloat(x, math.NaN())) {
			w[i>>6] |= 1 << (i & 63)
		}
	}
}

// constWords writes the result of v op k as bits, 64 rows to a word. k is not NaN; then EQ, LT and LE are the plain
// ones, and their complements put NaN above every number.
func constWords[T number](dst []uint64, v []T, op cmpOp, k T) {
	for w := 0; w<<6 < len(v); w++ {
		b := v[w<<6 : min(len(v), w<<6+64)]
		var x uint64
		switch op &^ 1 {
		case opEQ:
			x = wordEQ(b, k)
		case opLT:
			x = wordLT(b, k)
		default:
			x = wordLE(b, k)
		}
		if op&1 != 0 {
			x = ^x
		}
		dst[w] = x
	}
	if len(v) > 0 {
		trim(dst[:(len(v)+63)>>6], len(v))
	}
}

// The word loops shift each result in from the top, which compiles to a comparison, a set and two shifts per row.
func wordEQ[T number](v []T, k T) uint64 {
	var x uint64
	for _, e := range v {
		var b uint64
		if e == k {
			b = 1
		}
		x = x>>1 | b<<63
	}
	return x >> ((64 - len(v)) & 63)
}

func wordLT[T number](v []T, k T) uint64 {
	var x uint64
	for _, e := range v {
		var b uint64
		if e < k {
			b = 1
		}
		x = x>>1 | b<<63
	}
	return x >> ((64 - len(v)) & 63)
}

func wordLE[T number](v []T, k T) uint64 {
	var x uint64
	for _, e := range v {
		var b uint64
		if e <= k {
			b = 1
		}
		x = x>>1 | b<<63
	}
	return x >> ((64 - len(v)) & 63)
}
