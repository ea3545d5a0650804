package write

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// plan chooses how values of dt become plain values of the column.
func (l *Leaf) plan(dt arrow.DataType) error {
	switch t := dt.(type) {
	case *arrow.BooleanType:
		l.put = putBools
	case *arrow.NullType:
		l.width, l.put = 4, putCopy
	case *arrow.Int8Type:
		l.width, l.put = 4, putWiden[int8]
	case *arrow.Int16Type:
		l.width, l.put = 4, putWiden[int16]
	case *arrow.Uint8Type:
		l.width, l.put = 4, putWiden[uint8]
	case *arrow.Uint16Type:
		l.width, l.put = 4, putWiden[uint16]
	case *arrow.Date64Type:
		l.width, l.put = 4, putDate64
	case *arrow.Time32Type:
		l.width, l.put = 4, putCopy
		if t.Unit == arrow.Second {
			l.put = putSeconds32
		}
	case *arrow.TimestampType:
		l.width, l.put = 8, putCopy
		if t.Unit == arrow.Second {
			l.put = putSeconds64
		}
	case arrow.DecimalType:
		l.width, l.put = schema.DecimalWidth(t.GetPrecision()), putDecimal
		l.bounds.order = orderSigned
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		l.put, l.canDict = putBytes, true
	case *arrow.DictionaryType:
		return l.planDictionary(t)
	case arrow.FixedWidthDataType:
		l.width, l.put = t.Bytes(), putCopy
	default:
		return fmt.Errorf("type %s is not written", dt)
	}
	return nil
}

func (l *Leaf) planDictionary(t *arrow.DictionaryType) error {
	switch t.ValueType.(type) {
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		l.put, l.canDict = putDictionary, true
		return nil
	}
	inner := *l
	if err := inner.plan(t.ValueType); err != nil {
		return err
	}
	l.width, l.bounds.order = inner.width, inner.bounds.order
	put := inner.put
	l.put = func(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
		d := a.Dictionary()
		for i := lo; i < hi; i++ {
			x := dictIndex(a, i)
			if _, err := put(l, d, x, x+1); err != nil {
				return i - lo, err
			}
		}
		return hi - lo, nil
	}
	return nil
}

// raw returns the bytes of fixed slots [lo, hi).
func raw(a arrow.ArrayData, lo, hi, width int) []byte {
	o := a.Offset()
	return a.Buffers()[1].Bytes()[(o+lo)*width : (o+hi)*width]
}

// putCopy appends slots that are plain values already.
func putCopy(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	src := raw(a, lo, hi, l.width)
	l.vals.append(src)
	l.bounds.fixed(src, l.width)
	return hi - lo, nil
}

func putWiden[T int8 | int16 | uint8 | uint16](l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	o := a.Offset()
	src := view[T](a.Buffers()[1].Bytes())[o+lo : o+hi]
	b := l.vals.extend(len(src) * 4)
	dst := view[int32](b)
	for i, v := range src {
		dst[i] = int32(v)
	}
	l.bounds.fixed(b, 4)
	return len(src), nil
}

func putDate64(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	const day = 86_400_000
	src := view[int64](raw(a, lo, hi, 8))
	b := l.vals.extend(len(src) * 4)
	dst := view[int32](b)
	for i, v := range src {
		d := v / day
		if v%day < 0 {
			d--
		}
		if d != int64(int32(d)) {
			return 0, fmt.Errorf("date64 value %d ms is outside the days that Parquet holds", v)
		}
		dst[i] = int32(d)
	}
	l.bounds.fixed(b, 4)
	return len(src), nil
}

func putSeconds32(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	src := view[int32](raw(a, lo, hi, 4))
	b := l.vals.extend(len(src) * 4)
	dst := view[int32](b)
	for i, v := range src {
		if v < 0 || v > 86400 {
			return 0, fmt.Errorf("time of %d seconds is outside the day", v)
		}
		dst[i] = v * 1000
	}
	l.bounds.fixed(b, 4)
	return len(src), nil
}

func putSeconds64(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	src := view[int64](raw(a, lo, hi, 8))
	b := l.vals.extend(len(src) * 8)
	dst := view[int64](b)
	for i, v := range src {
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return 0, fmt.Errorf("timestamp of %d seconds does not fit the milliseconds that Parquet holds", v)
		}
		dst[i] = v * 1000
	}
	l.bounds.fixed(b, 8)
	return len(src), nil
}

// putDecimal writes big-endian numbers of the width that the precision needs.
func putDecimal(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	in, w := a.DataType().(arrow.FixedWidthDataType).Bytes(), l.width
	src := raw(a, lo, hi, in)
	b := l.vals.extend((hi - lo) * w)
	for i := range hi - lo {
		s, d := src[i*in:(i+1)*in], b[i*w:(i+1)*w]
		sign := byte(int8(s[in-1]) >> 7)
		for j := range w {
			if j < in {
				d[w-1-j] = s[j]
			} else {
				d[w-1-j] = sign
			}
		}
		for j := w; j < in; j++ {
			if s[j] != sign || byte(int8(d[0])>>7) != sign {
				return 0, fmt.Errorf("decimal in slot %d has more digits than %s", lo+i, a.DataType())
			}
		}
	}
	l.bounds.fixed(b, w)
	return hi - lo, nil
}

