package imaging

import "encoding/binary"

const (
	laneMask  = 0x00ff00ff00ff00ff
	laneRound = 0x0080008000800080
)

// blendRows writes dst[x] = round(sum of weights[k] * src[k*stride+x] / 256) for x < len(dst).
//
// It works on eight samples a step: a 64-bit word holds them, its even and odd bytes are spread to
// four 16-bit lanes each, and one multiplication serves four samples. Lanes cannot overflow because
// weights sum to 256.
func blendRows(dst, src []byte, stride int, weights []uint16) {
	n := len(dst)
	x := 0
	for ; x+16 <= n; x += 16 {
		var e0, o0, e1, o1 uint64 = laneRound, laneRound, laneRound, laneRound
		at := x
		for _, w16 := range weights {
			w := uint64(w16)
			s := src[at : at+16 : at+16]
			a := binary.LittleEndian.Uint64(s)
			b := binary.LittleEndian.Uint64(s[8:])
			e0 += (a & laneMask) * w
			o0 += (a >> 8 & laneMask) * w
			e1 += (b & laneMask) * w
			o1 += (b >> 8 & laneMask) * w
			at += stride
		}
		d := dst[x : x+16 : x+16]
		binary.LittleEndian.PutUint64(d, e0>>8&laneMask|o0&^laneMask)
		binary.LittleEndian.PutUint64(d[8:], e1>>8&laneMask|o1&^laneMask)
	}
	for ; x < n; x++ {
		sum := uint32(weightOne / 2)
		at := x
		for _, w := range weights {
			sum += uint32(src[at]) * uint32(w)
			at += stride
		}
		dst[x] = byte(sum >> 8)
	}
}

// transpose8 turns 8 rows of src (stride apart) of n bytes into n rows of 8 bytes in dst. n is
// a multiple of 8.
//
// Each 8x8 tile is held in eight words, whose halves, quarters and eighths are exchanged in turn. The words are
// variables of their own, not an array, so that they stay in registers.
func transpose8(dst []byte, dstStride int, src []byte, srcStride, n int) {
	le := binary.LittleEndian
	for x := 0; x < n; x += 8 {
		s := src[x:]
		r0, r1, r2, r3 := le.Uint64(s), le.Uint64(s[srcStride:]), le.Uint64(s[2*srcStride:]), le.Uint64(s[3*srcStride:])
		r4, r5, r6, r7 := le.Uint64(s[4*srcStride:]), le.Uint64(s[5*srcStride:]), le.Uint64(s[6*srcStride:]), le.Uint64(s[7*srcStride:])
		r0, r4 = exchange(r0, r4, 32, 0x00000000ffffffff)
		r1, r5 = exchange(r1, r5, 32, 0x00000000ffffffff)
		r2, r6 = exchange(r2, r6, 32, 0x00000000ffffffff)
		r3, r7 = exchange(r3, r7, 32, 0x00000000ffffffff)
		r0, r2 = exchange(r0, r2, 16, 0x0000ffff0000ffff)
		r1, r3 = exchange(r1, r3, 16, 0x0000ffff0000ffff)
		r4, r6 = exchange(r4, r6, 16, 0x0000ffff0000ffff)
		r5, r7 = exchange(r5, r7, 16, 0x0000ffff0000ffff)
		r0, r1 = exchange(r0, r1, 8, laneMask)
		r2, r3 = exchange(r2, r3, 8, laneMask)
		r4, r5 = exchange(r4, r5, 8, laneMask)
		r6, r7 = exchange(r6, r7, 8, laneMask)
		d := dst[x*dstStride:]
		le.PutUint64(d, r0)
		le.PutUint64(d[dstStride:], r1)
		le.PutUint64(d[2*dstStride:], r2)
		le.PutUint64(d[3*dstStride:], r3)
		le.PutUint64(d[4*dstStride:], r4)
		le.PutUint64(d[5*dstStride:], r5)
		le.PutUint64(d[6*dstStride:], r6)
		le.PutUint64(d[7*dstStride:], r7)
	}
}

// exchange swaps the upper parts of a with the lower parts of b, as the mask cuts them.
func exchange(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}
