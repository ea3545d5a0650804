package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
)

func logicOperators() []*function {
	return []*function{
		{name: "and", check: checkLogic}, {name: "or", check: checkLogic},
		{name: "not", check: checkNot},
		{name: opCond, fallible: true, check: checkCond},
		{name: "??", fallible: true, check: checkCoalesce},
		{name: "in", form: checkIn},
		{name: opList, form: func(_ *checker, n *node) (*tnode, error) {
			return nil, typeErr(n, "a list […] can only stand after `in`")
		}},
	}
}

func checkLogic(_ *checker, n *node, args []*tnode) (*tnode, error) {
	t := &tnode{form: formAnd, off: n.off, typ: typeBool, kind: kindBool, args: args, name: n.name}
	if n.name == "or" {
		t.form = formOr
	}
	for i, a := range args {
		if a.kind != kindBool && a.kind != kindNull {
			hint := "; compare it with something"
			if a.kind == kindString && n.name == "or" {
				hint = "; || is `or`, texts are joined with +"
			}
			return nil, typeErr(n.args[i], "%s wants true or false, but %s is %s%s", n.name, (&Expr{n.args[i]}).String(), typeName(a.typ), hint)
		}
		t.masked = t.masked || a.masked
	}
	return t, nil
}

func checkNot(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind != kindBool && args[0].kind != kindNull {
		return nil, typeErr(n, "not wants true or false, but %s is %s; not binds tighter than comparisons: write not (a == b)", (&Expr{n.args[0]}).String(), typeName(args[0].typ))
	}
	return strict(n, typeBool, notImpl, args...), nil
}

func checkCond(_ *checker, n *node, args []*tnode) (*tnode, error) {
	if args[0].kind != kindBool && args[0].kind != kindNull {
		return nil, typeErr(n.args[0], "the condition of ?: is %s, not true or false; compare it with something", typeName(args[0].typ))
	}
	return choice(n, formCond, args[0], args[1], args[2])
}

func checkCoalesce(_ *checker, n *node, args []*tnode) (*tnode, error) {
	return choice(n, formCoalesce, nil, args[0], args[1])
}

func choice(n *node, f form, cond, a, b *tnode) (*tnode, error) {
	typ, err := commonType(n, a, b)
	if err != nil {
		return nil, err
	}
	t := &tnode{form: f, off: n.off, typ: typ, kind: kindOf(typ), name: n.name}
	if cond != nil {
		t.args = append(t.args, cond)
	}
	t.args = append(t.args, coerce(a, typ), coerce(b, typ))
	for _, x := range t.args {
		t.masked = t.masked || x.masked
	}
	return t, nil
}

// checkIn reads `x in [a, b]` and `x in list`.
func checkIn(c *checker, n *node) (*tnode, error) {
	x, err := c.check(n.args[0])
	if err != nil {
		return nil, err
	}
	if n.args[1].is(opList) {
		return c.inLiteral(n, x, n.args[1].args)
	}
	list, err := c.check(n.args[1])
	if err != nil {
		return nil, err
	}
	return listContains(n, list, x)
}

// inLiteral turns a list of constants into a set, any other list into comparisons joined by or: the meaning of both is
// x == a or x == b.
func (c *checker) inLiteral(n *node, x *tnode, items []*node) (*tnode, error) {
	if len(items) == 0 {
		return nil, typeErr(n, "the list after in is empty, so nothing is in it")
	}
	or := &tnode{form: formOr, off: n.off, typ: typeBool, kind: kindBool, name: "or", masked: x.masked}
	constant := true
	for _, item := range items {
		t, err := c.check(item)
		if err != nil {
			return nil, err
		}
		constant = constant && item.kind == nodeLiteral
		if t.kind == kindNull || x.kind == kindNull { // x == null is unknown
			or.args = append(or.args, strict(n, typeBool, numbersImpl, x, t))
			or.masked = or.masked || t.masked
			continue
		}
		im := compareImpl(opEQ, x, t)
		if im == nil {
			return nil, compareErr(&node{off: item.off, name: "==", args: []*node{n.args[0], item}}, x, t)
		}
		eq := &tnode{form: formStrict, off: item.off, typ: typeBool, kind: kindBool, name: "==", impl: im, args: []*tnode{x, t}, aux: opEQ, masked: x.masked || t.masked}
		or.args = append(or.args, eq)
		or.masked = or.masked || eq.masked
	}
	if set := newSet(x, items); constant && set != nil {
		t := strict(n, typeBool, setImpl, x)
		t.aux = set
		return t, nil
	}
	if len(or.args) == 1 {
		return or.args[0], nil
	}
	return or, nil
}

