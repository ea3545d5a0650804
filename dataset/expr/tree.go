package expr

// Term is a node of an expression's tree, for those who translate a condition into another language (SQL). It is plain data.
type Term struct {
	// Call is the name of a function or operator: "and", "or", "not", "==", "<", "in", "starts_with"…; a field of a struct is the call
	// "." of one argument. "" for columns and values.
	Call string
	Args []Term
	// Column is the name of a root column; "" for calls and values.
	Column string
	// Value is nil, bool, int64, uint64 (only above int64), float64, string, []byte, or time.Time for date("…") and timestamp("…") of
	// literals. It counts where Call and Column are empty.
	Value any
}

// FieldCall is the name under which Terms show the field of a struct.
const FieldCall = "."

// ListCall is the name under which Terms show a list of values: the second argument of "in".
const ListCall = opList

// Term returns the tree of e.
func (e *Expr) Term() Term { return termOf(e.root) }

func termOf(n *node) Term {
	if v, ok := constant(n); ok {
		return Term{Value: v}
	}
	switch n.kind {
	case nodeLiteral:
		return Term{Value: n.lit}
	case nodeColumn:
		return Term{Column: n.name}
	}
	t := Term{Call: n.name, Args: make([]Term, len(n.args))}
	if n.kind == nodeField {
		t.Call = FieldCall
	}
	for i, a := range n.args {
		t.Args[i] = termOf(a)
	}
	return t
}
