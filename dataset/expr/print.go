package expr

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/expr-lang/expr/parser/utils"
)

// Binding strengths for printing. They follow the parser's, except that ?? and not are printed as if they bound
// weakly, because the parser refuses ?? beside other operators and binds not tighter than comparisons.
const (
	bindCond     = 0
	bindCoalesce = 5
	bindOr       = 10
	bindAnd      = 15
	bindNot      = 16
	bindCompare  = 20
	bindSum      = 30
	bindProduct  = 60
	bindNeg      = 90
	bindPower    = 100
	bindPrimary  = 1000
)

var binaryBind = map[string]int{
	"or": bindOr, "and": bindAnd,
	"==": bindCompare, "!=": bindCompare, "<": bindCompare, "<=": bindCompare, ">": bindCompare, ">=": bindCompare, "in": bindCompare,
	"+": bindSum, "-": bindSum, "*": bindProduct, "/": bindProduct, "%": bindProduct, "**": bindPower, "??": bindCoalesce,
}

// reserved words cannot be written as bare columns.
var reserved = map[string]bool{
	"true": true, "false": true, "nil": true, "not": true, "in": true, "or": true, "and": true,
	"matches": true, "contains": true, "startsWith": true, "endsWith": true, "let": true,
}

// String returns the canonical form: stable, and it parses to the same tree.
func (e *Expr) String() string {
	var b strings.Builder
	e.root.print(&b)
	return b.String()
}

func (n *node) bind() int {
	switch n.kind {
	case nodeLiteral:
		switch v := n.lit.(type) {
		case int64:
			if v < 0 {
				return bindNeg
			}
		case float64:
			if v < 0 || (v == 0 && strconv.FormatFloat(v, 'g', -1, 64)[0] == '-') {
				return bindNeg
			}
		}
		return bindPrimary
	case nodeCall:
		if bind, ok := binaryBind[n.name]; ok {
			return bind
		}
		switch n.name {
		case opCond:
			return bindCond
		case "not":
			return bindNot
		case opNeg:
			return bindNeg
		}
	}
	return bindPrimary
}

// operand prints n, in parentheses where it binds weaker than least.
func (n *node) operand(b *strings.Builder, least int) {
	if n.bind() >= least {
		n.print(b)
		return
	}
	b.WriteByte('(')
	n.print(b)
	b.WriteByte(')')
}

func (n *node) print(b *strings.Builder) {
	switch n.kind {
	case nodeLiteral:
		printLiteral(b, n.lit)
	case nodeColumn:
		printColumn(b, n.name)
	case nodeField:
		n.args[0].operand(b, bindPrimary)
		if utils.IsValidIdentifier(n.name) {
			b.WriteByte('.')
			b.WriteString(n.name)
			return
		}
		b.WriteByte('[')
		b.WriteString(strconv.Quote(n.name))
		b.WriteByte(']')
	default:
		n.printCall(b)
	}
}

func (n *node) printCall(b *strings.Builder) {
	switch n.name {
	case "and", "or":
		for i, a := range n.args {
			if i > 0 {
				b.WriteString(" " + n.name + " ")
			}
			a.operand(b, binaryBind[n.name]+1)
		}
	case "not":
		b.WriteString("not ")
		n.args[0].operand(b, bindPrimary)
	case opNeg:
		b.WriteByte('-')
		if n.args[0].kind == nodeLiteral { // -(5) is a call, -5 a literal: only an overflow keeps this form
			b.WriteByte('(')
			n.args[0].print(b)
			b.WriteByte(')')
			return
		}
		n.args[0].operand(b, bindPrimary)
	case opCond:
		n.args[0].operand(b, bindPrimary)
		b.WriteString(" ? ")
		n.args[1].operand(b, bindCond+1)
		b.WriteString(" : ")
		n.args[2].operand(b, bindCond)
	case opIndex:
		n.args[0].operand(b, bindPrimary)
		b.WriteByte('[')
		n.args[1].print(b)
		b.WriteByte(']')
	case opList:
		b.WriteByte('[')
		n.printArgs(b)
		b.WriteByte(']')
	case "??":
		n.args[0].operand(b, bindPrimary)
		b.WriteString(" ?? ")
		n.args[1].operand(b, bindPrimary)
	default:
		bind, infix := binaryBind[n.name]
		if !infix {
			b.WriteString(n.name)
			b.WriteByte('(')
			n.printArgs(b)
			b.WriteByte(')')
			return
		}
		left, right := bind, bind+1
		if bind == bindCompare || bind == bindPower {
			left = bind + 1 // comparisons chain in the parser, powers associate to the right
		}
		n.args[0].operand(b, left)
		b.WriteString(" " + n.name + " ")
		n.args[1].operand(b, right)
	}
}

func (n *node) printArgs(b *strings.Builder) {
	for i, a := range n.args {
		if i > 0 {
			b.WriteString(", ")
		}
		a.print(b)
	}
}

func printColumn(b *strings.Builder, name string) {
	if utils.IsValidIdentifier(name) && !reserved[name] {
		b.WriteString(name)
		return
	}
	b.WriteString("col(")
	b.WriteString(quote(name))
	b.WriteByte(')')
}

func printLiteral(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("nil")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case uint64:
		b.WriteString(strconv.FormatUint(v, 10))
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		b.WriteString(s)
		if !strings.ContainsAny(s, ".e") {
			b.WriteString(".0")
		}
	case string:
		b.WriteString(quote(v))
	case []byte:
		b.WriteString(`b"`)
		const hex = "0123456789abcdef"
		for _, c := range v {
			if c < unicode.MaxASCII && c >= ' ' && c != '"' && c != '\\' {
				b.WriteByte(c)
				continue
			}
			b.WriteString(`\x`)
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
		b.WriteByte('"')
	}
}

// quote writes a string so that the parser reads it back: it shares Go's escapes.
func quote(s string) string { return strconv.Quote(s) }
