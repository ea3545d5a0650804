package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// form says how a typed node evaluates.
type form uint8

const (
	formLiteral  form = iota // lit
	formColumn               // column number col of the program
	formField                // child number col of the struct args[0]
	formStrict               // impl over all arguments; null if one of them is null
	formNull                 // null of a type, once the arguments have been evaluated
	formAnd                  // args, short of rows already decided
	formOr                   // args, short of rows already decided
	formCond                 // args[0] ? args[1] : args[2]
	formCoalesce             // args[0] ?? args[1]
	formIsNil                // args[0] == nil; negate for !=
)

// tnode is a checked node: types are known, conversions are explicit, constants of functions are prepared.
// Both the vectorised evaluation and the reference read this tree.
type tnode struct {
	form   form
	off    int
	typ    arrow.DataType
	kind   kind // of typ
	args   []*tnode
	lit    any
	col    int
	negate bool
	name   string // of the operator or function, or the column
	impl   *impl
	aux    any // what check prepared for impl: a regular expression, a unit, a set
	prep   any // what prepare made of constant arguments
	fails  bool
	masked bool // evaluation is slow or can fail: worth leaving rows out
}

// impl evaluates a strict function. Kernels own nothing of args; results are new arrays of c.n rows. Kernels are given
// no null constants, but constants for any argument, also for all of them; rows outside of mask may hold
// anything. ref gets one row's values, none of which is nil.
type impl struct {
	eval    func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error)
	ref     func(t *tnode, args []any) (any, error)
	prepare func(t *tnode) // once, when constants have been folded
	lift    bool           // boolean and never fails: dictionaries are evaluated once per distinct value
	slow    bool
}

func strict(n *node, typ arrow.DataType, im *impl, args ...*tnode) *tnode {
	t := &tnode{form: formStrict, off: n.off, typ: typ, kind: kindOf(typ), args: args, name: n.name, impl: im}
	for _, a := range args {
		if a.kind == kindNull {
			t.form, t.impl = formNull, nil
		}
		t.masked = t.masked || a.masked
	}
	if f := lookup(n.name); f != nil {
		t.fails = f.fallible
	}
	t.masked = t.masked || t.fails || im.slow
	return t
}

func typedLiteral(v any, typ arrow.DataType, off int) *tnode {
	return &tnode{form: formLiteral, off: off, typ: typ, kind: kindOf(typ), lit: v}
}

func (t *tnode) isLiteral() bool { return t.form == formLiteral }

// isBareNil reports the literal nil, as opposed to a column that holds only nulls.
func (t *tnode) isBareNil() bool { return t.form == formLiteral && t.lit == nil && t.kind == kindNull }
