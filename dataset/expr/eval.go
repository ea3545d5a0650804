package expr

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// eval evaluates t for the rows of mask (nil: all). Rows outside of it may come out as anything and never fail.
func (c *evalCtx) eval(t *tnode, mask []uint64) (value, error) {
	switch t.form {
	case formLiteral:
		return value{cst: t.lit}, nil
	case formColumn:
		return c.plain(c.rec.Column(c.cols[t.col]))
	case formField:
		return c.evalField(t, mask)
	case formStrict:
		return c.evalStrict(t, mask)
	case formNull:
		for _, a := range t.args {
			v, err := c.eval(a, mask)
			if err != nil {
				return value{}, err
			}
			v.release()
		}
		return value{}, nil
	case formAnd, formOr:
		return c.evalLogic(t, mask)
	case formCond:
		return c.evalCond(t, mask)
	case formCoalesce:
		return c.evalCoalesce(t, mask)
	case formIsNil:
		return c.evalIsNil(t, mask)
	}
	return value{}, fmt.Errorf("unknown form %d", t.form)
}

// plain returns arr as loops read it: dictionaries decoded, extensions as their storage, all-null as a constant.
func (c *evalCtx) plain(arr arrow.Array) (value, error) {
	switch a := arr.(type) {
	case *array.Null:
		return value{}, nil
	case array.ExtensionArray:
		return c.plain(a.Storage())
	case *array.Dictionary:
		dict, err := c.plain(a.Dictionary())
		if err != nil || dict.isConst() {
			return dict, err
		}
		defer dict.release()
		out, err := c.take(dict.arr, dictionaryIndices(a))
		return value{arr: out}, err
	}
	arr.Retain()
	return value{arr: arr}, nil
}

// dictionaryIndices returns the position of every row in the dictionary, -1 for null.
func dictionaryIndices(a *array.Dictionary) []int {
	idx := make([]int, a.Len())
	for i := range idx {
		if a.IsNull(i) {
			idx[i] = -1
		} else {
			idx[i] = a.GetValueIndex(i)
		}
	}
	return idx
}

func (c *evalCtx) evalField(t *tnode, mask []uint64) (value, error) {
	v, err := c.eval(t.args[0], mask)
	if err != nil || v.isNull() {
		return v, err
	}
	defer v.release()
	st, ok := v.arr.(*array.Struct)
	if !ok {
		return value{}, fmt.Errorf("column is %s, not a struct", v.arr.DataType())
	}
	child, err := c.plain(st.Field(t.col)) // Field applies the offset of the struct
	if err != nil || child.isConst() || st.NullN() == 0 {
		return child, err
	}
	return value{arr: c.maskNulls(child.arr, st)}, nil
}

// maskNulls returns arr with the nulls of by as well, and gives arr up.
func (c *evalCtx) maskNulls(arr, by arrow.Array) arrow.Array {
	defer arr.Release()
	d := arr.Data()
	valid, words := c.bitmap(d.Offset() + c.n)
	_, both := c.scratchValidity(value{arr: arr}, value{arr: by})
	for i := range c.n {
		if both == nil || bit(both, i) {
			words[(d.Offset()+i)>>6] |= 1 << ((d.Offset() + i) & 63)
		}
	}
	bufs := append([]*memory.Buffer{valid}, d.Buffers()[1:]...)
	data := array.NewData(d.DataType(), c.n, bufs, d.Children(), array.UnknownNullCount, d.Offset())
	valid.Release()
	defer data.Release()
	return array.MakeFromData(data)
}

// scratchValidity is validity in scratch memory.
func (c *evalCtx) scratchValidity(args ...value) (bool, []uint64) {
	buf, words := c.validity(args...)
	if buf == nil {
		return false, nil
	}
	out := c.words()
	copy(out, words)
	buf.Release()
	return true, out
}

func (c *evalCtx) evalStrict(t *tnode, mask []uint64) (value, error) {
	if t.impl.lift {
		if v, done, err := c.evalDictionary(t); done || err != nil {
			return v, err
		}
	}
	args := make([]value, 0, 4)
	defer func() { releaseAll(args) }()
	null := false
	for _, a := range t.args {
		v, err := c.eval(a, mask)
		if err != nil {
			return value{}, err
		}
		args = append(args, v)
		null = null || v.isNull()
	}
	if null {
		return value{}, nil
	}
	arr, err := t.impl.eval(c, t, args, mask)
	if err != nil {
		return value{}, err
	}
	return value{arr: arr}, nil
}

// evalDictionary evaluates a boolean function of one dictionary column and constants on the distinct values.
func (c *evalCtx) evalDictionary(t *tnode) (value, bool, error) {
	at := -1
	for i, a := range t.args {
		switch {
		case a.isLiteral():
		case a.form == formColumn && at < 0:
			at = i
		default:
			return value{}, false, nil
		}
	}
	if at < 0 {
		return value{}, false, nil
	}
	dict, ok := c.rec.Column(c.cols[t.args[at].col]).(*array.Dictionary)
	if !ok || dict.Dictionary().Len() >= c.n || dict.Dictionary().Len() == 0 {
		return value{}, false, nil
	}
	sub := c.sub(dict.Dictionary().Len())
	distinct, err := sub.plain(dict.Dictionary())
	if err != nil || distinct.isConst() {
		return value{}, false, err
	}
	defer distinct.release()
	args := make([]value, len(t.args))
	for i, a := range t.args {
		args[i] = value{cst: a.lit}
		if i == at {
			args[i] = distinct
		}
		if args[i].isNull() {
			return value{}, true, nil
		}
	}
	res, err := t.impl.eval(sub, t, args, nil)
	if err != nil {
		return value{}, false, err
	}
	defer res.Release()
	return value{arr: c.spread(dict, sub.loadTri(value{arr: res}))}, true, nil
}

