package store

import "math/bits"

const (
	minClass     = 256      // smaller requests take this much
	maxSegment   = 64 << 20 // a segment is not made larger than this for more than one slot
	minSegment   = 256 << 10
	slotsPerMake = 8 // how many slots a new segment of larger classes has
	pageBytes    = 4096
)

// ClassBytes returns the capacity that a request of n bytes is served with, which is what it is charged: four classes to the octave, all
// multiples of 64, so that at most a fifth is wasted above 1 KiB.
func ClassBytes(n int) int {
	if n <= minClass {
		return minClass
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) / step * step
}

// slotsOf returns how many slots a new segment of a class has.
func slotsOf(class int) int {
	size := min(max(class*slotsPerMake, minSegment), maxSegment)
	return max(size/class, 1)
}

// segmentBytes returns the size of the file of a segment.
func segmentBytes(class, slots int) int64 {
	n := int64(headerBytes(slots)) + int64(class)*int64(slots)
	return (n + pageBytes - 1) / pageBytes * pageBytes
}
