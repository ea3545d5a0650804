package expr

// nodeKind says what a node of the tree is.
type nodeKind uint8

const (
	nodeLiteral nodeKind = iota // lit
	nodeColumn                  // name
	nodeField                   // args[0].name
	nodeCall                    // name(args...); operators are calls whose name is the operator
)

// Names of the forms that are not functions: comparisons and arithmetic go by their sign, and these.
const (
	opNeg   = "neg"  // -x
	opIndex = "[]"   // x[i]
	opCond  = "?:"   // c ? a : b
	opList  = "list" // [a, b]
)

// node is one immutable node of the tree. Literals are nil, bool, int64, uint64 (only above int64), float64,
// string or []byte. `and` and `or` have two or more arguments, none of which is the same operator.
type node struct {
	kind nodeKind
	off  int // byte offset in the source
	name string
	lit  any
	args []*node
}

func literal(v any, off int) *node { return &node{kind: nodeLiteral, lit: v, off: off} }

func call(name string, off int, args ...*node) *node {
	return &node{kind: nodeCall, name: name, off: off, args: args}
}

// logical builds an n-ary and/or and flattens arguments that are the same operator.
func logical(op string, args []*node, off int) *node {
	flat := make([]*node, 0, len(args))
	for _, a := range args {
		if a.is(op) {
			flat = append(flat, a.args...)
		} else {
			flat = append(flat, a)
		}
	}
	return call(op, off, flat...)
}

func (n *node) is(op string) bool { return n.kind == nodeCall && n.name == op }

func (n *node) isNil() bool { return n.kind == nodeLiteral && n.lit == nil }

// walk visits n and everything below it, parents first.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, a := range n.args {
		a.walk(visit)
	}
}

func (n *node) rename(names map[string]string) *node {
	if n.kind == nodeColumn {
		if to, ok := names[n.name]; ok && to != n.name {
			return &node{kind: nodeColumn, off: n.off, name: to}
		}
		return n
	}
	var args []*node
	for i, a := range n.args {
		r := a.rename(names)
		if r != a && args == nil {
			args = append(args, n.args...)
		}
		if args != nil {
			args[i] = r
		}
	}
	if args == nil {
		return n
	}
	c := *n
	c.args = args
	return &c
}

// depth is the height of the tree.
func (n *node) depth() int {
	d := 0
	for _, a := range n.args {
		d = max(d, a.depth())
	}
	return d + 1
}
