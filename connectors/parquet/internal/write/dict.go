package write

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/apache/arrow-go/v18/arrow"
)

const (
	// dictBytes is the size at which a dictionary is given up. Larger ones no
	// longer fit the second-level cache of whoever reads them.
	dictBytes = 1 << 20
	// sample is how many values are looked at before deciding whether they
	// repeat often enough to be worth a dictionary.
	sample = 4096
)

var seed = maphash.MakeSeed()

// dict numbers distinct byte strings in the order of their first appearance.
// Its values lie in data as the dictionary page wants them: each behind its
// length.
type dict struct {
	data   buffer
	at     []uint32 // offset of each value's length in data
	hashes []uint32 // of each value, to grow the table without hashing again
	marks  []bool   // of used
	table  []int32  // open addressing; value number + 1

	// Arrow's dictionaries are mapped once each.
	source arrow.ArrayData
	remap  []int32 // value number + 1 of Arrow's value, 0 when not met yet
}

func (d *dict) len() int { return len(d.at) }

func (d *dict) held() int64 {
	return d.data.held() + int64(cap(d.at)+cap(d.hashes)+cap(d.table)+cap(d.remap))*4 + int64(cap(d.marks))
}

func (d *dict) reset() {
	d.data.n = 0
	d.at, d.hashes = d.at[:0], d.hashes[:0]
	clear(d.table)
	d.forget()
}

func (d *dict) forget() {
	if d.source != nil {
		d.source.Release()
		d.source = nil
	}
	d.remap = d.remap[:0]
}

// value returns value i.
func (d *dict) value(i uint32) []byte {
	p := d.data.b[d.at[i]:]
	n := binary.LittleEndian.Uint32(p)
	return p[4 : 4+n]
}

// used tells of each value whether it is among the given ones; valid until the next call.
func (d *dict) used(idx []uint32) []bool {
	if n := d.len(); n > cap(d.marks) {
		d.marks = make([]bool, max(n, 2*cap(d.marks)))
	}
	out := d.marks[:d.len()]
	clear(out)
	for _, x := range idx {
		out[x] = true
	}
	return out
}

// index returns the number of v, adding it when it is new.
func (d *dict) index(v []byte) uint32 {
	if len(d.at)*2 >= len(d.table) {
		d.grow()
	}
	h := uint32(maphash.Bytes(seed, v))
	mask := uint32(len(d.table) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		x := d.table[p]
		if x == 0 {
			d.table[p] = int32(len(d.at) + 1)
			d.add(v, h)
			return uint32(len(d.at) - 1)
		}
		if i := uint32(x - 1); d.hashes[i] == h && string(d.value(i)) == string(v) {
			return i
		}
	}
}

func (d *dict) add(v []byte, h uint32) {
	d.at = append(d.at, uint32(d.data.n))
	d.hashes = append(d.hashes, h)
	p := d.data.extend(4 + len(v))
	binary.LittleEndian.PutUint32(p, uint32(len(v)))
	copy(p[4:], v)
}

func (d *dict) grow() {
	d.table = make([]int32, max(64, len(d.table)*2))
	mask := uint32(len(d.table) - 1)
	for i, h := range d.hashes {
		p := h & mask
		for d.table[p] != 0 {
			p = (p + 1) & mask
		}
		d.table[p] = int32(i + 1)
	}
}

// from makes a the source of Arrow dictionary indexes.
func (d *dict) from(a arrow.ArrayData) {
	if d.source == a {
		return
	}
	d.forget()
	a.Retain()
	d.source = a
	if cap(d.remap) < a.Len() {
		d.remap = make([]int32, a.Len())
	}
	d.remap = d.remap[:a.Len()]
	clear(d.remap)
}
