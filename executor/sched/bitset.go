package sched

import "math/bits"

// bitset is a set of ranks. Finding the first costs a word per 64 stages.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

func (b bitset) set(i int)      { b[i>>6] |= 1 << (i & 63) }
func (b bitset) clear(i int)    { b[i>>6] &^= 1 << (i & 63) }
func (b bitset) has(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

func (b bitset) put(i int, on bool) {
	if on {
		b.set(i)
	} else {
		b.clear(i)
	}
}

// next returns the first member that is at least from, or -1.
func (b bitset) next(from int) int {
	w := from >> 6
	if w >= len(b) {
		return -1
	}
	x := b[w] >> (from & 63) << (from & 63)
	for {
		if x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
		if w++; w == len(b) {
			return -1
		}
		x = b[w]
	}
}

// nextIn returns the first member that mask has too, or -1.
func (b bitset) nextIn(mask bitset) int {
	for w := range b {
		if x := b[w] & mask[w]; x != 0 {
			return w<<6 + bits.TrailingZeros64(x)
		}
	}
	return -1
}
