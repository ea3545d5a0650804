package sortkey

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Column is one key.
type Column struct {
	Index      int // of the column in the record
	Desc       bool
	NullsFirst bool
	Plain      bool // raw bytes without marker and escapes: only for a last, binary column without nulls
}

// Encoder writes keys of records of one schema.
type Encoder struct{ cols []Column }

// NewEncoder makes an encoder, or says which column has no order.
func NewEncoder(schema *arrow.Schema, cols []Column) (*Encoder, error) {
	for _, c := range cols {
		f := schema.Field(c.Index)
		if err := check(f.Type, 0); err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return &Encoder{slices.Clone(cols)}, nil
}

// Keys are the keys of the rows of one record.
type Keys struct {
	buf  []byte
	ends []uint64
}

// At returns the key of row i.
func (k *Keys) At(i int) []byte {
	start := uint64(0)
	if i > 0 {
		start = k.ends[i-1]
	}
	return k.buf[start:k.ends[i]:k.ends[i]]
}

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.ends) }

// Bytes returns the memory that the keys hold.
func (k *Keys) Bytes() int64 { return int64(cap(k.buf)) + 8*int64(cap(k.ends)) }

// Encode writes the keys of all rows of rec into k, whose memory it uses again.
func (e *Encoder) Encode(rec arrow.RecordBatch, k *Keys) {
	n := int(rec.NumRows())
	vs := make([]value, len(e.cols))
	for i, c := range e.cols {
		vs[i] = bind(rec.Column(c.Index))
	}
	k.buf, k.ends = k.buf[:0], slices.Grow(k.ends[:0], n)
	for i := range n {
		for j := range e.cols {
			c := &e.cols[j]
			if c.Plain {
				k.buf = vs[j].plain(k.buf, i)
				continue
			}
			k.buf = vs[j].key(k.buf, i, c)
		}
		k.ends = append(k.ends, uint64(len(k.buf)))
		if i == 63 && n > 64 { // the first rows tell how much all will need
			k.buf = slices.Grow(k.buf, len(k.buf)/64*(n-64))
		}
	}
}

// Markers before a value.
const (
	nullFirst = 0x00
	present   = 0x01
	nullLast  = 0x02
)

// key appends the marker and the value of row i.
func (v *value) key(dst []byte, i int, c *Column) []byte {
	if v.null(i) {
		if c.NullsFirst {
			return append(dst, nullFirst)
		}
		return append(dst, nullLast)
	}
	dst = append(dst, present)
	at := len(dst)
	dst = v.put(dst, i)
	if c.Desc {
		for j := at; j < len(dst); j++ {
			dst[j] = ^dst[j]
		}
	}
	return dst
}

// Prefix returns the first sixteen bytes of a key as two numbers in the order of the bytes; shorter keys are filled with zeroes.
func Prefix(key []byte) (hi, lo uint64) {
	if len(key) >= 16 {
		return binary.BigEndian.Uint64(key), binary.BigEndian.Uint64(key[8:])
	}
	var p [16]byte
	copy(p[:], key)
	return binary.BigEndian.Uint64(p[:]), binary.BigEndian.Uint64(p[8:])
}
