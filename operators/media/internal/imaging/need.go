package imaging

import "slices"

// NeedBytes bounds the memory that running a program on a picture takes outside of Arrow's buffers, from its header. It is what to
// reserve before decoding.
func (w *Worker) NeedBytes(p *Program, h Header) int64 {
	px := int64(h.Width) * int64(h.Height)
	scale := int64(1)
	target := px
	if g, _, resized, err := geometry(p.Steps, h.Width, h.Height); err == nil && resized {
		target = int64(g.Out.W) * int64(g.Out.H)
		if w.useTurbo && h.Format == JPEG {
			scale = int64(ScaleFor(g))
		}
	}
	var perPixel, fixed int64
	switch {
	case h.Format == JPEG && w.useTurbo && h.jpeg.components != 4:
		perPixel = 3 / (scale * scale)
		if perPixel == 0 {
			perPixel = 1
		}
		fixed = px * 3 / (scale * scale)
		if h.jpeg.progressive {
			fixed += px * 6 // coefficients of the whole picture, two bytes each
		}
	case h.Format == JPEG:
		perPixel = 3
		if h.jpeg.progressive {
			fixed = px * 12 // the standard library keeps four bytes each
		}
		if h.jpeg.components == 4 {
			perPixel = 12
		}
	default:
		perPixel = 16 // the decoder's own picture, up to 8 bytes a pixel, and ours
	}
	if p.Mode == ModeRGBA || slices.ContainsFunc(p.Steps, func(s Step) bool { _, ok := s.(ToMode); return ok }) {
		perPixel += 8 // converted at full size
	}
	const kernels = 2 << 20
	return fixed + px*perPixel + target*12 + kernels
}

// NeedPixelBytes is NeedBytes for pixels that were decoded before.
func (w *Worker) NeedPixelBytes(m *Image) int64 {
	return 3*int64(m.Bytes()) + slabBytes
}
