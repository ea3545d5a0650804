package read

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset/block"
)

// field is a schema field with the readers of its columns.
type field struct {
	*schema.Field
	leaves   []*leaf // all below, in column order
	children []*field
}

// assemble rebuilds the array of f from what its leaves have read.
func (f *field) assemble(mem memory.Allocator) (arrow.ArrayData, error) {
	var d arrow.ArrayData
	var err error
	switch f.Kind {
	case schema.Leaf:
		d, err = f.leaves[0].takeArray(f.Storage)
	case schema.Struct:
		d, err = f.assembleStruct(mem)
	default:
		d, err = f.assembleList(mem)
	}
	if err != nil {
		return nil, err
	}
	return withType(d, f.Arrow.Type), nil
}

// withType relabels storage as an extension type.
func withType(d arrow.ArrayData, dt arrow.DataType) arrow.ArrayData {
	ext, ok := dt.(arrow.ExtensionType)
	if !ok {
		return d
	}
	defer d.Release()
	if list, ok := ext.StorageType().(*arrow.FixedSizeListType); ok && d.DataType().ID() == arrow.FIXED_SIZE_BINARY {
		// A tensor: the same bytes, seen as a list of numbers.
		n := int(list.Len())
		child := array.NewData(list.Elem(), d.Len()*n, []*memory.Buffer{nil, d.Buffers()[1]}, nil, 0, d.Offset()*n)
		defer child.Release()
		return array.NewData(dt, d.Len(), d.Buffers()[:1], []arrow.ArrayData{child}, d.NullN(), d.Offset())
	}
	out := array.NewData(dt, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
	if dict, ok := d.Dictionary().(*array.Data); ok && dict != nil {
		out.SetDictionary(dict)
	}
	return out
}

func (f *field) assembleChildren(mem memory.Allocator) ([]arrow.ArrayData, error) {
	out := make([]arrow.ArrayData, 0, len(f.children))
	for _, c := range f.children {
		d, err := c.assemble(mem)
		if err != nil {
			for _, o := range out {
				o.Release()
			}
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func releaseAll(ds []arrow.ArrayData) {
	for _, d := range ds {
		d.Release()
	}
}

func (f *field) assembleStruct(mem memory.Allocator) (arrow.ArrayData, error) {
	// Levels are read before the children are taken, which empties the leaves.
	valid, n, nulls := f.structValidity(mem)
	kids, err := f.assembleChildren(mem)
	if err == nil {
		for i, k := range kids {
			if k.Len() != n {
				err = fmt.Errorf("field %q of a struct has %d values, the struct %d: levels are damaged", f.Children[i].Arrow.Name, k.Len(), n)
				releaseAll(kids)
				break
			}
		}
	}
	if err != nil {
		if valid != nil {
			valid.Release()
		}
		return nil, err
	}
	return handOver(f.Storage, n, []*memory.Buffer{valid}, kids, nulls), nil
}

func (f *field) structValidity(mem memory.Allocator) (valid *memory.Buffer, n, nulls int) {
	l := f.leaves[0]
	rep, slot, def := byte(f.Rep), byte(f.SlotDef), byte(f.Def)
	for i, d := range l.defs {
		if l.reps[i] <= rep && d >= slot {
			n++
			if d < def {
				nulls++
			}
		}
	}
	if nulls == 0 {
		return nil, n, 0
	}
	valid = memory.NewResizableBuffer(mem)
	valid.Resize(int(bitutil.BytesForBits(int64(n))))
	at := 0
	for i, d := range l.defs {
		if l.reps[i] <= rep && d >= slot {
			bitutil.SetBitTo(valid.Bytes(), at, d >= def)
			at++
		}
	}
	return valid, n, nulls
}

// listLevels are the offsets and validity of a list column.
type listLevels struct {
	off   *memory.Buffer // n+1 int32
	valid *memory.Buffer
	n     int
	nulls int
}

func (v *listLevels) release() {
	v.off.Release()
	if v.valid != nil {
		v.valid.Release()
	}
}

func (f *field) listLevels(mem memory.Allocator) listLevels {
	l := f.leaves[0]
	rep, slot, def, elem := byte(f.Rep), byte(f.SlotDef), byte(f.Def), byte(f.ElemDef)
	var v listLevels
	for i, d := range l.defs {
		if l.reps[i] < rep && d >= slot {
			v.n++
			if d < def {
				v.nulls++
			}
		}
	}
	v.off = memory.NewResizableBuffer(mem)
	v.off.Resize((v.n + 1) * 4)
	off := view[int32](v.off.Bytes())
	if v.nulls > 0 {
		v.valid = memory.NewResizableBuffer(mem)
		v.valid.Resize(int(bitutil.BytesForBits(int64(v.n))))
	}
	at, end := -1, int32(0)
	for i, d := range l.defs {
		r := l.reps[i]
		if d < slot || r > rep {
			continue
		}
		if r < rep {
			at++
			off[at] = end
			if v.valid != nil {
				bitutil.SetBitTo(v.valid.Bytes(), at, d >= def)
			}
		}
		if d >= elem {
			end++
		}
	}
	off[v.n] = end
	return v
}

func (f *field) assembleList(mem memory.Allocator) (arrow.ArrayData, error) {
	v := f.listLevels(mem)
	kids, err := f.assembleChildren(mem)
	if err != nil {
		v.release()
		return nil, err
	}
	elems := int(view[int32](v.off.Bytes())[v.n])
	for _, k := range kids {
		if k.Len() != elems {
			err = fmt.Errorf("list %q has %d elements by one column and %d by another: levels are damaged", f.Arrow.Name, elems, k.Len())
		}
	}
	if err == nil && f.Kind == schema.Map && kids[0].NullN() > 0 {
		err = fmt.Errorf("map %q has %d null keys, which Arrow does not allow", f.Arrow.Name, kids[0].NullN())
	}
	if err != nil {
		v.release()
		releaseAll(kids)
		return nil, err
	}
	switch t := f.Storage.(type) {
	case *arrow.MapType:
		entries := handOver(t.Elem(), elems, []*memory.Buffer{nil}, kids, 0)
		kids = []arrow.ArrayData{entries}
	case *arrow.FixedSizeListType:
		return v.fixedSize(mem, t, kids[0])
	case *arrow.LargeListType:
		b := builder{mem: mem}
		v.off = b.widen(v.off)
	}
	return handOver(f.Storage, v.n, []*memory.Buffer{v.valid, v.off}, kids, v.nulls), nil
}

// fixedSize turns a list into a fixed-size one: lists that are not null must
// have the size, null ones get that many empty slots.
func (v *listLevels) fixedSize(mem memory.Allocator, t *arrow.FixedSizeListType, child arrow.ArrayData) (arrow.ArrayData, error) {
	defer v.off.Release()
	off, size := view[int32](v.off.Bytes()), t.Len()
	for i := range v.n {
		null := v.valid != nil && !bitutil.BitIsSet(v.valid.Bytes(), i)
		if got := off[i+1] - off[i]; !null && got != size {
			child.Release()
			if v.valid != nil {
				v.valid.Release()
			}
			return nil, fmt.Errorf("list %d has %d elements, its type has %d", i, got, size)
		}
	}
	if v.nulls > 0 {
		padded, err := v.pad(mem, off, int(size), child)
		child.Release()
		if err != nil {
			v.valid.Release()
			return nil, err
		}
		child = padded
	}
	return handOver(t, v.n, []*memory.Buffer{v.valid}, []arrow.ArrayData{child}, v.nulls), nil
}

// pad concatenates runs of elements with empty slots for null lists.
func (v *listLevels) pad(mem memory.Allocator, off []int32, size int, child arrow.ArrayData) (arrow.ArrayData, error) {
	values := array.MakeFromData(child)
	defer values.Release()
	var parts []arrow.Array
	defer func() {
		for _, p := range parts {
			p.Release()
		}
	}()
	for i := 0; i < v.n; {
		j := i
		set := bitutil.BitIsSet(v.valid.Bytes(), i)
		for j < v.n && bitutil.BitIsSet(v.valid.Bytes(), j) == set {
			j++
		}
		if set {
			parts = append(parts, array.NewSlice(values, int64(off[i]), int64(off[j])))
		} else {
			parts = append(parts, block.Nulls(mem, child.DataType(), (j-i)*size))
		}
		i = j
	}
	out, err := array.Concatenate(parts, mem)
	if err != nil {
		return nil, fmt.Errorf("pad fixed-size lists: %w", err)
	}
	out.Data().Retain()
	defer out.Release()
	return out.Data(), nil
}