func putBools(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	n, o := hi-lo, a.Offset()
	src := a.Buffers()[1].Bytes()
	if need := (l.bits + n + 7) / 8; need > l.vals.n-headroom {
		clear(l.vals.extend(need - (l.vals.n - headroom)))
	}
	bitutil.CopyBitmap(src, o+lo, n, l.vals.bytes()[headroom:], l.bits)
	l.bits += n
	ones := bitutil.CountSetBits(src, o+lo, n)
	if l.bounds.order == orderBool {
		l.bounds.bools(ones < n, ones > 0)
	}
	return n, nil
}

// byteRange returns value i of an array of byte arrays.
func byteRange(a arrow.ArrayData, i int) []byte {
	o := a.Offset() + i
	bufs := a.Buffers()
	switch a.DataType().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		off := view[int64](bufs[1].Bytes())
		return slice(bufs[2].Bytes(), off[o], off[o+1])
	}
	off := view[int32](bufs[1].Bytes())
	return slice(bufs[2].Bytes(), int64(off[o]), int64(off[o+1]))
}

func slice(b []byte, from, to int64) []byte {
	if from == to {
		return nil
	}
	return b[from:to]
}

// putBytes appends byte arrays, through the dictionary while it pays.
func putBytes(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	if lo == hi {
		return 0, nil
	}
	switch a.DataType().ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		return putSpans(l, a, view[int64](a.Buffers()[1].Bytes())[a.Offset()+lo:a.Offset()+hi+1])
	}
	return putSpans(l, a, view[int32](a.Buffers()[1].Bytes())[a.Offset()+lo:a.Offset()+hi+1])
}

// putSpans appends the values between consecutive offsets.
func putSpans[T int32 | int64](l *Leaf, a arrow.ArrayData, off []T) (int, error) {
	n := len(off) - 1
	var data []byte
	if b := a.Buffers()[2]; b != nil {
		data = b.Bytes()
	}
	if l.useDict {
		return putIndexes(l, data, off), nil
	}
	if off[n] < off[0] {
		return 0, fmt.Errorf("offsets of the array run backwards from %d to %d", off[0], off[n])
	}
	stats := l.bounds.order == orderBytes
	out := l.vals.extend(int(off[n]-off[0]) + 4*n)
	for i := range n {
		v := data[off[i]:off[i+1]]
		binary.LittleEndian.PutUint32(out, uint32(len(v)))
		copy(out[4:], v)
		out = out[4+len(v):]
		if stats && !l.bounds.inside(v) {
			l.bounds.bytes(v)
		}
	}
	return n, nil
}

// putIndexes is putIndex for the values between consecutive offsets; it returns after how many it stopped.
func putIndexes[T int32 | int64](l *Leaf, data []byte, off []T) int {
	n := len(off) - 1
	idx, raw, left := slices.Grow(l.idx, n), l.pageRaw, sample-l.tried
	for i := range n {
		v := data[off[i]:off[i+1]]
		idx = append(idx, l.dict.index(v))
		raw += 4 + len(v)
		if i+1 == left || l.dict.data.n > dictBytes {
			n = i + 1
			break
		}
	}
	l.idx, l.pageRaw, l.tried = idx, raw, l.tried+n
	return n
}

func (l *Leaf) putPlain(v []byte) {
	p := l.vals.extend(4 + len(v))
	binary.LittleEndian.PutUint32(p, uint32(len(v)))
	copy(p[4:], v)
	if l.bounds.order == orderBytes {
		l.bounds.bytes(v)
	}
}

func (l *Leaf) putIndex(v []byte) {
	l.idx = append(l.idx, l.dict.index(v))
	l.tried++
	l.pageRaw += 4 + len(v)
}

// stopDict tells a flat column to stop and look whether the dictionary still
// pays. Nested columns look between rows.
func (l *Leaf) stopDict() bool {
	return l.dict.data.n > dictBytes || l.tried == sample
}

// dictIndex returns the index in slot i of a dictionary array.
func dictIndex(a arrow.ArrayData, i int) int {
	o := a.Offset() + i
	b := a.Buffers()[1].Bytes()
	switch a.DataType().(*arrow.DictionaryType).IndexType.ID() {
	case arrow.INT8:
		return int(int8(b[o]))
	case arrow.UINT8:
		return int(b[o])
	case arrow.INT16:
		return int(view[int16](b)[o])
	case arrow.UINT16:
		return int(view[uint16](b)[o])
	case arrow.INT32:
		return int(view[int32](b)[o])
	case arrow.UINT32:
		return int(view[uint32](b)[o])
	}
	return int(view[int64](b)[o])
}

// putDictionary translates Arrow's indexes into the chunk's, each distinct
// value once.
func putDictionary(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error) {
	d := a.Dictionary()
	if l.useDict {
		l.dict.from(d)
	}
	for i := lo; i < hi; i++ {
		x := dictIndex(a, i)
		if x < 0 || x >= d.Len() {
			return i - lo, fmt.Errorf("slot %d has index %d, its dictionary %d values", i, x, d.Len())
		}
		if !l.useDict {
			l.putPlain(byteRange(d, x))
			continue
		}
		if known := l.dict.remap[x]; known > 0 {
			l.idx = append(l.idx, uint32(known-1))
			l.tried++
			continue
		}
		l.putIndex(byteRange(d, x))
		l.dict.remap[x] = int32(l.idx[len(l.idx)-1] + 1)
		if l.stopDict() {
			return i + 1 - lo, nil
		}
	}
	return hi - lo, nil
}
