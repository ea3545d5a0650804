package hamming

import "math/bits"

// MaxIndexed is the largest distance for which bands are used; beyond it, nearly every hash would be a candidate.
const MaxIndexed = 15

const (
	bands    = 4
	bandBits = 16
	buckets  = 1 << bandBits
)

// Index holds distinct hashes in the order in which they were added. It is not safe for concurrent use.
type Index struct {
	distance int
	masks    []uint16 // differences of a band that are looked up
	hashes   []uint64
	heads    [bands][]int32 // newest hash of each bucket plus one, 0 if none; nil until the index pays
	next     [bands][]int32 // older hash of the same bucket plus one
}

// New makes an index for searches within distance, 0 to 64.
func New(distance int) *Index {
	x := &Index{distance: min(max(distance, 0), 64)}
	if x.distance <= MaxIndexed {
		x.masks = masks(x.distance / bands)
	}
	return x
}

// masks lists the 16-bit words with at most n bits set.
func masks(n int) []uint16 {
	var out []uint16
	for m := range buckets {
		if bits.OnesCount16(uint16(m)) <= n {
			out = append(out, uint16(m))
		}
	}
	return out
}

// Len is the number of hashes held.
func (x *Index) Len() int { return len(x.hashes) }

// Bytes is the memory held.
func (x *Index) Bytes() int64 {
	n := int64(cap(x.hashes))*8 + int64(cap(x.masks))*2
	for b := range bands {
		n += int64(cap(x.heads[b]))*4 + int64(cap(x.next[b]))*4
	}
	return n
}

// First returns the ordinal of the earliest hash within the distance of h, or -1. exact reports whether h itself is held.
func (x *Index) First(h uint64) (ordinal int, exact bool) {
	if x.heads[0] == nil {
		return x.scan(h)
	}
	best := len(x.hashes)
	for b := range bands {
		key := band(h, b)
		for _, m := range x.masks {
			for at := x.heads[b][key^m]; at != 0; at = x.next[b][at-1] {
				i := int(at - 1)
				d := bits.OnesCount64(h ^ x.hashes[i])
				exact = exact || d == 0
				if d <= x.distance && i < best {
					best = i
				}
			}
		}
	}
	if best == len(x.hashes) {
		return -1, exact
	}
	return best, exact
}

func (x *Index) scan(h uint64) (int, bool) {
	best, exact := -1, false
	for i, o := range x.hashes {
		d := bits.OnesCount64(h ^ o)
		if d <= x.distance && best < 0 {
			best = i
		}
		if d == 0 {
			exact = true
			break // held once, and what is nearest first was seen
		}
	}
	return best, exact
}

// Add appends a hash that is not held yet; its ordinal is Len before.
func (x *Index) Add(h uint64) {
	x.hashes = append(x.hashes, h)
	if x.masks == nil {
		return
	}
	if x.heads[0] != nil {
		x.link(len(x.hashes) - 1)
		return
	}
	// A lookup costs as much as comparing a few hashes a mask.
	if len(x.hashes) >= 4*bands*len(x.masks) {
		for b := range bands {
			x.heads[b] = make([]int32, buckets)
		}
		for i := range x.hashes {
			x.link(i)
		}
	}
}

func (x *Index) link(i int) {
	for b := range bands {
		key := band(x.hashes[i], b)
		x.next[b] = append(x.next[b], x.heads[b][key])
		x.heads[b][key] = int32(i + 1)
	}
}

func band(h uint64, b int) uint16 { return uint16(h >> (b * bandBits)) }
