package imaging

// resizePlane resizes one plane of 8-bit samples with one channel. It is fastest into memory of
// arena.plane, whose padding it may overwrite; other memory is written to exactly.
//
// Both directions run through the same vertical kernel, which works on whole words: rows are blended
// eight at a time, transposed, blended again in the other direction, and transposed back.
func (w *Worker) resizePlane(dst []byte, dstStride int, src []byte, srcStride int, tx, ty *taps) {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	if tx.identity && ty.identity {
		x0, _ := tx.at(0)
		y0, _ := ty.at(0)
		for y := range ty.first {
			copy(dst[y*dstStride:][:len(tx.first)], src[(y0+y)*srcStride+x0:])
		}
		return
	}
	if tx.identity {
		x0, _ := tx.at(0)
		for y := range ty.first {
			y0, wt := ty.at(y)
			blendRows(dst[y*dstStride:][:len(tx.first)], src[y0*srcStride+x0:], srcStride, wt)
		}
		return
	}
	turned, turnedStride := w.blendTurned(src, srcStride, tx.lo, tx.hi, ty)
	w.blendBack(dst, dstStride, turned, turnedStride, tx, len(ty.first))
}

// blendTurned resizes columns lo..hi vertically and returns the result turned: row x-lo holds column x.
func (w *Worker) blendTurned(src []byte, srcStride, lo, hi int, ty *taps) (turned []byte, stride int) {
	cols, rows := hi-lo, len(ty.first)
	padded := (cols + 7) &^ 7
	stride = (rows + 7) &^ 7
	turned = w.scratch.alloc(padded*stride + 8)
	band := w.scratch.alloc(8 * padded)
	for y := 0; y < rows; y += 8 {
		for i := range min(8, rows-y) {
			y0, wt := ty.at(y + i)
			blendRows(band[i*padded:][:cols], src[y0*srcStride+lo:], srcStride, wt)
		}
		transpose8(turned[y:], stride, band, padded, padded)
	}
	return turned, stride
}

// blendBack resizes the turned plane in its vertical direction, which is the horizontal one of the
// picture, and turns it back into dst.
func (w *Worker) blendBack(dst []byte, dstStride int, turned []byte, stride int, tx *taps, rows int) {
	cols := len(tx.first)
	padded := (rows + 7) &^ 7
	band := w.scratch.alloc(8 * padded)
	flip := w.scratch.alloc(8 * padded)
	for x := 0; x < cols; x += 8 {
		n := min(8, cols-x)
		for i := range n {
			x0, wt := tx.at(x + i)
			blendRows(band[i*padded:][:rows], turned[(x0-tx.lo)*stride:], stride, wt)
		}
		if x+8 <= dstStride && dstStride*(padded-1)+x+8 <= len(dst) {
			transpose8(dst[x:], dstStride, band, padded, padded)
			continue
		}
		transpose8(flip, 8, band, padded, padded)
		for y := range rows {
			copy(dst[y*dstStride+x:][:n], flip[y*8:])
		}
	}
}
