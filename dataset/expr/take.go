package expr

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
)

// take returns the rows of arr at idx; -1 gives null. The result has len(idx) rows.
func (c *evalCtx) take(arr arrow.Array, idx []int) (arrow.Array, error) {
	switch kindOf(arr.DataType()) {
	case kindBool, kindString:
		if arr.DataType().ID() != arrow.BOOL {
			return c.takeTexts(arr, idx)
		}
		return c.takeBool(arr.(*array.Boolean), idx), nil
	case kindBinary:
		if arr.DataType().ID() != arrow.FIXED_SIZE_BINARY {
			return c.takeTexts(arr, idx)
		}
	case kindInt, kindUint, kindFloat, kindTimestamp, kindDate, kindDuration, kindTime:
		switch arr.DataType().(arrow.FixedWidthDataType).Bytes() {
		case 1:
			return takeFixed[uint8](c, arr, idx), nil
		case 2:
			return takeFixed[uint16](c, arr, idx), nil
		case 4:
			return takeFixed[uint32](c, arr, idx), nil
		case 8:
			return takeFixed[uint64](c, arr, idx), nil
		}
	}
	return c.takeAny(arr, idx)
}

func (c *evalCtx) takeBool(arr *array.Boolean, idx []int) arrow.Array {
	buf, words := c.bitmap(len(idx))
	valid, known := c.bitmap(len(idx))
	for i, j := range idx {
		if j < 0 || arr.IsNull(j) {
			continue
		}
		known[i>>6] |= 1 << (i & 63)
		if arr.Value(j) {
			words[i>>6] |= 1 << (i & 63)
		}
	}
	return build(typeBool, len(idx), valid, buf)
}

func takeFixed[T any](c *evalCtx, arr arrow.Array, idx []int) arrow.Array {
	src := raw[T](arr)
	var zero T
	buf := c.buffer(len(idx) * arr.DataType().(arrow.FixedWidthDataType).Bytes())
	dst := view[T](buf)
	valid, known := c.bitmap(len(idx))
	nulls := arr.NullN() > 0
	for i, j := range idx {
		if j < 0 || nulls && arr.IsNull(j) {
			dst[i] = zero
			continue
		}
		dst[i] = src[j]
		known[i>>6] |= 1 << (i & 63)
	}
	return build(arr.DataType(), len(idx), valid, buf)
}

func (c *evalCtx) takeTexts(arr arrow.Array, idx []int) (arrow.Array, error) {
	src := newTexts(value{arr: arr})
	out, err := c.newTextOut(arr.DataType(), len(idx))
	if err != nil {
		return nil, err
	}
	valid, known := c.bitmap(len(idx))
	for i, j := range idx {
		var s []byte
		if j >= 0 && arr.IsValid(j) {
			s = src.at(j)
			known[i>>6] |= 1 << (i & 63)
		}
		if err := out.append(s); err != nil {
			out.release()
			valid.Release()
			return nil, err
		}
	}
	return out.build(valid), nil
}

// takeAny handles nested and rare types through Arrow's own kernel.
func (c *evalCtx) takeAny(arr arrow.Array, idx []int) (arrow.Array, error) {
	b := array.NewInt64Builder(c.mem)
	defer b.Release()
	b.Reserve(len(idx))
	for _, j := range idx {
		if j < 0 {
			b.AppendNull()
		} else {
			b.Append(int64(j))
		}
	}
	at := b.NewArray()
	defer at.Release()
	ctx := compute.WithAllocator(context.Background(), c.mem)
	return compute.TakeArray(ctx, arr, at)
}

