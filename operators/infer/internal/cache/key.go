package cache

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/blake3"
)

// Key names inputs by their content.
type Key [32]byte

// KeyOf hashes row i of the given columns. Equal values have equal keys whatever array holds them.
func KeyOf(rec arrow.RecordBatch, columns []int, i int) Key {
	h := hasher{blake3.New()}
	for _, c := range columns {
		h.cell(rec.Column(c), i)
	}
	var k Key
	h.Sum(k[:0])
	return k
}

type hasher struct{ *blake3.Hasher }

// Marks keep null, empty and absent apart.
const (
	markNull = iota
	markBytes
	markNumber
	markList
	markOther
)

func (h hasher) mark(kind byte, n int) {
	var b [9]byte
	b[0] = kind
	binary.LittleEndian.PutUint64(b[1:], uint64(n))
	_, _ = h.Write(b[:])
}

func (h hasher) bytes(b []byte) {
	h.mark(markBytes, len(b))
	_, _ = h.Write(b)
}

// cell hashes one value.
func (h hasher) cell(a arrow.Array, i int) {
	if a.IsNull(i) {
		h.mark(markNull, 0)
		return
	}
	switch a := a.(type) {
	case array.ExtensionArray:
		h.cell(a.Storage(), i)
	case *array.Binary:
		h.bytes(a.Value(i))
	case *array.LargeBinary:
		h.bytes(a.Value(i))
	case *array.String:
		h.mark(markBytes, len(a.Value(i)))
		_, _ = h.WriteString(a.Value(i))
	case *array.LargeString:
		h.mark(markBytes, len(a.Value(i)))
		_, _ = h.WriteString(a.Value(i))
	case *array.Dictionary:
		h.cell(a.Dictionary(), a.GetValueIndex(i))
	case *array.Struct:
		h.mark(markList, a.NumField())
		for f := range a.NumField() {
			h.cell(a.Field(f), i)
		}
	case array.ListLike:
		from, to := a.ValueOffsets(i)
		h.list(a.ListValues(), int(from), int(to))
	default:
		h.fixed(a, i)
	}
}

// list hashes elements; numbers without nulls at once.
func (h hasher) list(a arrow.Array, from, to int) {
	h.mark(markList, to-from)
	if w, ok := a.DataType().(arrow.FixedWidthDataType); ok && a.NullN() == 0 && w.BitWidth()%8 == 0 && len(a.Data().Buffers()) == 2 && to > from {
		at, size := a.Data().Offset()+from, w.BitWidth()/8
		_, _ = h.Write(a.Data().Buffers()[1].Bytes()[at*size : (at+to-from)*size])
		return
	}
	for i := from; i < to; i++ {
		h.cell(a, i)
	}
}

// fixed hashes a value of fixed width.
func (h hasher) fixed(a arrow.Array, i int) {
	d := a.Data()
	w, ok := a.DataType().(arrow.FixedWidthDataType)
	switch {
	case ok && w.BitWidth() == 1:
		v := 0
		if a.(*array.Boolean).Value(i) {
			v = 1
		}
		h.mark(markNumber, v)
	case ok && len(d.Buffers()) == 2:
		size, at := w.BitWidth()/8, d.Offset()+i
		h.mark(markNumber, size)
		_, _ = h.Write(d.Buffers()[1].Bytes()[at*size : (at+1)*size])
	default:
		h.mark(markOther, math.MaxInt32)
		_, _ = h.WriteString(a.ValueStr(i))
	}
}
