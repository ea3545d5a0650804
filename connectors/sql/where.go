package sql

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset/expr"
)

// maxParams bounds the parameters of a pushed condition; databases have limits of their own.
const maxParams = 500

// condition translates a plan's condition, or as much of it as the database evaluates as we do. The result is true of every row that the
// condition keeps; the plan evaluates the condition on what is read all the same.
func condition(d dialect, cols []column, e *expr.Expr) (where string, args []any) {
	tr := translator{dialect: d, cols: cols}
	var parts []string
	for _, c := range e.Conjuncts() {
		before := len(tr.args)
		if sql, ok := tr.term(c.Term()); ok && len(tr.args) <= maxParams {
			parts = append(parts, sql)
		} else {
			tr.args = tr.args[:before]
		}
	}
	return strings.Join(parts, " AND "), tr.args
}

type translator struct {
	dialect
	cols []column
	args []any
}

var comparisons = map[string]string{"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

var flipped = map[string]string{"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// term translates exactly (true, false and null as expressions say), or not at all.
func (tr *translator) term(t expr.Term) (string, bool) {
	switch {
	case t.Column != "":
		c, ok := tr.column(t)
		if !ok || c.kind != kindBool {
			return "", false
		}
		return c.expr, true
	case t.Call == "and" || t.Call == "or":
		parts := make([]string, len(t.Args))
		for i, a := range t.Args {
			sql, ok := tr.term(a)
			if !ok {
				return "", false
			}
			parts[i] = sql
		}
		return "(" + strings.Join(parts, " "+strings.ToUpper(t.Call)+" ") + ")", true
	case t.Call == "not":
		sql, ok := tr.term(t.Args[0])
		return "NOT (" + sql + ")", ok
	case t.Call == "in":
		return tr.in(t)
	case comparisons[t.Call] != "":
		return tr.compare(t)
	}
	return "", false
}

func (tr *translator) column(t expr.Term) (column, bool) {
	i := slices.IndexFunc(tr.cols, func(c column) bool { return c.name == t.Column })
	if t.Column == "" || i < 0 || tr.cols[i].kind == kindOther {
		return column{}, false
	}
	return tr.cols[i], true
}

func isValue(t expr.Term) bool { return t.Call == "" && t.Column == "" }

func (tr *translator) compare(t expr.Term) (string, bool) {
	a, b, op := t.Args[0], t.Args[1], t.Call
	if a.Column == "" {
		a, b, op = b, a, flipped[op]
	}
	c, ok := tr.column(a)
	if !ok || !isValue(b) {
		return "", false
	}
	if b.Value == nil {
		switch op {
		case "==":
			return c.expr + " IS NULL", true
		case "!=":
			return c.expr + " IS NOT NULL", true
		}
		return "", false
	}
	return tr.comparison(c, op, b.Value)
}

func (tr *translator) comparison(c column, op string, v any) (string, bool) {
	p, ok := tr.param1(c, v)
	if !ok {
		return "", false
	}
	return tr.operand(c) + " " + comparisons[op] + " " + p, true
}

// operand is the column as it stands in a comparison.
func (tr *translator) operand(c column) string {
	if c.kind == kindText {
		return c.expr + tr.binary()
	}
	return c.expr
}

// param1 adds a parameter and returns its placeholder.
func (tr *translator) param1(c column, v any) (string, bool) {
	if !comparable(v, c.kind) {
		return "", false
	}
	arg, ok := tr.value(v, c.kind)
	if !ok {
		return "", false
	}
	tr.args = append(tr.args, arg)
	return tr.param(len(tr.args), c.kind), true
}

// in: a list that holds nil is true or null, never false, so it is exact only without one.
func (tr *translator) in(t expr.Term) (string, bool) {
	c, ok := tr.column(t.Args[0])
	if !ok || t.Args[1].Call != expr.ListCall || len(t.Args[1].Args) == 0 {
		return "", false
	}
	var marks []string
	for _, item := range t.Args[1].Args {
		if !isValue(item) || item.Value == nil {
			return "", false
		}
		p, ok := tr.param1(c, item.Value)
		if !ok {
			return "", false
		}
		marks = append(marks, p)
	}
	return tr.operand(c) + " IN (" + strings.Join(marks, ", ") + ")", true
}

// comparable tells whether databases compare a literal with a column of that kind without rounding either.
func comparable(v any, k kind) bool {
	const exact = 1 << 53
	switch v := v.(type) {
	case int64:
		return k == kindInt || k == kindDecimal || k == kindFloat && v >= -exact && v <= exact
	case float64:
		return k == kindFloat && !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		return k == kindText && !strings.ContainsRune(v, 0) && strings.ToValidUTF8(v, "") == v
	case bool:
		return k == kindBool
	}
	return k == kindDate || k == kindTime || k == kindInstant // times: the dialect knows
}
