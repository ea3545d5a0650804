package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

func listFunctions() []*function { return nil }

func indexOperators() []*function {
	return []*function{{name: opIndex, check: checkIndex}}
}

// lists reads the bounds of every row of a list array within its values, which the holder must release.
type lists struct {
	values arrow.Array
	bounds func(i int) (from, to int)
}

func newLists(arr arrow.Array) (*lists, error) {
	l, ok := arr.(array.ListLike)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", arr.DataType())
	}
	var first, last int64
	if n := arr.Len(); n > 0 { // a slice of few lists may share the values of many
		first, _ = l.ValueOffsets(0)
		_, last = l.ValueOffsets(n - 1)
	}
	return &lists{values: array.NewSlice(l.ListValues(), first, last), bounds: func(i int) (int, int) {
		from, to := l.ValueOffsets(i)
		return int(from - first), int(to - first)
	}}, nil
}

func elementType(t arrow.DataType) arrow.DataType {
	return logicalType(t.(arrow.ListLikeType).Elem())
}

func checkIndex(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind == kindNull {
		return strict(n, typeNull, indexImpl, args...), nil
	}
	if args[0].kind != kindList {
		hint := ""
		if args[0].kind == kindString {
			hint = "; write substr(text, start, 1)"
		}
		return nil, typeErr(n, "%s is %s, not a list: it has no elements%s", (&Expr{n.args[0]}).String(), typeName(args[0].typ), hint)
	}
	if args[1].kind != kindInt && args[1].kind != kindNull {
		return nil, typeErr(n.args[1], "the position in a list must be an integer, not %s", typeName(args[1].typ))
	}
	return strict(n, elementType(args[0].typ), indexImpl, args...), nil
}

var indexImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
		l, err := newLists(args[0].arr)
		if err != nil {
			return nil, err
		}
		defer l.values.Release()
		at := newReader[int64](args[1])
		_, valid := c.scratchValidity(args...)
		idx := make([]int, c.n)
		for i := range idx {
			idx[i] = -1
			if valid != nil && !bit(valid, i) {
				continue
			}
			from, to := l.bounds(i)
			k := row(at, i)
			if k < 0 {
				k += int64(to - from)
			}
			if k >= 0 && k < int64(to-from) {
				idx[i] = from + int(k)
			}
		}
		sub := c.sub(l.values.Len())
		values, err := sub.plain(l.values)
		if err != nil {
			return nil, err
		}
		if values.isConst() {
			return c.nulls(t.typ)
		}
		defer values.release()
		return c.take(values.arr, idx)
	},
	ref: func(_ *tnode, args []any) (any, error) {
		l, k := args[0].([]any), args[1].(int64)
		if k < 0 {
			k += int64(len(l))
		}
		if k < 0 || k >= int64(len(l)) {
			return nil, nil
		}
		return l[k], nil
	},
}

var listLengthImpl = &impl{
	eval: func(c *evalCtx, _ *tnode, args []value, _ []uint64) (arrow.Array, error) {
		l, err := newLists(args[0].arr)
		if err != nil {
			return nil, err
		}
		defer l.values.Release()
		valid, _ := c.validity(args...)
		buf := c.buffer(c.n * 8)
		out := view[int64](buf)
		for i := range out {
			from, to := l.bounds(i)
			out[i] = int64(to - from)
		}
		return build(typeInt, c.n, valid, buf), nil
	},
	ref: lengthImpl.ref,
}

// listContains types `x in list` and contains(list, x): true if an element equals x, else null if one is null.
func listContains(n *node, list, x *tnode) (*tnode, error) {
	if list.kind == kindNull || x.kind == kindNull {
		return strict(n, typeBool, containsElementImpl, list, x), nil
	}
	if list.kind != kindList {
		return nil, typeErr(n, "%s is not a list; membership is x in [1, 2] or x in list_column", typeName(list.typ))
	}
	elem := &tnode{form: formColumn, typ: elementType(list.typ)}
	elem.kind = kindOf(elem.typ)
	if elem.kind == kindNull {
		return strict(n, typeBool, containsElementImpl, list, x), nil
	}
	im := compareImpl(opEQ, elem, x)
	if im == nil {
		return nil, typeErr(n, "cannot look for %s among elements of %s; convert the value", typeName(x.typ), typeName(elem.typ))
	}
	t := strict(n, typeBool, containsElementImpl, list, x)
	// The elements are compared as one column with x repeated per element.
	t.aux = &tnode{form: formStrict, typ: typeBool, kind: kindBool, name: "==", impl: im, aux: opEQ, args: []*tnode{elem, x}}
	return t, nil
}

var containsElementImpl = &impl{slow: true,
	prepare: func(t *tnode) {
		eq, ok := t.aux.(*tnode)
		if !ok {
			return
		}
		if eq.args[1] = t.args[1]; eq.impl.prepare != nil {
			eq.impl.prepare(eq)
		}
	},
	eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
		eq, ok := t.aux.(*tnode)
		l, err := newLists(args[0].arr)
		if err != nil {
			return nil, err
		}
		defer l.values.Release()
		_, valid := c.scratchValidity(args...)
		var hits tri
		sub := c.sub(l.values.Len())
		if ok {
			if hits, err = c.equalElements(sub, eq, l, args[1], valid); err != nil {
				return nil, err
			}
		} else {
			hits = sub.loadTri(value{})
		}
		out := c.loadTri(value{cst: false})
		for i := range c.n {
			w, b := i>>6, uint64(1)<<(i&63)
			if valid != nil && !bit(valid, i) {
				out.known[w] &^= b
				continue
			}
			from, to := l.bounds(i)
			for k := from; k < to; k++ {
				if bit(hits.truth, k) {
					out.truth[w] |= b
					out.known[w] |= b
					break
				}
				if !bit(hits.known, k) {
					out.known[w] &^= b
				}
			}
		}
		return c.boolArray(out), nil
	},
	ref: func(t *tnode, args []any) (any, error) {
		null := false
		for _, e := range args[0].([]any) {
			switch {
			case e == nil:
				null = true
			case orderAnyLiteral(e, args[1], t.args[1].isLiteral()) == 0:
				return true, nil
			}
		}
		if null {
			return nil, nil
		}
		return false, nil
	},
}

// equalElements compares every element of the lists with the x of its row.
func (c *evalCtx) equalElements(sub *evalCtx, eq *tnode, l *lists, x value, valid []uint64) (tri, error) {
	values, err := sub.plain(l.values)
	if err != nil {
		return tri{}, err
	}
	if values.isConst() {
		return sub.loadTri(value{}), nil
	}
	defer values.release()
	if !x.isConst() {
		rowOf := make([]int, sub.n)
		for k := range rowOf {
			rowOf[k] = -1
		}
		for i := range c.n {
			if valid != nil && !bit(valid, i) {
				continue
			}
			from, to := l.bounds(i)
			for k := from; k < to; k++ {
				rowOf[k] = i
			}
		}
		repeated, err := c.take(x.arr, rowOf)
		if err != nil {
			return tri{}, err
		}
		defer repeated.Release()
		x = value{arr: repeated}
	}
	res, err := eq.impl.eval(sub, eq, []value{values, x}, nil)
	if err != nil {
		return tri{}, err
	}
	defer res.Release()
	return sub.loadTri(value{arr: res}), nil
}

func checkSplit(_ *checker, n *node, args []*tnode) (*tnode, error) {
	for i := range args {
		if err := want(n, args, i, kindString); err != nil {
			return nil, err
		}
	}
	return strict(n, arrow.ListOf(arrow.BinaryTypes.String), splitImpl, args...), nil
}
