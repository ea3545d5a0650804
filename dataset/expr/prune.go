package expr

import (
	"bytes"
	"math"
	"math/big"
	"strings"
	"time"
)

// ColumnStats is what is known of one column of a row group or file. Min and Max bound the values that are not null:
// int64, uint64, float64, *big.Rat for decimals, string, []byte, bool, or time.Time for timestamps and dates; nil if unknown. Bounds may be
// wider than the values (truncated strings), never narrower, except that NaN may lie above Max unless NoNaN says that
// there is none: formats such as Parquet leave NaN out of their statistics.
type ColumnStats struct {
	Min, Max        any
	NullCount, Rows int64 // -1 unknown
	NoNaN           bool
	// MayHave tells whether a value may be among them, where something is known beyond the bounds (a Bloom filter); nil where not.
	MayHave func(v any) bool
}

// outcome is what a condition can be over the rows that the statistics describe.
type outcome struct{ yes, no bool }

var anything = outcome{true, true}

// MayMatch reports false only if no row with these statistics can satisfy e; what it does not understand may match.
// stats returns false for columns without statistics. It is asked for root columns only.
func (e *Expr) MayMatch(stats func(column string) (ColumnStats, bool)) bool {
	return prune(e.root, stats).yes
}

func prune(n *node, stats func(string) (ColumnStats, bool)) outcome {
	switch n.kind {
	case nodeLiteral:
		b, ok := n.lit.(bool)
		switch {
		case ok:
			return outcome{b, !b}
		case n.lit == nil:
			return outcome{}
		}
		return anything
	case nodeColumn:
		return pruneCompare(opEQ, n, true, stats)
	case nodeField:
		return anything
	}
	switch n.name {
	case "and", "or":
		return pruneLogic(n, stats)
	case "not":
		o := prune(n.args[0], stats)
		return outcome{o.no, o.yes}
	case opCond:
		a, b := prune(n.args[1], stats), prune(n.args[2], stats)
		return outcome{a.yes || b.yes, a.no || b.no}
	case "in":
		return pruneIn(n, stats)
	case "starts_with":
		return prunePrefix(n, stats)
	}
	if op, ok := cmpOps[n.name]; ok {
		a, b := n.args[0], n.args[1]
		if a.kind != nodeColumn {
			a, b, op = b, a, op.flipped()
		}
		if b.isNil() && a.kind == nodeColumn {
			return pruneNil(op, a, stats)
		}
		if v, ok := constant(b); ok && a.kind == nodeColumn {
			return pruneCompare(op, a, v, stats)
		}
	}
	return anything
}

func pruneLogic(n *node, stats func(string) (ColumnStats, bool)) outcome {
	out := outcome{yes: n.name == "and", no: n.name == "or"}
	for _, a := range n.args {
		o := prune(a, stats)
		if n.name == "and" {
			out = outcome{out.yes && o.yes, out.no || o.no}
		} else {
			out = outcome{out.yes || o.yes, out.no && o.no}
		}
	}
	return out
}

// constant reads a literal or a literal time.
func constant(n *node) (any, bool) {
	if n.kind == nodeLiteral {
		return n.lit, n.lit != nil
	}
	if n.kind != nodeCall || len(n.args) != 1 || n.name != "timestamp" && n.name != "date" {
		return nil, false
	}
	s, ok := n.args[0].lit.(string)
	if !ok {
		return nil, false
	}
	if n.name == "date" {
		days, err := parseDate(s)
		return time.Unix(days*86400, 0).UTC(), err == nil
	}
	at, _, err := parseTime(s)
	return at, err == nil
}

func pruneNil(op cmpOp, column *node, stats func(string) (ColumnStats, bool)) outcome {
	s, ok := stats(column.name)
	if !ok || s.NullCount < 0 || op != opEQ && op != opNE {
		return anything
	}
	o := outcome{yes: s.NullCount > 0, no: s.Rows < 0 || s.NullCount < s.Rows}
	if op == opNE {
		return outcome{o.no, o.yes}
	}
	return o
}

