package level

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// minRepeat is the shortest stretch of equal values written as a run: below
// it, the run's header costs more than packing.
const minRepeat = 8

// AppendRepeat appends one run of n times v.
func AppendRepeat(b []byte, n int, v uint32, width uint) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for range (width + 7) / 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// AppendBitmap appends n one-bit levels that are the bits of bitmap from off:
// they are copied, not looked at one by one.
func AppendBitmap(b, bitmap []byte, off, n int) []byte {
	groups := (n + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	at := len(b)
	b = append(b, make([]byte, groups)...)
	bitutil.CopyBitmap(bitmap, off, n, b[at:], 0)
	return b
}

// Append appends src as runs and packed groups of width bits.
func Append[T byte | uint32](b []byte, src []T, width uint) []byte {
	start := 0 // first value not written yet; always a multiple of 8 before i
	for i := 0; i < len(src); {
		j := i + 1
		for j < len(src) && src[j] == src[i] {
			j++
		}
		if j-i < minRepeat {
			i = j
			continue
		}
		// Packed groups hold eight values, so the run gives up as many of its
		// values as fill the last group.
		pad := (8 - (i-start)%8) % 8
		if j-i-pad < minRepeat {
			i = j
			continue
		}
		b = appendPacked(b, src[start:i+pad], width)
		b = AppendRepeat(b, j-i-pad, uint32(src[i]), width)
		start, i = j, j
	}
	return appendPacked(b, src[start:], width)
}

func appendPacked[T byte | uint32](b []byte, src []T, width uint) []byte {
	if len(src) == 0 {
		return b
	}
	groups := (len(src) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	end := len(b) + groups*int(width)
	acc, have := uint64(0), uint(0)
	for _, v := range src {
		acc |= uint64(v) << have
		have += width
		for have >= 8 {
			b = append(b, byte(acc))
			acc >>= 8
			have -= 8
		}
	}
	if have > 0 {
		b = append(b, byte(acc))
	}
	for len(b) < end {
		b = append(b, 0)
	}
	return b
}
