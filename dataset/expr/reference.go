package expr

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// instant is a temporal value in Reference's results.
type instant struct {
	v   int64
	typ arrow.DataType
}

func (i instant) String() string { return fmt.Sprintf("%d %s", i.v, i.typ) }

// Reference evaluates e for one row of rec, slowly and obviously: the oracle of the tests. The result is nil, bool, int64,
// uint64, float64, string, []byte, *big.Rat (decimals), a temporal value, or []any (lists and structs).
// A *TypeError says that e does not fit the schema, any other error that the row fails.
func Reference(e *Expr, schema *arrow.Schema, rec arrow.RecordBatch, row int) (any, error) {
	t, cols, err := checkColumns(e, schema)
	if err != nil {
		return nil, err
	}
	return refEval(t, func(col int) any {
		arr := rec.Column(cols[col])
		return refValue(arr, row)
	})
}

func refEval(t *tnode, column func(int) any) (any, error) {
	switch t.form {
	case formLiteral:
		return boxed(t.lit, t.typ), nil
	case formColumn:
		return column(t.col), nil
	case formAnd, formOr:
		return refLogic(t, column)
	case formCond:
		c, err := refEval(t.args[0], column)
		if err != nil {
			return nil, err
		}
		if c == true {
			return refEval(t.args[1], column)
		}
		return refEval(t.args[2], column)
	case formCoalesce:
		a, err := refEval(t.args[0], column)
		if a != nil || err != nil {
			return a, err
		}
		return refEval(t.args[1], column)
	}
	args := make([]any, len(t.args))
	null := false
	for i, a := range t.args {
		v, err := refEval(a, column)
		if err != nil {
			return nil, err
		}
		args[i] = v
		null = null || v == nil
	}
	switch {
	case t.form == formIsNil:
		return (args[0] == nil) != t.negate, nil
	case t.form == formNull || null:
		return nil, nil
	case t.form == formField:
		return args[0].([]any)[t.col], nil
	}
	return t.impl.ref(t, args)
}

// refLogic is three-valued and/or, left to right, until the result is known.
func refLogic(t *tnode, column func(int) any) (any, error) {
	decides := t.form == formOr
	var out any = !decides
	for _, a := range t.args {
		v, err := refEval(a, column)
		switch {
		case err != nil:
			return nil, err
		case v == decides:
			return decides, nil
		case v == nil:
			out = nil
		}
	}
	return out, nil
}

// boxed makes a constant a reference value.
func boxed(v any, typ arrow.DataType) any {
	if n, ok := v.(int64); ok {
		switch kindOf(typ) {
		case kindTimestamp, kindDate, kindDuration, kindTime:
			return instant{n, typ}
		}
	}
	return v
}

