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
func transpose8(dst []byte, dstStride int, src []byte, srcStride, n int) {
	for x := 0; x < n; x += 8 {
		var r [8]uint64
		for i := range r {
			r[i] = binary.LittleEndian.Uint64(src[i*srcStride+x:])
		}
		transposeWords(&r)
		at := x * dstStride
		for i := range r {
			binary.LittleEndian.PutUint64(dst[at:], r[i])
			at += dstStride
		}
	}
}

// transposeWords transposes an 8x8 matrix of bytes by swapping halves, quarters and eighths.
func transposeWords(r *[8]uint64) {
	const m4, m2, m1 = 0x00000000ffffffff, 0x0000ffff0000ffff, 0x00ff00ff00ff00ff
	for i := range 4 {
		a, b := r[i], r[i+4]
		r[i], r[i+4] = a&m4|b<<32, a>>32|b&^m4
	}
	for _, i := range [4]int{0, 1, 4, 5} {
		a, b := r[i], r[i+2]
		r[i], r[i+2] = a&m2|(b&m2)<<16, a>>16&m2|b&^m2
	}
	for _, i := range [4]int{0, 2, 4, 6} {
		a, b := r[i], r[i+1]
		r[i], r[i+1] = a&m1|(b&m1)<<8, a>>8&m1|b&^m1
	}
}
