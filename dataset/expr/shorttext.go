package expr

import (
	"encoding/binary"
)

// shortText is how many bytes compare as one word.
const shortText = 8

// short is a text of at most 8 bytes: its little-endian word, zero beyond its length.
type short struct {
	word uint64
	size int
}

func newShort(s []byte) short {
	var b [8]byte
	copy(b[:], s)
	return short{binary.LittleEndian.Uint64(b[:]), len(s)}
}

// shorts converts texts when all of them are short, else nil.
func shorts(texts []string) []short {
	out := make([]short, 0, len(texts))
	for _, t := range texts {
		if len(t) > shortText {
			return nil
		}
		out = append(out, newShort([]byte(t)))
	}
	return out
}

// lowBytes[n] keeps the first n bytes of a word.
var lowBytes = [9]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// equalShort compares texts with a short constant: one load, one comparison and no branch on the data per row. The last
// texts of the buffer, which a load of 8 bytes would run past, go the slow way.
func equalShort[O int32 | int64](dst []uint64, data []byte, off []O, s []byte, mask []uint64) {
	k, keep := newShort(s), lowBytes[len(s)]
	safe := O(len(data) - shortText)
	rows := len(off) - 1
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			continue
		}
		from := w << 6
		o := off[from : min(from+64, rows)+1]
		var x uint64
		if o[len(o)-1] <= safe {
			start := o[0]
			for j, end := range o[1:] {
				diff := binary.LittleEndian.Uint64(data[start:])&keep ^ k.word | uint64(int(end-start)^k.size)
				var b uint64
				if diff == 0 {
					b = 1
				}
				x |= b << (j & 63)
				start = end
			}
			dst[w] = x
			continue
		}
		start := o[0]
		for j, end := range o[1:] {
			if string(data[start:end]) == string(s) {
				x |= 1 << (j & 63)
			}
			start = end
		}
		dst[w] = x
	}
}

// memberShort finds texts among a few short ones.
func memberShort(dst []uint64, data []byte, off []int32, members []short, mask []uint64) {
	rows := len(off) - 1
	for w := range dst {
		if mask != nil && mask[w] == 0 {
			continue
		}
		from := w << 6
		o := off[from : min(from+64, rows)+1]
		var x uint64
		start := o[0]
		for j, end := range o[1:] {
			size := int(end - start)
			if size <= shortText {
				var word uint64
				if int(start)+shortText <= len(data) {
					word = binary.LittleEndian.Uint64(data[start:]) & lowBytes[size]
				} else {
					word = newShort(data[start:end]).word
				}
				var b uint64
				for _, m := range members {
					if m.word^word|uint64(m.size^size) == 0 {
						b = 1
					}
				}
				x |= b << (j & 63)
			}
			start = end
		}
		dst[w] = x
	}
}
