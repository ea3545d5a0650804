package imaging

import "encoding/binary"

// resizePacked resizes interleaved 8-bit pixels. Rows are blended as they are; then each channel is
// resized sideways as a plane of its own.
func (w *Worker) resizePacked(dst []byte, dstStride int, src []byte, srcStride, channels int, tx, ty *taps) {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	rows, cols := len(ty.first), len(tx.first)
	lo, n := tx.lo*channels, (tx.hi-tx.lo)*channels
	if tx.identity {
		x0, _ := tx.at(0)
		lo, n = x0*channels, cols*channels
		for y := range rows {
			y0, wt := ty.at(y)
			blendRows(dst[y*dstStride:][:n], src[y0*srcStride+lo:], srcStride, wt)
		}
		return
	}
	tall, tallStride := w.scratch.plane(n, rows)
	for y := range rows {
		y0, wt := ty.at(y)
		blendRows(tall[y*tallStride:][:n], src[y0*srcStride+lo:], srcStride, wt)
	}
	one, oneStride := w.scratch.plane(tx.hi, rows)
	out, outStride := w.scratch.plane(cols, rows)
	same := w.taps(span{lo: 0, hi: rows, start: 0, scale: 1, n: rows})
	for c := range channels {
		for y := range rows {
			from, to := tall[y*tallStride:][:n], one[y*oneStride+tx.lo:][:tx.hi-tx.lo]
			for x := range to {
				to[x] = from[x*channels+c]
			}
		}
		w.resizePlane(out, outStride, one, oneStride, tx, same)
		for y := range rows {
			from, to := out[y*outStride:][:cols], dst[y*dstStride:][:cols*channels]
			for x, v := range from {
				to[x*channels+c] = v
			}
		}
	}
}

// resizeAlpha resizes with colours weighted by their opacity, so that the colour of invisible pixels
// does not bleed into visible ones.
func (w *Worker) resizeAlpha(out, m *Image, tx, ty *taps) {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	pre, stride := w.scratch.plane(m.W*4, m.H)
	for y := ty.lo; y < ty.hi; y++ {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*4], pre[y*stride:][:m.W*4]
		for x := tx.lo * 4; x < tx.hi*4; x += 4 {
			a := uint32(src[x+3])
			dst[x], dst[x+1], dst[x+2] = scale255(src[x], a), scale255(src[x+1], a), scale255(src[x+2], a)
			dst[x+3] = byte(a)
		}
	}
	w.resizePacked(out.Pix[0], out.Stride[0], pre, stride, 4, tx, ty)
	for y := range out.H {
		row := out.Pix[0][y*out.Stride[0]:][:out.W*4]
		for x := 0; x < len(row); x += 4 {
			if a := uint32(row[x+3]); a > 0 && a < 255 {
				for c := range 3 {
					row[x+c] = byte(min(255, (uint32(row[x+c])*255+a/2)/a))
				}
			}
		}
	}
}

// scale255 is round(v*a/255).
func scale255(v byte, a uint32) byte {
	t := uint32(v)*a + 128
	return byte((t + t>>8) >> 8)
}

// resizePacked16 resizes interleaved 16-bit pixels, sideways first. It is the plain form of the same
// filter: such pictures are rare.
func (w *Worker) resizePacked16(out, m *Image, tx, ty *taps) {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	ch := m.Model.Channels()
	cols, rows := len(tx.first), len(ty.first)
	wide, stride := w.scratch.plane(cols*ch*2, m.H)
	for y := ty.lo; y < ty.hi; y++ {
		src, dst := m.Pix[0][y*m.Stride[0]:], wide[y*stride:]
		for x := range cols {
			x0, wt := tx.at(x)
			for c := range ch {
				binary.LittleEndian.PutUint16(dst[(x*ch+c)*2:], blend16(src[(x0*ch+c)*2:], ch*2, wt))
			}
		}
	}
	for y := range rows {
		y0, wt := ty.at(y)
		dst := out.Pix[0][y*out.Stride[0]:]
		for x := range cols * ch {
			binary.LittleEndian.PutUint16(dst[x*2:], blend16(wide[y0*stride+x*2:], stride, wt))
		}
	}
}

func blend16(src []byte, step int, weights []uint16) uint16 {
	sum := uint32(weightOne / 2)
	for k, w := range weights {
		sum += uint32(binary.LittleEndian.Uint16(src[k*step:])) * uint32(w)
	}
	return uint16(sum / weightOne)
}
