package expr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/parser/lexer"
)

// plainCalls overrides every builtin of expr-lang, so that its parser reads all calls alike and leaves their
// meaning to us.
var plainCalls = func() conf.FunctionsTable {
	t := conf.FunctionsTable{}
	for name := range builtin.Index {
		t[name] = nil
	}
	return t
}()

// Parse parses src with expr-lang's parser into our tree. Errors are *SyntaxError. Source texts are limited to
// 64 KiB and 200 levels of nesting.
func Parse(src string) (*Expr, error) {
	if len(src) > maxSource {
		return nil, &SyntaxError{Msg: fmt.Sprintf("the expression has %d bytes, the limit is %d; split it over several steps", len(src), maxSource)}
	}
	if strings.TrimSpace(src) == "" {
		return nil, &SyntaxError{Msg: "the expression is empty"}
	}
	if !utf8.ValidString(src) {
		return nil, &SyntaxError{Offset: invalidAt(src), Msg: "the expression is not valid UTF-8"}
	}
	c := &converter{src: src, names: map[int]string{}, ints: map[int]uint64{}}
	c.index()
	tokens, err := lexer.Lex(file.NewSource(src))
	if err != nil {
		return nil, c.syntax(err)
	}
	if err := checkHabits(src, tokens, c.byteAt); err != nil {
		return nil, err
	}
	if err := checkNesting(tokens, c.byteAt); err != nil {
		return nil, err
	}
	text, err := c.rewrite(tokens)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseWithConfig(text, &conf.Config{Functions: plainCalls, MaxNodes: maxNodes, DisableIfOperator: true})
	if err != nil {
		return nil, c.syntax(err)
	}
	root, err := c.node(tree.Node)
	if err != nil {
		return nil, err
	}
	if root.depth() > maxDepth {
		return nil, &SyntaxError{Msg: tooDeep()}
	}
	return &Expr{root: root}, nil
}

func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return 0
}

// converter turns the parser's tree into ours. names and ints hold, by position, what rewrite hid from the parser.
type converter struct {
	src   string
	runes []int // byte offset of every rune, nil when src is ASCII
	names map[int]string
	ints  map[int]uint64
	count int
	depth int
}

func (c *converter) index() {
	ascii := true
	for i := range len(c.src) {
		ascii = ascii && c.src[i] < utf8.RuneSelf
	}
	if ascii {
		return
	}
	for i := range c.src {
		c.runes = append(c.runes, i)
	}
}

// byteAt turns a position in runes, as the parser counts, into bytes.
func (c *converter) byteAt(rune int) int {
	switch {
	case rune < 0:
		return 0
	case c.runes == nil:
		return min(rune, len(c.src))
	case rune < len(c.runes):
		return c.runes[rune]
	}
	return len(c.src)
}

// rewrite hides from the parser what it cannot read behind identifiers of the same length: contains(a, b) and
// matches(a, b) as calls (they are infix operators to it), and integers above int64.
func (c *converter) rewrite(tokens []lexer.Token) (string, error) {
	text := []byte(c.src)
	hide := func(t lexer.Token) {
		for i := c.byteAt(t.From); i < c.byteAt(t.To); i++ {
			text[i] = '$'
		}
	}
	for i, t := range tokens {
		switch {
		case t.Is(lexer.Operator, "contains", "matches") && !endsOperand(tokens, i-1) && i+1 < len(tokens) && tokens[i+1].Is(lexer.Bracket, "("):
			if i > 0 && tokens[i-1].Is(lexer.Operator, ".", "?.", "not") && tokens[i-1].Value != "not" {
				continue
			}
			c.names[t.From] = t.Value
			hide(t)
		case t.Kind == lexer.Number:
			digits := strings.ReplaceAll(t.Value, "_", "")
			hex := strings.HasPrefix(strings.ToLower(digits), "0x")
			if strings.Contains(digits, ".") || !hex && strings.ContainsAny(digits, "eE") {
				continue
			}
			base := 10
			if len(digits) > 1 && digits[0] == '0' && strings.ContainsRune("xXbBoO", rune(digits[1])) {
				base = 0
			}
			v, err := strconv.ParseUint(digits, base, 64)
			if errors.Is(err, strconv.ErrRange) {
				return "", &SyntaxError{Offset: c.byteAt(t.From), Msg: "the integer " + t.Value + " does not fit in 64 bits; write it as a float, with .0"}
			}
			if err == nil && v > 1<<63-1 {
				c.ints[t.From] = v
				hide(t)
			}
		}
	}
	return string(text), nil
}