// pruneCompare decides column op v over the bounds of the column.
func pruneCompare(op cmpOp, column *node, v any, stats func(string) (ColumnStats, bool)) outcome {
	s, ok := stats(column.name)
	if !ok {
		return anything
	}
	if s.Rows == 0 || s.Rows > 0 && s.NullCount == s.Rows {
		return outcome{} // a comparison with null is neither true nor false
	}
	if s.MayHave != nil && (op == opEQ || op == opNE) && !s.MayHave(v) {
		return outcome{op == opNE, op == opEQ}
	}
	low, okLow := orderStats(s.Min, v)
	high, okHigh := orderStats(s.Max, v)
	nan := false
	if okHigh && isFloat(s.Max) && !s.NoNaN {
		f, ok := v.(float64) // NaN above Max: above v too, unless v is NaN itself, which is then reachable
		high, nan = 1, true
		if ok && math.IsNaN(f) {
			high = 0
		}
	}
	if !okLow || !okHigh || !nan && boundsCross(s) {
		return anything
	}
	// The values lie from low to high around v.
	less, more := low < 0, high > 0
	equal := low <= 0 && high >= 0
	if nan { // values up to Max, and perhaps NaN: v between Max and NaN is not reached
		if real, ok := orderStats(s.Max, v); ok && real < 0 && high > 0 {
			equal = false
		}
	}
	onlyEqual := low == 0 && high == 0
	switch op {
	case opEQ:
		return outcome{equal, !onlyEqual}
	case opNE:
		return outcome{!onlyEqual, equal}
	case opLT:
		return outcome{less, more || equal}
	case opGE:
		return outcome{more || equal, less}
	case opLE:
		return outcome{less || equal, more}
	}
	return outcome{more, less || equal}
}

func isFloat(v any) bool { _, ok := v.(float64); return ok }

// boundsCross reports statistics that cannot be right.
func boundsCross(s ColumnStats) bool {
	o, ok := orderStats(s.Min, s.Max)
	return !ok || o > 0
}

// orderStats orders two statistics or constants, if they are of kinds that compare.
func orderStats(a, b any) (int, bool) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), true
		}
		if y, ok := b.([]byte); ok {
			return strings.Compare(x, string(y)), true
		}
		return 0, false
	case []byte:
		switch y := b.(type) {
		case string:
			return bytes.Compare(x, []byte(y)), true
		case []byte:
			return bytes.Compare(x, y), true
		}
		return 0, false
	case bool:
		y, ok := b.(bool)
		switch {
		case x == y:
			return 0, ok
		case y:
			return -1, ok
		}
		return 1, ok
	case time.Time:
		y, ok := b.(time.Time)
		return x.Compare(y), ok
	case *big.Rat:
		if _, ok := b.(*big.Rat); !ok && !isNumber(b) {
			return 0, false
		}
		return orderRat(x, b, true), true
	case float64:
		if math.IsNaN(x) { // a NaN in statistics says nothing
			return 0, false
		}
	}
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	return orderAny(a, b), true
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, uint64, float64:
		return true
	}
	return false
}

// pruneIn is the or of comparisons with the members. Whether it can be false is not worked out.
func pruneIn(n *node, stats func(string) (ColumnStats, bool)) outcome {
	if n.args[0].kind != nodeColumn || !n.args[1].is(opList) {
		return anything
	}
	for _, item := range n.args[1].args {
		if item.isNil() {
			continue
		}
		v, ok := constant(item)
		if !ok || pruneCompare(opEQ, n.args[0], v, stats).yes {
			return anything
		}
	}
	return outcome{yes: false, no: true}
}

// prunePrefix: texts with a prefix lie between it and the next text that is not one.
func prunePrefix(n *node, stats func(string) (ColumnStats, bool)) outcome {
	prefix, ok := n.args[1].lit.(string)
	if !ok || n.args[0].kind != nodeColumn || prefix == "" {
		return anything
	}
	if !pruneCompare(opGE, n.args[0], prefix, stats).yes {
		return outcome{yes: false, no: true}
	}
	next := []byte(prefix)
	for len(next) > 0 && next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	if len(next) > 0 {
		next[len(next)-1]++
		if !pruneCompare(opLT, n.args[0], string(next), stats).yes {
			return outcome{yes: false, no: true}
		}
	}
	return anything
}
