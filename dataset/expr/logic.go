package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// tri is a column of three-valued booleans on bitmaps: known says true or false is known, truth which. Bits of truth
// are clear where known is.
type tri struct {
	truth, known []uint64
}

// loadTri reads a boolean value as bitmaps of the caller's own.
func (c *evalCtx) loadTri(v value) tri {
	t := tri{truth: c.words(), known: c.words()}
	if v.isConst() {
		if v.cst != nil {
			fillOnes(t.known, c.n)
		}
		if v.cst == true {
			fillOnes(t.truth, c.n)
		}
		return t
	}
	if v.arr.DataType().ID() == arrow.NULL {
		return t
	}
	loadBits(t.truth, v.arr.Data().Buffers()[1].Bytes(), v.arr.Data().Offset(), c.n)
	if v.arr.NullN() == 0 || len(v.arr.NullBitmapBytes()) == 0 {
		fillOnes(t.known, c.n)
		return t
	}
	loadBits(t.known, v.arr.NullBitmapBytes(), v.arr.Data().Offset(), c.n)
	for i, k := range t.known {
		t.truth[i] &= k
	}
	return t
}

// truths sets dst to the rows in which v is true.
func (c *evalCtx) truths(v value, dst []uint64) {
	if c.n > 0 {
		copy(dst, c.loadTri(v).truth)
	}
}

// boolArray makes a boolean array of a tri.
func (c *evalCtx) boolArray(t tri) arrow.Array {
	buf, words := c.bitmap(c.n)
	copy(words, t.truth)
	missing := false
	for i, k := range t.known {
		want := ^uint64(0)
		if r := c.n & 63; i == len(t.known)-1 && r != 0 {
			want = 1<<r - 1
		}
		missing = missing || k != want
	}
	if !missing {
		return build(typeBool, c.n, nil, buf)
	}
	valid, vw := c.bitmap(c.n)
	copy(vw, t.known)
	return build(typeBool, c.n, valid, buf)
}

// evalLogic evaluates and/or. An argument that is slow or can fail is evaluated only for the rows that the ones before
// it left open.
func (c *evalCtx) evalLogic(t *tnode, mask []uint64) (value, error) {
	or := t.form == formOr
	var acc tri
	for i, a := range t.args {
		am, skip := mask, false
		if i > 0 && a.masked {
			am, skip = c.open(acc, or, mask)
		}
		if skip {
			continue
		}
		v, err := c.eval(a, am)
		if err != nil {
			return value{}, err
		}
		b := c.loadTri(v)
		v.release()
		if i == 0 {
			acc = b
			continue
		}
		for j := range acc.truth {
			at, af := acc.truth[j], acc.known[j]&^acc.truth[j]
			bt, bf := b.truth[j], b.known[j]&^b.truth[j]
			if or {
				acc.truth[j] = at | bt
				acc.known[j] = at | bt | af&bf
			} else {
				acc.truth[j] = at & bt
				acc.known[j] = af | bf | at&bt
			}
		}
	}
	return value{arr: c.boolArray(acc)}, nil
}

// open returns the rows of mask that acc has not decided, and whether there are none.
func (c *evalCtx) open(acc tri, or bool, mask []uint64) ([]uint64, bool) {
	m := c.words()
	fillOnes(m, c.n)
	var any uint64
	for i := range m {
		if mask != nil {
			m[i] &= mask[i]
		}
		if or {
			m[i] &^= acc.truth[i]
		} else {
			m[i] &^= acc.known[i] &^ acc.truth[i]
		}
		any |= m[i]
	}
	return m, any == 0
}

var notImpl = &impl{
	eval: func(c *evalCtx, t *tnode, args []value, _ []uint64) (arrow.Array, error) {
		b := c.loadTri(args[0])
		for i := range b.truth {
			b.truth[i] = b.known[i] &^ b.truth[i]
		}
		return c.boolArray(b), nil
	},
	ref: func(_ *tnode, args []any) (any, error) { return !args[0].(bool), nil },
}

// split returns the rows of mask in which v is true, and the others.
func (c *evalCtx) split(yes []uint64, mask []uint64) (in, out []uint64, anyIn, anyOut bool) {
	in, out = c.words(), c.words()
	fillOnes(out, c.n)
	for i := range yes {
		m := out[i]
		if mask != nil {
			m &= mask[i]
		}
		in[i], out[i] = m&yes[i], m&^yes[i]
		anyIn, anyOut = anyIn || in[i] != 0, anyOut || out[i] != 0
	}
	return in, out, anyIn, anyOut
}

func (c *evalCtx) evalCond(t *tnode, mask []uint64) (value, error) {
	cond, err := c.eval(t.args[0], mask)
	if err != nil {
		return value{}, err
	}
	yes := c.loadTri(cond).truth
	cond.release()
	in, out, anyIn, anyOut := c.split(yes, mask)
	switch {
	case !anyOut:
		return c.eval(t.args[1], in)
	case !anyIn:
		return c.eval(t.args[2], out)
	}
	a, err := c.eval(t.args[1], in)
	if err != nil {
		return value{}, err
	}
	defer a.release()
	b, err := c.eval(t.args[2], out)
	if err != nil {
		return value{}, err
	}
	defer b.release()
	arr, err := c.blend(t.typ, yes, a, b)
	return value{arr: arr}, err
}

func (c *evalCtx) evalCoalesce(t *tnode, mask []uint64) (value, error) {
	a, err := c.eval(t.args[0], mask)
	if err != nil {
		return value{}, err
	}
	if a.isNull() {
		return c.eval(t.args[1], mask)
	}
	if a.isConst() || a.arr.NullN() == 0 {
		return a, nil
	}
	defer a.release()
	_, yes := c.scratchValidity(a)
	_, out, _, anyOut := c.split(yes, mask)
	if !anyOut {
		a.arr.Retain()
		return a, nil
	}
	b, err := c.eval(t.args[1], out)
	if err != nil {
		return value{}, err
	}
	defer b.release()
	arr, err := c.blend(t.typ, yes, a, b)
	return value{arr: arr}, err
}
