package expr

import (
	"sort"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// value is what a part of an expression evaluates to: an array of the batch's length, which the holder must
// release, or one constant for all rows (arr nil). Constants are nil, bool, int64 (also temporal ones, in the
// unit of the type), uint64, float64, string or []byte.
type value struct {
	arr arrow.Array
	cst any
}

func (v value) release() {
	if v.arr != nil {
		v.arr.Release()
	}
}

func (v value) isConst() bool { return v.arr == nil }

func (v value) isNull() bool { return v.arr == nil && v.cst == nil }

func releaseAll(vs []value) {
	for _, v := range vs {
		v.release()
	}
}

// evalCtx is the state of one evaluation of one batch.
type evalCtx struct {
	mem     memory.Allocator
	rec     arrow.RecordBatch
	cols    []int // position in rec of every column that the program reads
	n       int
	scratch *arena
	limit   int // bytes of one text that functions may build
	errs    []RowError
	failed  []uint64 // rows that have failed, nil until one has
}

// fail records the failure of a row, unless mask leaves the row out or it has failed before.
func (c *evalCtx) fail(mask []uint64, row int, err error) {
	if mask != nil && !bit(mask, row) {
		return
	}
	if c.failed == nil {
		c.failed = c.words()
	}
	if bit(c.failed, row) {
		return
	}
	c.failed[row>>6] |= 1 << (row & 63)
	c.errs = append(c.errs, RowError{Row: row, Err: err})
}

// rowErrors returns the failures in the order of rows.
func (c *evalCtx) rowErrors() []RowError {
	sort.Slice(c.errs, func(i, j int) bool { return c.errs[i].Row < c.errs[j].Row })
	return c.errs
}

func wordsFor(n int) int { return (n + 63) >> 6 }

func bit(w []uint64, i int) bool { return w[i>>6]>>(i&63)&1 != 0 }

func clearBit(w []uint64, i int) { w[i>>6] &^= 1 << (i & 63) }

// bitmap allocates a zeroed bitmap of n bits and its view as words.
func (c *evalCtx) bitmap(n int) (*memory.Buffer, []uint64) {
	buf := c.buffer(wordsFor(n) * 8)
	w := view[uint64](buf)
	clear(w)
	return buf, w
}

// buffer allocates size bytes; their content is undefined.
func (c *evalCtx) buffer(size int) *memory.Buffer {
	buf := memory.NewResizableBuffer(c.mem)
	buf.Resize(size)
	return buf
}

// view reads a buffer as values of T.
func view[T any](buf *memory.Buffer) []T {
	if buf == nil {
		return nil
	}
	b := buf.Bytes()
	if len(b) == 0 {
		return nil
	}
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// raw returns the values of a fixed-width array, offset applied.
func raw[T any](arr arrow.Array) []T {
	d := arr.Data()
	if d.Len() == 0 {
		return nil
	}
	return view[T](d.Buffers()[1])[d.Offset() : d.Offset()+d.Len()]
}

// loadBits copies n bits that start at off into dst and clears the bits behind them.
func loadBits(dst []uint64, src []byte, off, n int) {
	if n == 0 {
		return
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), len(dst)*8)
	bitutil.CopyBitmap(src, off, n, b, 0)
	trim(dst, n)
}

// trim clears the bits from n on.
func trim(w []uint64, n int) {
	if r := n & 63; r != 0 {
		w[n>>6] &= 1<<r - 1
	}
}

// validity returns the rows in which no argument is null, or nil when there are no nulls at all.
func (c *evalCtx) validity(args ...value) (*memory.Buffer, []uint64) {
	var buf *memory.Buffer
	var words, tmp []uint64
	for _, a := range args {
		if a.arr == nil || a.arr.NullN() == 0 || len(a.arr.NullBitmapBytes()) == 0 {
			continue
		}
		if words == nil {
			buf, words = c.bitmap(c.n)
			loadBits(words, a.arr.NullBitmapBytes(), a.arr.Data().Offset(), c.n)
			continue
		}
		if tmp == nil {
			tmp = c.words()
		}
		loadBits(tmp, a.arr.NullBitmapBytes(), a.arr.Data().Offset(), c.n)
		for i := range words {
			words[i] &= tmp[i]
		}
	}
	return buf, words
}

// ownValidity is validity that the caller will clear bits in, so it always exists.
func (c *evalCtx) ownValidity(args ...value) (*memory.Buffer, []uint64) {
	buf, words := c.validity(args...)
	if words == nil {
		buf, words = c.bitmap(c.n)
		fillOnes(words, c.n)
	}
	return buf, words
}

func fillOnes(w []uint64, n int) {
	for i := range w {
		w[i] = ^uint64(0)
	}
	if len(w) > 0 {
		trim(w, n)
	}
}

// build makes an array from its buffers (validity first, nil for no nulls) and gives them up to it.
func build(t arrow.DataType, n int, bufs ...*memory.Buffer) arrow.Array {
	nulls := array.UnknownNullCount
	if bufs[0] == nil {
		nulls = 0
	}
	data := array.NewData(t, n, bufs, nil, nulls, 0)
	for _, b := range bufs {
		if b != nil {
			b.Release()
		}
	}
	arr := array.MakeFromData(data)
	data.Release()
	return arr
}

// chunk is how many rows numeric loops convert at a time: scratch of this many words stays in the first cache.
const chunk = 1024

// number is every type that a numeric loop reads.
type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// reader yields a numeric value in chunks as D: directly where it is stored so, else converted into scratch.
// A constant fills the scratch once.
type reader[D number] struct {
	direct  []D
	fill    func(dst []D, from int)
	scratch []D
}

func (r *reader[D]) at(from, n int) []D {
	switch {
	case r.direct != nil:
		return r.direct[from : from+n]
	case r.fill != nil:
		r.fill(r.scratch[:n], from)
	}
	return r.scratch[:n]
}

func newReader[D number](v value) *reader[D] {
	if v.arr == nil {
		r := &reader[D]{scratch: make([]D, chunk)}
		c := constAs[D](v.cst)
		for i := range r.scratch {
			r.scratch[i] = c
		}
		return r
	}
	switch v.arr.DataType().ID() {
	case arrow.INT8:
		return convert[D, int8](v.arr)
	case arrow.INT16:
		return convert[D, int16](v.arr)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return convert[D, int32](v.arr)
	case arrow.UINT8:
		return convert[D, uint8](v.arr)
	case arrow.UINT16:
		return convert[D, uint16](v.arr)
	case arrow.UINT32:
		return convert[D, uint32](v.arr)
	case arrow.UINT64:
		return convert[D, uint64](v.arr)
	case arrow.FLOAT32:
		return convert[D, float32](v.arr)
	case arrow.FLOAT64:
		return convert[D, float64](v.arr)
	case arrow.FLOAT16:
		src := raw[float16.Num](v.arr)
		return &reader[D]{scratch: make([]D, min(chunk, len(src))), fill: func(dst []D, from int) {
			for i := range dst {
				dst[i] = D(src[from+i].Float32())
			}
		}}
	}
	return convert[D, int64](v.arr) // int64, timestamps, date64, durations, time64
}

func convert[D, S number](arr arrow.Array) *reader[D] {
	src := raw[S](arr)
	if same, ok := any(src).([]D); ok {
		return &reader[D]{direct: same}
	}
	return &reader[D]{scratch: make([]D, min(chunk, len(src))), fill: func(dst []D, from int) {
		s := src[from : from+len(dst)]
		for i, v := range s {
			dst[i] = D(v)
		}
	}}
}

func constAs[D number](v any) D {
	switch v := v.(type) {
	case int64:
		return D(v)
	case uint64:
		return D(v)
	case float64:
		return D(v)
	}
	return 0
}