// refValue reads one row of any array.
func refValue(arr arrow.Array, i int) any {
	if arr.IsNull(i) {
		return nil
	}
	switch a := arr.(type) {
	case *array.Dictionary:
		return refValue(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return refValue(a.Storage(), i)
	case *array.Struct:
		out := make([]any, a.NumField())
		for k := range out {
			out[k] = refValue(a.Field(k), i)
		}
		return out
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for k := from; k < to; k++ {
			out = append(out, refValue(a.ListValues(), int(k)))
		}
		return out
	}
	if kindOf(arr.DataType()) == kindDecimal {
		return decimalRat(decimalAt(arr, i), decimalScale(arr.DataType()))
	}
	v, ok := constOf(arr, i)
	if !ok {
		return arr.ValueStr(i)
	}
	return boxed(v, arr.DataType())
}

func refCompare(t *tnode, args []any) (any, error) {
	s := orderAnyLiteral(args[0], args[1], t.args[0].isLiteral() || t.args[1].isLiteral())
	switch t.name {
	case "==", "in":
		return s == 0, nil
	case "!=":
		return s != 0, nil
	case "<":
		return s < 0, nil
	case "<=":
		return s <= 0, nil
	case ">":
		return s > 0, nil
	}
	return s >= 0, nil
}

func orderAny(a, b any) int { return orderAnyLiteral(a, b, false) }

// orderAnyLiteral orders two values of kinds that compare. Numbers go through exact rationals; literal says that a
// float beside a decimal was written out.
func orderAnyLiteral(a, b any, literal bool) int {
	switch x := a.(type) {
	case string:
		return strings.Compare(x, b.(string))
	case []byte:
		return bytes.Compare(x, b.([]byte))
	case bool:
		if x == b.(bool) {
			return 0
		}
		return 1
	case instant:
		y := b.(instant)
		nanos := func(i instant) *big.Int { return new(big.Int).Mul(big.NewInt(i.v), big.NewInt(ticks(i.typ))) }
		return nanos(x).Cmp(nanos(y))
	}
	_, ra := a.(*big.Rat)
	_, rb := b.(*big.Rat)
	x, okA := numberRat(a, literal && rb)
	y, okB := numberRat(b, literal && ra)
	if okA && okB {
		return x.Cmp(y)
	}
	return cmp.Compare(special(a), special(b))
}

// special places infinities and NaN around all finite numbers.
func special(v any) int {
	f, ok := v.(float64)
	switch {
	case ok && math.IsNaN(f):
		return 2
	case ok && math.IsInf(f, 1):
		return 1
	case ok && math.IsInf(f, -1):
		return -1
	}
	return 0
}

func refArithmetic(t *tnode, args []any) (any, error) {
	op := t.aux.(string)
	if t.kind == kindFloat {
		x, y := floatOf(args[0]), floatOf(args[1])
		switch op {
		case "+":
			return x + y, nil
		case "-":
			return x - y, nil
		case "*":
			return x * y, nil
		}
		if y == 0 {
			return nil, nil
		}
		if op == "/" {
			return x / y, nil
		}
		return math.Mod(x, y), nil
	}
	x, _ := wholeOf(args[0])
	y, _ := wholeOf(args[1])
	r := new(big.Int)
	switch op {
	case "+":
		r.Add(x, y)
	case "-":
		r.Sub(x, y)
	case "*":
		r.Mul(x, y)
	default:
		if y.Sign() == 0 {
			return nil, nil
		}
		r.Rem(x, y)
	}
	switch {
	case t.kind == kindUint && r.IsUint64():
		return r.Uint64(), nil
	case t.kind == kindInt && r.IsInt64():
		return r.Int64(), nil
	}
	return nil, overflow(op, args[0], args[1], t.typ)
}

// refSet compares with every member in turn, as `x == a or x == b` does.
func refSet(t *tnode, args []any) (any, error) {
	null := false
	for _, m := range t.aux.(*set).all {
		switch {
		case m == nil:
			null = true
		case orderAny(args[0], m) == 0:
			return true, nil
		}
	}
	if null {
		return nil, nil
	}
	return false, nil
}

func refTimeAdd(t *tnode, args []any) (any, error) {
	unit := big.NewInt(ticks(t.typ))
	scaled := func(v any) *big.Int {
		i := v.(instant)
		n := new(big.Int).Mul(big.NewInt(i.v), big.NewInt(ticks(i.typ)))
		return n.Quo(n, unit)
	}
	x, y := scaled(args[0]), scaled(args[1])
	r := new(big.Int).Add(x, y)
	if t.aux.(string) == "-" {
		r.Sub(x, y)
	}
	if !x.IsInt64() || !y.IsInt64() || !r.IsInt64() {
		return nil, fmt.Errorf("%s overflows", t.typ)
	}
	return instant{r.Int64(), t.typ}, nil
}

// floorUnits expresses an instant in units of tick nanoseconds, rounded down.
func floorUnits(i instant, tick int64) *big.Int {
	n := new(big.Int).Mul(big.NewInt(i.v), big.NewInt(ticks(i.typ)))
	return n.Div(n, big.NewInt(tick)) // Euclidean, so down for a positive divisor
}

// refTime is an instant on its wall clock, when time.Time can hold it.
func refTime(i instant, loc *time.Location) (time.Time, bool) {
	sec := floorUnits(i, 1e9)
	if !sec.IsInt64() || sec.Int64() > farSeconds || sec.Int64() < -farSeconds {
		return time.Time{}, false
	}
	return time.Unix(sec.Int64(), 0).In(loc), true
}

func refPart(name string, part func(days, secs int64) int64, i instant, loc *time.Location) any {
	at, ok := refTime(i, loc)
	if !ok { // far beyond the calendar of package time
		local := newZone(loc).local(floorUnits(i, 1e9).Int64())
		days := floorDiv(local, 86400)
		return part(days, local-days*86400)
	}
	switch name {
	case "year":
		return int64(at.Year())
	case "month":
		return int64(at.Month())
	case "day":
		return int64(at.Day())
	case "weekday":
		return int64((at.Weekday()+6)%7 + 1)
	case "hour":
		return int64(at.Hour())
	case "minute":
		return int64(at.Minute())
	}
	return int64(at.Second())
}

func refTrunc(t *tnode, args []any) (any, error) {
	i, tr := args[0].(instant), t.aux.(truncation)
	sec := floorUnits(i, 1e9).Int64()
	start := truncate(tr.unit, newZone(tr.loc), sec)
	if at, ok := refTime(i, tr.loc); ok {
		y, m, d := at.Date()
		switch tr.unit {
		case "second":
		case "minute":
			at = at.Add(-time.Duration(at.Second()) * time.Second)
		case "hour":
			at = at.Add(-time.Duration(at.Minute()*60+at.Second()) * time.Second)
		case "day":
			at = time.Date(y, m, d, 0, 0, 0, 0, tr.loc)
		case "week":
			at = time.Date(y, m, d-int(at.Weekday()+6)%7, 0, 0, 0, 0, tr.loc)
		case "month":
			at = time.Date(y, m, 1, 0, 0, 0, 0, tr.loc)
		case "quarter":
			at = time.Date(y, (m-1)/3*3+1, 1, 0, 0, 0, 0, tr.loc)
		default:
			at = time.Date(y, 1, 1, 0, 0, 0, 0, tr.loc)
		}
		start = at.Unix()
	}
	out := floorUnits(instant{start, &arrow.TimestampType{Unit: arrow.Second}}, ticks(t.typ))
	if !out.IsInt64() || start > sec || t.typ.ID() == arrow.DATE32 && out.Int64() != int64(int32(out.Int64())) {
		return nil, fmt.Errorf("the start of the %s is out of range", tr.unit)
	}
	return instant{out.Int64(), t.typ}, nil
}
