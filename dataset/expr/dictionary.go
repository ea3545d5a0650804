package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// spread gives every row of a dictionary column the result of its distinct value.
func (c *evalCtx) spread(dict *array.Dictionary, of tri) arrow.Array {
	out := c.loadTri(value{})
	idx := dict.Indices()
	switch idx.DataType().ID() {
	case arrow.INT8, arrow.UINT8:
		spreadRows(out, of, raw[uint8](idx))
	case arrow.INT16, arrow.UINT16:
		spreadRows(out, of, raw[uint16](idx))
	case arrow.INT32, arrow.UINT32:
		spreadRows(out, of, raw[uint32](idx))
	default:
		spreadRows(out, of, raw[uint64](idx))
	}
	if _, valid := c.scratchValidity(value{arr: dict}); valid != nil {
		for i, v := range valid {
			out.truth[i] &= v
			out.known[i] &= v
		}
	}
	return c.boolArray(out)
}

// spreadRows looks rows up; positions of null rows may be anything, so those out of range are left unknown.
func spreadRows[I uint8 | uint16 | uint32 | uint64](out, of tri, idx []I) {
	most := uint64(len(of.truth)) << 6
	for i, k := range idx {
		j := uint64(k)
		if j >= most {
			continue
		}
		out.truth[i>>6] |= of.truth[j>>6] >> (j & 63) & 1 << (i & 63)
		out.known[i>>6] |= of.known[j>>6] >> (j & 63) & 1 << (i & 63)
	}
}