func (c *evalCtx) evalIsNil(t *tnode, mask []uint64) (value, error) {
	v, err := c.eval(t.args[0], mask)
	if err != nil {
		return value{}, err
	}
	defer v.release()
	if v.isConst() {
		return value{cst: v.isNull() != t.negate}, nil
	}
	buf, words := c.bitmap(c.n)
	_, valid := c.scratchValidity(v)
	for i := range words {
		w := ^uint64(0)
		if valid != nil {
			w = valid[i]
		}
		if !t.negate {
			w = ^w
		}
		words[i] = w
	}
	if len(words) > 0 {
		trim(words, c.n)
	}
	return value{arr: build(typeBool, c.n, nil, buf)}, nil
}

// materialise turns v into an array of typ with c.n rows and takes v over.
func (c *evalCtx) materialise(v value, typ arrow.DataType) (arrow.Array, error) {
	if v.arr != nil {
		return v.arr, nil
	}
	if v.cst == nil {
		return c.nulls(typ)
	}
	one, err := c.constArray(v.cst, typ)
	if err != nil {
		return nil, err
	}
	defer one.Release()
	return c.take(one, make([]int, c.n))
}

// nulls returns c.n nulls of typ.
func (c *evalCtx) nulls(typ arrow.DataType) (arrow.Array, error) {
	b := array.NewBuilder(c.mem, typ)
	defer b.Release()
	b.AppendNulls(c.n)
	return b.NewArray(), nil
}

// constArray returns one row that holds a constant.
func (c *evalCtx) constArray(v any, typ arrow.DataType) (arrow.Array, error) {
	b := array.NewBuilder(c.mem, typ)
	defer b.Release()
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.LargeStringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(int64)))
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.(int64)))
	case *array.Date64Builder:
		b.Append(arrow.Date64(v.(int64)))
	case *array.DurationBuilder:
		b.Append(arrow.Duration(v.(int64)))
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Uint8Builder:
		b.Append(uint8(v.(int64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(int64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(int64)))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	default:
		return nil, fmt.Errorf("constants of type %s cannot be columns", typ)
	}
	return b.NewArray(), nil
}

// fold evaluates the constant parts of a typed tree once, bottom up, and prepares what kernels need of constants.
func fold(t *tnode) (*tnode, error) {
	for i, a := range t.args {
		f, err := fold(a)
		if err != nil {
			return nil, err
		}
		t.args[i] = f
	}
	if t.impl != nil && t.impl.prepare != nil {
		t.impl.prepare(t)
	}
	if t.form == formCond && t.args[0].isLiteral() {
		if t.args[0].lit == true {
			return t.args[1], nil
		}
		return t.args[2], nil
	}
	if t.isLiteral() || t.form == formColumn || len(t.args) == 0 || !foldable(t.kind) {
		return t, nil
	}
	for _, a := range t.args {
		if !a.isLiteral() {
			return t, nil
		}
	}
	c := &evalCtx{mem: memory.NewGoAllocator(), n: 1, scratch: new(arena), limit: maxConstant}
	v, err := c.eval(t, nil)
	if err == nil && c.failed != nil {
		err = c.errs[0].Err
	}
	if err != nil {
		return nil, &TypeError{Offset: t.off, Msg: fmt.Sprintf("this constant part always fails: %v", err)}
	}
	defer v.release()
	if v.isConst() {
		return typedLiteral(v.cst, t.typ, t.off), nil
	}
	cst, ok := constOf(v.arr, 0)
	if !ok {
		return nil, errors.New("fold constant: unexpected type " + v.arr.DataType().String())
	}
	return typedLiteral(cst, t.typ, t.off), nil
}

// sub is a context for n values that are not the rows of the batch.
func (c *evalCtx) sub(n int) *evalCtx {
	return &evalCtx{mem: c.mem, n: n, scratch: c.scratch, limit: c.limit}
}

func foldable(k kind) bool {
	switch k {
	case kindList, kindStruct, kindOther, kindDecimal, kindTime:
		return false
	}
	return true
}

// constOf reads one row as a constant.
func constOf(arr arrow.Array, i int) (any, bool) {
	if arr.IsNull(i) {
		return nil, true
	}
	switch kindOf(arr.DataType()) {
	case kindNull:
		return nil, true
	case kindBool:
		return arr.(*array.Boolean).Value(i), true
	case kindInt, kindTimestamp, kindDate, kindDuration, kindTime:
		return newReader[int64](value{arr: arr}).at(i, 1)[0], true
	case kindUint:
		return raw[uint64](arr)[i], true
	case kindFloat:
		return newReader[float64](value{arr: arr}).at(i, 1)[0], true
	case kindString:
		return string(newTexts(value{arr: arr}).at(i)), true
	case kindBinary:
		return append([]byte{}, newTexts(value{arr: arr}).at(i)...), true
	}
	return nil, false
}
