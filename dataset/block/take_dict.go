package block

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dictionary gathers indices: as they are where all sources share one dictionary, translated into a common one where not.
func (g *gather) dictionary(dt arrow.DataType, t *arrow.DictionaryType) (*array.Data, error) {
	valid, nulls := g.validity()
	width := t.IndexType.(arrow.FixedWidthDataType).BitWidth() / 8
	dicts, same := dictionariesOf(g.src)
	if same {
		return g.dictData(dt, len(g.rows), []*memory.Buffer{valid, g.fixed(width, 1)}, nulls, dicts[0]), nil
	}
	dict, maps, err := g.unify(t, dicts)
	if err != nil {
		return nil, err
	}
	out := g.buffer(len(g.rows) * width)
	switch width {
	case 1:
		translate[uint8](g, out, valid, maps)
	case 2:
		translate[uint16](g, out, valid, maps)
	case 4:
		translate[uint32](g, out, valid, maps)
	default:
		translate[uint64](g, out, valid, maps)
	}
	return g.dictData(dt, len(g.rows), []*memory.Buffer{valid, out}, nulls, dict), nil
}

// dictionariesOf returns the dictionary of each source and whether all are equal.
func dictionariesOf(src []*array.Data) (dicts []*array.Data, same bool) {
	dicts, same = make([]*array.Data, len(src)), true
	for k, d := range src {
		dicts[k] = d.Dictionary().(*array.Data)
		same = same && sameDictionary(dicts[0], dicts[k])
	}
	return dicts, same
}

func sameDictionary(a, b *array.Data) bool {
	if a == b {
		return true
	}
	x, y := array.MakeFromData(a), array.MakeFromData(b)
	defer x.Release()
	defer y.Release()
	return array.Equal(x, y)
}

// unify makes a dictionary of all values, and says for each of dicts where its values are in it.
func (w *workshop) unify(t *arrow.DictionaryType, dicts []*array.Data) (*array.Data, [][]int32, error) {
	u, err := array.NewDictionaryUnifier(w.mem, t.ValueType)
	if err != nil {
		return nil, nil, err
	}
	defer u.Release()
	maps := make([][]int32, len(dicts))
	known := map[*array.Data]int{}
	for k, d := range dicts {
		if first, ok := known[d]; ok {
			maps[k] = maps[first]
			continue
		}
		known[d] = k
		a := array.MakeFromData(d)
		m, err := u.UnifyAndTranspose(a)
		a.Release()
		if err != nil {
			return nil, nil, err
		}
		w.bufs = append(w.bufs, m)
		maps[k] = view[int32](m)
	}
	dict, err := u.GetResultWithIndexType(t.IndexType)
	if err != nil {
		return nil, nil, err
	}
	return w.keep(dict), maps, nil
}

func translate[I uint8 | uint16 | uint32 | uint64](g *gather, out, valid *memory.Buffer, maps [][]int32) {
	srcs := make([][]I, len(g.src))
	for k, d := range g.src {
		srcs[k] = view[I](bufferAt(d, 1))
	}
	dst := view[I](out)
	for i := range g.rows {
		if valid != nil && !bitutil.BitIsSet(valid.Bytes(), i) {
			dst[i] = 0
			continue
		}
		k, x := g.at(i)
		dst[i] = I(maps[k][srcs[k][x]])
	}
}
