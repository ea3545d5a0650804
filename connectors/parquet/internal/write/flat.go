package write

import (
	"fmt"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// AppendFlat appends rows [lo, hi) of a column that is a leaf of the schema.
func (l *Leaf) AppendFlat(a arrow.ArrayData, lo, hi int) error {
	nulls := a.NullN() != 0
	if a.DataType().ID() == arrow.NULL {
		return l.appendNulls(hi - lo)
	}
	if nulls && l.col.MaxDef == 0 {
		if n := countNulls(a, lo, hi); n > 0 {
			return fmt.Errorf("column is not nullable and has %d nulls", n)
		}
		nulls = false
	}
	for lo < hi {
		k := l.room(a, lo, hi)
		var err error
		if nulls {
			k, err = l.withNulls(a, lo, lo+k)
		} else if k, err = l.put(l, a, lo, lo+k); err == nil {
			l.mark(k, true)
		}
		if err != nil {
			return err
		}
		lo += k
		if err := l.review(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Leaf) appendNulls(n int) error {
	for n > 0 {
		k := min(n, l.opt.PageRows-l.levels)
		l.mark(k, false)
		n -= k
		if err := l.review(); err != nil {
			return err
		}
	}
	return nil
}

func countNulls(a arrow.ArrayData, lo, hi int) int {
	if v := a.Buffers()[0]; v != nil && v.Len() > 0 {
		return hi - lo - bitutil.CountSetBits(v.Bytes(), a.Offset()+lo, hi-lo)
	}
	return 0
}

// room returns how many of the rows surely fit the page: the page ends at the
// row that reaches its size, whatever pieces the rows come in.
func (l *Leaf) room(a arrow.ArrayData, lo, hi int) int {
	k := min(hi-lo, l.opt.PageRows-l.levels)
	left := max(l.opt.PageBytes-(l.vals.n-headroom), 1)
	switch {
	case l.useDict && l.tried < sample:
		k = min(k, sample-l.tried)
	case l.useDict:
	case l.width > 0:
		k = min(k, (left+l.width-1)/l.width)
	case l.canDict && a.DataType().ID() == arrow.DICTIONARY:
		k = 1
	case l.canDict:
		k = min(k, 1+sort.Search(k, func(i int) bool {
			return spanBytes(a, lo, lo+i+1)+int64(4*(i+1)) >= int64(left)
		}))
	}
	return k
}

// spanBytes is how many bytes the values of slots [lo, hi) take.
func spanBytes(a arrow.ArrayData, lo, hi int) int64 {
	o := a.Offset()
	switch a.DataType().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		off := view[int64](a.Buffers()[1].Bytes())
		return off[o+hi] - off[o+lo]
	}
	off := view[int32](a.Buffers()[1].Bytes())
	return int64(off[o+hi]) - int64(off[o+lo])
}

// withNulls appends rows of which some are null and returns how many it took.
func (l *Leaf) withNulls(a arrow.ArrayData, lo, hi int) (int, error) {
	bits, o := a.Buffers()[0].Bytes(), a.Offset()
	if l.identity() && (l.width == 4 || l.width == 8) {
		l.compact(a, bits, lo, hi)
		return hi - lo, nil
	}
	for i := lo; i < hi; {
		set := bitutil.BitIsSet(bits, o+i)
		j := i + 1
		for j < hi && bitutil.BitIsSet(bits, o+j) == set {
			j++
		}
		if !set {
			l.mark(j-i, false)
			i = j
			continue
		}
		n, err := l.put(l, a, i, j)
		if err != nil {
			return 0, err
		}
		l.mark(n, true)
		i += n
		if n > 0 && i < j {
			return i - lo, nil
		}
		if l.useDict && l.stopDict() {
			return i - lo, nil
		}
	}
	return hi - lo, nil
}

// identity says that slots are plain values as they are.
func (l *Leaf) identity() bool {
	switch l.typ.ID() {
	case arrow.INT32, arrow.UINT32, arrow.INT64, arrow.UINT64, arrow.FLOAT32, arrow.FLOAT64, arrow.DATE32, arrow.TIME64, arrow.DURATION:
		return true
	case arrow.TIMESTAMP:
		return l.typ.(*arrow.TimestampType).Unit != arrow.Second
	case arrow.TIME32:
		return l.typ.(*arrow.Time32Type).Unit != arrow.Second
	}
	return false
}

// compact appends the valid slots of [lo, hi) without branching on each, and
// copies their validity.
func (l *Leaf) compact(a arrow.ArrayData, bits []byte, lo, hi int) {
	o, n := a.Offset(), hi-lo
	valid := bitutil.CountSetBits(bits, o+lo, n)
	// One slot more than needed: nulls are written past the last value before
	// the next value overwrites them.
	before := l.vals.n
	dst := l.vals.extend((valid + 1) * l.width)
	src := raw(a, lo, hi, l.width)
	if l.width == 4 {
		gatherValid(view[uint32](dst), view[uint32](src), bits, o+lo)
	} else {
		gatherValid(view[uint64](dst), view[uint64](src), bits, o+lo)
	}
	l.vals.n = before + valid*l.width
	l.bounds.fixed(dst[:valid*l.width], l.width)
	if valid < n || l.valid.n > 0 {
		l.growValid(n)
		bitutil.CopyBitmap(bits, o+lo, n, l.valid.bytes(), l.levels)
	}
	l.nulls += n - valid
	l.levels += n
}

func gatherValid[T uint32 | uint64](dst, src []T, bits []byte, off int) {
	j := 0
	for i, v := range src {
		dst[j] = v
		j += int(bits[(off+i)>>3] >> (uint(off+i) & 7) & 1)
	}
}

// review ends the page when it is full, and the dictionary when it no longer
// pays: when more than half of a sample of values is distinct, or when it has
// outgrown its limit.
func (l *Leaf) review() error {
	if l.useDict {
		switch {
		case l.dict.data.n > dictBytes:
			if err := l.FlushPage(); err != nil {
				return err
			}
		case l.tried >= sample && !l.reviewed:
			l.reviewed = true
			if l.dict.len() > sample/2 {
				return l.dropDict()
			}
		}
	}
	if l.full() {
		return l.FlushPage()
	}
	return nil
}

// dropDict gives up the dictionary after the sample. When no page uses it yet
// and the values are not large, the page is written plain after all.
func (l *Leaf) dropDict() error {
	if l.indexed > 0 || l.pageRaw > 4*l.opt.PageBytes {
		if err := l.FlushPage(); err != nil {
			return err
		}
		l.useDict = false
		return nil
	}
	l.useDict = false
	for _, x := range l.idx {
		v := l.dict.value(x)
		p := l.vals.extend(4 + len(v))
		p[0], p[1], p[2], p[3] = byte(len(v)), byte(len(v)>>8), byte(len(v)>>16), byte(len(v)>>24)
		copy(p[4:], v)
	}
	l.boundIndexes()
	l.idx = l.idx[:0]
	l.dict.reset()
	if l.full() {
		return l.FlushPage()
	}
	return nil
}
