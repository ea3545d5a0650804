package expr

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// decimalAt reads the unscaled integer of a decimal.
func decimalAt(arr arrow.Array, i int) *big.Int {
	switch a := arr.(type) {
	case *array.Decimal32:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal64:
		return big.NewInt(int64(a.Value(i)))
	case *array.Decimal128:
		return a.Value(i).BigInt()
	case *array.Decimal256:
		return a.Value(i).BigInt()
	}
	return new(big.Int)
}

func decimalScale(t arrow.DataType) int32 {
	if d, ok := t.(arrow.DecimalType); ok {
		return d.GetScale()
	}
	return 0
}

func pow10(n int32) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// decimalRat is the exact value of an unscaled integer.
func decimalRat(v *big.Int, scale int32) *big.Rat {
	if scale < 0 {
		return new(big.Rat).SetInt(new(big.Int).Mul(v, pow10(-scale)))
	}
	return new(big.Rat).SetFrac(v, pow10(scale))
}

// numberRat is the exact value of a number. A float that literal says was written out means its digits.
func numberRat(v any, literal bool) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case uint64:
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v)), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if literal {
			r, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
			return r, ok
		}
		return new(big.Rat).SetFloat64(v), true
	case *big.Rat:
		return v, true
	}
	return nil, false
}

// orderRat orders a decimal against a number that may be NaN or infinite.
func orderRat(a *big.Rat, b any, literal bool) int {
	if r, ok := numberRat(b, literal); ok {
		return a.Cmp(r)
	}
	if f, ok := b.(float64); ok && math.IsInf(f, -1) {
		return 1
	}
	return -1 // NaN and +Inf are above
}

// decimalsImpl compares decimals with any number, exactly. It is not a hot path: values go through big integers.
var decimalsImpl = &impl{lift: true, slow: true, ref: refCompare, eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
	op := t.aux.(cmpOp)
	a, b, tb := args[0], args[1], t.args[1]
	if t.args[0].kind != kindDecimal {
		a, b, tb, op = b, a, t.args[0], op.flipped()
	}
	scale := decimalScale(a.arr.DataType())
	at, err := numberAt(b)
	if err != nil {
		return nil, err
	}
	return c.compared(args, func(w []uint64) {
		for i := range c.n {
			if mask != nil && !bit(mask, i) || a.arr.IsNull(i) || b.arr != nil && b.arr.IsNull(i) {
				continue
			}
			if op.holds(orderRat(decimalRat(decimalAt(a.arr, i), scale), at(i), tb.isLiteral())) {
				w[i>>6] |= 1 << (i & 63)
			}
		}
	}), nil
}}

// numberAt reads a numeric value row by row.
func numberAt(v value) (func(i int) any, error) {
	if v.isConst() {
		return func(int) any { return v.cst }, nil
	}
	switch kindOf(v.arr.DataType()) {
	case kindDecimal:
		scale := decimalScale(v.arr.DataType())
		return func(i int) any { return decimalRat(decimalAt(v.arr, i), scale) }, nil
	case kindUint:
		s := raw[uint64](v.arr)
		return func(i int) any { return s[i] }, nil
	case kindFloat:
		r := newReader[float64](v)
		return func(i int) any { return r.at(i, 1)[0] }, nil
	case kindInt:
		r := newReader[int64](v)
		return func(i int) any { return r.at(i, 1)[0] }, nil
	}
	return nil, fmt.Errorf("%s is not a number", v.arr.DataType())
}
