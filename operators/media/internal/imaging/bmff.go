package imaging

import (
	"encoding/binary"
	"fmt"
)

// The boxes of HEIF and AVIF files (ISO/IEC 14496-12, 23008-12). Everything read here is foreign: lengths are checked against what is there, and lists
// are bounded by the bytes that they take or by the limits below.
const (
	maxBoxes   = 1 << 16 // of one level
	maxItems   = 1 << 16 // a gigapixel picture of 512x512 tiles has 4,000
	maxExtents = 1 << 17
)

// walkBoxes calls f with each box of a level until f returns false. A box that is longer than what holds it ends the walk with ErrTruncated.
func walkBoxes(data []byte, f func(kind string, body []byte) bool) error {
	for range maxBoxes {
		if len(data) == 0 {
			return nil
		}
		if len(data) < 8 {
			return fmt.Errorf("%w: %d bytes are left for the head of a box", ErrTruncated, len(data))
		}
		size, head := uint64(binary.BigEndian.Uint32(data)), uint64(8)
		kind := string(data[4:8])
		switch size {
		case 0:
			size = uint64(len(data))
		case 1:
			if len(data) < 16 {
				return fmt.Errorf("%w: box %q ends in its head", ErrTruncated, kind)
			}
			size, head = binary.BigEndian.Uint64(data[8:]), 16
		}
		if size < head {
			return fmt.Errorf("%w: box %q announces %d bytes, its head has %d", ErrCorrupt, kind, size, head)
		}
		if size > uint64(len(data)) {
			// What is there of the last box may be all that is needed: a file's meta box comes first, and its data is checked by itself.
			if kind == "mdat" {
				f(kind, data[head:])
				return nil
			}
			return fmt.Errorf("%w: box %q announces %d bytes, %d are there", ErrTruncated, kind, size, len(data))
		}
		if !f(kind, data[head:size]) {
			return nil
		}
		data = data[size:]
	}
	return fmt.Errorf("%w: more than %d boxes", ErrTooLarge, maxBoxes)
}

// fields reads big-endian numbers. Reading beyond the end gives zeros and sets short.
type fields struct {
	b     []byte
	short bool
}

// take returns the next n bytes, nil if they are not there.
func (c *fields) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.b, c.short = nil, true
		return nil
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

// uint reads a number of n bytes, 0 to 8.
func (c *fields) uint(n int) (v uint64) {
	for _, x := range c.take(n) {
		v = v<<8 | uint64(x)
	}
	return v
}

// version reads the version and the flags that a full box begins with.
func (c *fields) version() (version int, flags uint32) {
	v := c.uint(4)
	return int(v >> 24), uint32(v & 0xffffff)
}

// err says that the box ended too early.
func (c *fields) err(kind string) error {
	if c.short {
		return fmt.Errorf("%w: box %q is shorter than what it lists", ErrCorrupt, kind)
	}
	return nil
}

// bitReader reads numbers of single bits, high bit first. Reading beyond the end gives zeros and sets short.
type bitReader struct {
	b     []byte
	at    int
	short bool
}

// get reads n bits, at most 32.
func (r *bitReader) get(n int) (v uint32) {
	for range n {
		if r.at>>3 >= len(r.b) {
			r.short = true
			return 0
		}
		v = v<<1 | uint32(r.b[r.at>>3]>>(7-r.at&7)&1)
		r.at++
	}
	return v
}

// skip passes over n bits.
func (r *bitReader) skip(n int) { r.at += n }

// golomb reads an Exp-Golomb code.
func (r *bitReader) golomb() uint32 {
	zeros := 0
	for r.get(1) == 0 {
		if zeros++; zeros > 31 || r.short {
			r.short = true
			return 0
		}
	}
	return 1<<zeros - 1 + r.get(zeros)
}