// syntax turns an error of the parser into ours.
func (c *converter) syntax(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return &SyntaxError{Msg: err.Error()}
	}
	msg := fe.Message
	switch {
	case strings.Contains(msg, "EOF"):
		msg = "unexpected end of the expression"
	case strings.HasPrefix(msg, "Operator (") && strings.Contains(msg, "??"):
		msg = "?? needs parentheses beside other operators: (a ?? b) == c"
	case strings.HasPrefix(msg, "unexpected token "):
		tok := c.src[c.byteAt(fe.From):max(c.byteAt(fe.From), c.byteAt(fe.To))]
		msg = "unexpected " + strconv.Quote(tok)
	case strings.Contains(msg, "maximum allowed nodes"):
		msg = fmt.Sprintf("the expression has more than %d parts; split it over several steps", maxNodes)
	}
	return &SyntaxError{Offset: c.byteAt(fe.From), Msg: msg}
}

func (c *converter) fail(off int, format string, args ...any) (*node, error) {
	return nil, &SyntaxError{Offset: off, Msg: fmt.Sprintf(format, args...)}
}

func (c *converter) node(n ast.Node) (*node, error) {
	if c.count++; c.count > maxNodes {
		return c.fail(0, "the expression has more than %d parts; split it over several steps", maxNodes)
	}
	if n == nil {
		return c.fail(0, "the expression is incomplete")
	}
	if c.depth++; c.depth > 2*maxDepth {
		return c.fail(0, "%s", tooDeep())
	}
	defer func() { c.depth-- }()
	off := c.byteAt(n.Location().From)
	switch n := n.(type) {
	case *ast.NilNode:
		return literal(nil, off), nil
	case *ast.BoolNode:
		return literal(n.Value, off), nil
	case *ast.IntegerNode:
		return literal(int64(n.Value), off), nil
	case *ast.FloatNode:
		return literal(n.Value, off), nil
	case *ast.StringNode:
		return c.text(n, off)
	case *ast.BytesNode:
		return literal(append([]byte{}, n.Value...), off), nil
	case *ast.IdentifierNode:
		if v, ok := c.ints[n.Location().From]; ok {
			return literal(v, off), nil
		}
		return &node{kind: nodeColumn, off: off, name: n.Value}, nil
	case *ast.ChainNode:
		return c.node(n.Node)
	case *ast.UnaryNode:
		return c.unary(n, off)
	case *ast.BinaryNode:
		return c.binary(n, off)
	case *ast.ConditionalNode:
		return c.all(opCond, c.byteAt(n.Cond.Location().From), n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		return c.all(opList, off, n.Nodes...)
	case *ast.MemberNode:
		return c.member(n, off)
	case *ast.CallNode:
		return c.call(n, off)
	case *ast.SliceNode:
		return c.fail(off, "slices are not supported: write substr(text, start, length) or list[i]")
	case *ast.MapNode:
		return c.fail(off, "maps {…} are not supported; read a struct with column.field")
	}
	return c.fail(off, "this form is not supported; see `sluice ops` for the functions of the language")
}

func (c *converter) text(n *ast.StringNode, off int) (*node, error) {
	if !utf8.ValidString(n.Value) {
		return c.fail(off, "the string is not valid UTF-8; write bytes as b\"…\"")
	}
	return literal(n.Value, off), nil
}

func (c *converter) all(op string, off int, args ...ast.Node) (*node, error) {
	out := make([]*node, len(args))
	for i, a := range args {
		n, err := c.node(a)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return call(op, off, out...), nil
}

func (c *converter) unary(n *ast.UnaryNode, off int) (*node, error) {
	arg, err := c.node(n.Node)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "not", "!":
		return call("not", off, arg), nil
	case "+":
		return arg, nil
	}
	if arg.kind == nodeLiteral { // signs of literals are part of them
		switch v := arg.lit.(type) {
		case int64:
			if v != -1<<63 {
				return literal(-v, off), nil
			}
		case float64:
			return literal(-v, off), nil
		case uint64:
			if v == 1<<63 {
				return literal(int64(-1<<63), off), nil
			}
			return c.fail(off, "the integer -%d does not fit in 64 bits; write it as a float, with .0", v)
		}
	}
	return call(opNeg, off, arg), nil
}

// binary converts operators. Chains of the same left-associative operator are walked without recursion, because
// the parser does not recurse for them either.
func (c *converter) binary(n *ast.BinaryNode, off int) (*node, error) {
	op := canonicalOp(n.Operator)
	if op != "and" && op != "or" {
		out, err := c.all(op, off, n.Left, n.Right)
		if err != nil {
			return nil, err
		}
		if _, ok := binaryBind[op]; !ok && functions[op] == nil {
			return c.fail(off, "%s is not an operator of the language", n.Operator)
		}
		return out, nil
	}
	var args []*node
	for {
		right, err := c.node(n.Right)
		if err != nil {
			return nil, err
		}
		args = append(args, right)
		left, ok := n.Left.(*ast.BinaryNode)
		if !ok || canonicalOp(left.Operator) != op {
			break
		}
		if c.count++; c.count > maxNodes {
			return c.fail(0, "the expression has more than %d parts; split it over several steps", maxNodes)
		}
		n = left
	}
	left, err := c.node(n.Left)
	if err != nil {
		return nil, err
	}
	args = append(args, left)
	for i, j := 0, len(args)-1; i < j; i, j = i+1, j-1 {
		args[i], args[j] = args[j], args[i]
	}
	return logical(op, args, off), nil
}

func canonicalOp(op string) string {
	switch op {
	case "&&":
		return "and"
	case "||":
		return "or"
	case "^":
		return "**"
	case "startsWith":
		return "starts_with"
	case "endsWith":
		return "ends_with"
	}
	return op
}

func (c *converter) member(n *ast.MemberNode, off int) (*node, error) {
	arg, err := c.node(n.Node)
	if err != nil {
		return nil, err
	}
	prop, err := c.node(n.Property)
	if err != nil {
		return nil, err
	}
	if name, ok := prop.lit.(string); ok && prop.kind == nodeLiteral {
		return &node{kind: nodeField, off: off, name: name, args: []*node{arg}}, nil
	}
	return call(opIndex, off, arg, prop), nil
}

func (c *converter) call(n *ast.CallNode, off int) (*node, error) {
	id, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		return c.fail(off, "methods are not supported: write name(x) instead of x.name()")
	}
	name := id.Value
	if hidden, ok := c.names[id.Location().From]; ok {
		name = hidden
	}
	if alias, ok := aliases[name]; ok {
		name = alias
	}
	if name == "col" {
		if len(n.Arguments) == 1 {
			if s, ok := n.Arguments[0].(*ast.StringNode); ok {
				return &node{kind: nodeColumn, off: off, name: s.Value}, nil
			}
		}
		return c.fail(off, "col takes one string, the name of a column: col(\"a b\")")
	}
	f, ok := functions[name]
	if !ok {
		return c.fail(off, "%s", unknownFunction(name))
	}
	if len(n.Arguments) < f.min || f.max >= 0 && len(n.Arguments) > f.max {
		return c.fail(off, "%s takes %s, not %d: %s", name, arity(f.min, f.max), len(n.Arguments), f.sig)
	}
	return c.all(name, off, n.Arguments...)
}

func arity(lo, hi int) string {
	switch {
	case hi < 0:
		return fmt.Sprintf("at least %d arguments", lo)
	case lo == hi && lo == 1:
		return "1 argument"
	case lo == hi:
		return fmt.Sprintf("%d arguments", lo)
	}
	return fmt.Sprintf("%d to %d arguments", lo, hi)
}