// set is what a column is tested against: its members in the column's domain, and whether nil is among them.
type set struct {
	ints  map[int64]struct{}
	uints map[uint64]struct{}
	fs    map[float64]struct{}
	texts map[string]struct{}
	few   []string // instead of texts when there are few
	short []short  // and when all of them fit in a word
	nan   bool
	null  bool
	all   []any // as written, for the reference
}

// few is how many texts are compared one by one: below it, lengths differ soon enough to beat a hash.
const few = 6

func newSet(x *tnode, items []*node) *set {
	s := &set{ints: map[int64]struct{}{}, uints: map[uint64]struct{}{}, fs: map[float64]struct{}{}, texts: map[string]struct{}{}}
	switch x.kind {
	case kindInt, kindUint, kindFloat, kindString:
	default:
		return nil
	}
	for _, item := range items {
		s.all = append(s.all, item.lit)
		if item.lit == nil {
			s.null = true
			continue
		}
		if x.kind == kindString {
			s.texts[item.lit.(string)] = struct{}{}
			continue
		}
		p := &constCompare{op: opEQ}
		switch {
		case x.kind == kindFloat:
			if p.float(item.lit); p.always == 0 {
				s.fs[p.f] = struct{}{} // literals are never NaN
			}
		default:
			floor, exact := floorOf(item.lit)
			if p.integer(floor, exact, x.typ); p.always == 0 {
				s.ints[p.i], s.uints[p.u] = struct{}{}, struct{}{}
			}
		}
	}
	if len(s.texts) <= few {
		for t := range s.texts {
			s.few = append(s.few, t)
		}
		s.short = shorts(s.few)
	}
	return s
}

var setImpl = &impl{lift: true, eval: func(c *evalCtx, t *tnode, args []value, mask []uint64) (arrow.Array, error) {
	s := t.aux.(*set)
	found, words := c.bitmap(c.n)
	switch t.args[0].kind {
	case kindInt:
		members(c, words, newReader[int64](args[0]), s.ints)
	case kindUint:
		members(c, words, newReader[uint64](args[0]), s.uints)
	case kindFloat:
		members(c, words, newReader[float64](args[0]), s.fs)
	default:
		s.findTexts(c, words, newTexts(args[0]), mask)
	}
	valid, known := c.validity(args...)
	if s.null { // not found among members of which one is unknown: unknown
		if known == nil {
			valid, known = c.ownValidity()
		}
		for i := range known {
			known[i] &= words[i]
		}
	}
	return build(typeBool, c.n, valid, found), nil
}, ref: refSet}

func members[T number](c *evalCtx, words []uint64, r *reader[T], in map[T]struct{}) {
	list := make([]T, 0, few)
	for v := range in {
		if list = append(list, v); len(list) > few {
			break
		}
	}
	for from := 0; from < c.n; from += chunk {
		n := min(chunk, c.n-from)
		for i, v := range r.at(from, n) {
			ok := false
			if len(list) <= few {
				for _, m := range list {
					ok = ok || m == v
				}
			} else {
				_, ok = in[v]
			}
			if ok {
				words[(from+i)>>6] |= 1 << (i & 63)
			}
		}
	}
}

func (s *set) findTexts(c *evalCtx, words []uint64, a *texts, mask []uint64) {
	if s.short != nil && a.o32 != nil {
		memberShort(words, a.data, a.o32, s.short, mask)
		return
	}
	for i := range c.n {
		if mask != nil && !bit(mask, i) {
			continue
		}
		v, ok := a.at(i), false
		if s.few != nil {
			for _, m := range s.few {
				ok = ok || string(v) == m
			}
		} else {
			_, ok = s.texts[string(v)]
		}
		if ok {
			words[i>>6] |= 1 << (i & 63)
		}
	}
}