// blend returns the rows of a where yes is set and of b elsewhere. Both are of typ, or constants.
func (c *evalCtx) blend(typ arrow.DataType, yes []uint64, a, b value) (arrow.Array, error) {
	if kindOf(typ) == kindNull {
		return c.nulls(typ)
	}
	if kindOf(typ) == kindBool {
		x, y := c.loadTri(a), c.loadTri(b)
		for i, m := range yes {
			x.truth[i] = x.truth[i]&m | y.truth[i]&^m
			x.known[i] = x.known[i]&m | y.known[i]&^m
		}
		return c.boolArray(x), nil
	}
	if fixed, ok := typ.(arrow.FixedWidthDataType); ok && (kindOf(typ).numeric() || kindOf(typ).temporal() || kindOf(typ) == kindDuration) {
		switch fixed.Bytes() {
		case 8:
			return blendFixed[uint64](c, typ, yes, a, b)
		case 4:
			return blendFixed[uint32](c, typ, yes, a, b)
		case 2:
			return blendFixed[uint16](c, typ, yes, a, b)
		case 1:
			return blendFixed[uint8](c, typ, yes, a, b)
		}
	}
	return c.blendAny(typ, yes, a, b)
}

// blendAny takes the rows from both sides laid end to end.
func (c *evalCtx) blendAny(typ arrow.DataType, yes []uint64, a, b value) (arrow.Array, error) {
	parts := make([]arrow.Array, 0, 2)
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	idx := make([]int, c.n)
	base := 0
	for k, v := range []value{a, b} {
		first, step := base, 1
		switch {
		case v.isNull():
			first, step = -1, 0
		case v.isConst():
			one, err := c.constArray(v.cst, typ)
			if err != nil {
				return nil, err
			}
			parts, base, step = append(parts, one), base+1, 0
		default:
			v.arr.Retain()
			parts, base = append(parts, v.arr), base+c.n
		}
		pick := uint64(k) ^ 1
		for i := range idx {
			if yes[i>>6]>>(i&63)&1 == pick {
				idx[i] = first + i*step
			}
		}
	}
	switch len(parts) {
	case 0:
		return c.nulls(typ)
	case 1:
		return c.take(parts[0], idx)
	}
	all, err := array.Concatenate(parts, c.mem)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return c.take(all, idx)
}

// blendFixed is blend for types of 1 to 8 bytes, read as T.
func blendFixed[T any](c *evalCtx, typ arrow.DataType, yes []uint64, a, b value) (arrow.Array, error) {
	x, xOne, err := fixedSide[T](c, typ, a)
	if err != nil {
		return nil, err
	}
	y, yOne, err := fixedSide[T](c, typ, b)
	if err != nil {
		return nil, err
	}
	buf := c.buffer(c.n * typ.(arrow.FixedWidthDataType).Bytes())
	out := view[T](buf)
	for i := range out {
		v := xOne
		switch {
		case yes[i>>6]>>(i&63)&1 == 0:
			if v = yOne; y != nil {
				v = y[i]
			}
		case x != nil:
			v = x[i]
		}
		out[i] = v
	}
	va, vb := c.known(a), c.known(b)
	if va == nil && vb == nil {
		return build(typ, c.n, nil, buf), nil
	}
	valid, words := c.ownValidity()
	for i, m := range yes {
		w := ^uint64(0)
		if va != nil {
			w &= va[i] | ^m
		}
		if vb != nil {
			w &= vb[i] | m
		}
		words[i] &= w
	}
	return build(typ, c.n, valid, buf), nil
}

// known returns the rows of v that are not null, nil for all.
func (c *evalCtx) known(v value) []uint64 {
	if v.isNull() {
		return c.words()
	}
	_, words := c.scratchValidity(v)
	return words
}

// fixedSide returns the values of one side of a blend, or its one value.
func fixedSide[T any](c *evalCtx, typ arrow.DataType, v value) ([]T, T, error) {
	var one T
	switch {
	case v.arr != nil:
		return raw[T](v.arr), one, nil
	case v.cst == nil:
		return nil, one, nil
	}
	arr, err := c.constArray(v.cst, typ)
	if err != nil {
		return nil, one, err
	}
	defer arr.Release()
	return nil, raw[T](arr)[0], nil
}
