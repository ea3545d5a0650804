package imaging

// turn is an EXIF orientation taken apart. Pixel (x, y) of the upright picture is stored at
// (y, x) if swap, else at (x, y), and from the far end of an axis that is flipped.
type turn struct{ swap, flipX, flipY bool }

// turns is indexed by EXIF orientation (TIFF 6.0, tag 274).
var turns = [9]turn{
	2: {flipX: true},
	3: {flipX: true, flipY: true},
	4: {flipY: true},
	5: {swap: true},
	6: {swap: true, flipY: true},
	7: {swap: true, flipX: true, flipY: true},
	8: {swap: true, flipX: true},
}

// UprightSize is the size of the picture when its orientation has been applied.
func (m *Image) UprightSize() (w, h int) {
	if turns[m.Orient].swap {
		return m.H, m.W
	}
	return m.W, m.H
}

// upright applies a pending orientation.
func (w *Worker) upright(m *Image) *Image {
	t := turns[m.Orient]
	if t == (turn{}) {
		return m
	}
	if m.Model == YCbCr && !turnsEvenly(m, t) {
		m = w.toRGB(m)
	}
	chroma := m.Chroma
	uw, uh := m.UprightSize()
	if t.swap {
		chroma = Chroma{chroma.V, chroma.H}
	}
	out := w.newImage(uw, uh, m.Model, m.Depth, chroma)
	out.Profile = m.Profile
	for i := range m.planes() {
		pw, ph := m.planeSize(i)
		turnPlane(out.Pix[i], out.Stride[i], m.Pix[i], m.Stride[i], pw, ph, planePixelBytes(m), t)
	}
	return out
}

// turnsEvenly reports whether chroma samples cover the same luma samples after a flip: they do if the
// flipped side is a multiple of the subsampling.
func turnsEvenly(m *Image, t turn) bool {
	return (!t.flipX || m.W%m.Chroma.H == 0) && (!t.flipY || m.H%m.Chroma.V == 0)
}

func planePixelBytes(m *Image) int {
	if m.Model == YCbCr {
		return 1
	}
	return m.bytesPerPixel()
}

// turnPlane moves the w x h pixels of src, bpp bytes each, to their upright places in dst.
func turnPlane(dst []byte, dstStride int, src []byte, srcStride, w, h, bpp int, t turn) {
	for sy := range h {
		uy := sy
		if t.flipY {
			uy = h - 1 - sy
		}
		row := src[sy*srcStride:][:w*bpp]
		at, step := uy*dstStride, bpp
		if t.swap {
			at, step = uy*bpp, dstStride
		}
		if t.flipX {
			at, step = at+(w-1)*step, -step
		}
		switch {
		case step == bpp:
			copy(dst[at:], row)
		case bpp == 1:
			for _, v := range row {
				dst[at] = v
				at += step
			}
		default:
			for x := 0; x < len(row); x += bpp {
				copy(dst[at:at+bpp], row[x:])
				at += step
			}
		}
	}
}
