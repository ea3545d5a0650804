package imaging

import "slices"

// needKernels covers tables, bands and the rounding of slabs.
const needKernels = 2 << 20

// NeedBytes bounds the memory that running a program on a picture takes outside of Arrow's buffers, from its header. It is what to
// reserve before decoding.
func (w *Worker) NeedBytes(p *Program, h Header) int64 {
	scale := int64(1)
	if g, _, resized, err := geometry(p.Steps, h.Width, h.Height); err == nil && resized && w.useTurbo && h.Format == JPEG {
		scale = int64(ScaleFor(g))
	}
	px := int64(h.Width) * int64(h.Height)
	small := px/(scale*scale) + int64(h.Width+h.Height)
	var need int64
	switch {
	case h.Format == JPEG && w.useTurbo && h.jpeg.components != 4:
		need = small * 6
		if h.jpeg.progressive {
			need += px * 6 // coefficients of the whole picture, two bytes each
		}
	case h.Format == JPEG:
		need = px * 6
		if h.jpeg.progressive {
			need += px * 12 // the standard library keeps four bytes each
		}
		if h.jpeg.components == 4 {
			need += px * 9
		}
	case h.heif != nil:
		need = w.needHEIF(h.heif)
	default:
		need = px * 16 // the decoder's own picture, up to 8 bytes a pixel, and ours
	}
	if p.Mode == ModeRGBA || slices.ContainsFunc(p.Steps, func(s Step) bool { _, ok := s.(ToMode); return ok }) {
		need += small * 8 // converted at full size
	}
	return need + needSteps(p.Steps, h.Width, h.Height) + needKernels
}

// NeedPixelBytes is NeedBytes for pixels that were decoded before.
func (w *Worker) NeedPixelBytes(p *Program, m *Image) int64 {
	return 3*int64(m.Bytes()) + needSteps(p.Steps, m.W, m.H) + needKernels
}

// needSteps bounds the memory of the pictures that steps make, and of the encoder.
func needSteps(steps []Step, width, height int) int64 {
	const perPixel = 12 // the result, its working copies, and the file in the worst case
	total := int64(0)
	at := Rect{W: width, H: height}
	for len(steps) > 0 {
		g, done, _, err := geometry(steps, at.W, at.H)
		if err != nil {
			break // running the program will say so
		}
		at = g.Out
		px := int64(at.W) * int64(at.H)
		total += px * perPixel
		if done == 0 {
			if c, ok := steps[0].(Compress); ok && c.Options.Format == WebP {
				total += px*24 + 16<<20 // the encoder's module and its working memory
			}
			done = 1
		}
		steps = steps[done:]
	}
	return max(total, int64(width)*int64(height)*perPixel/4)
}

// needHEIF bounds the memory of decoding AVIF and HEIC: planes of the codec, planes and pixels of the library around it, and ours.
func (w *Worker) needHEIF(info *heifInfo) int64 {
	wide := int64(1)
	if info.depth > 8 {
		wide = 2
	}
	px := int64(info.w) * int64(info.h)
	ours := px * 8 * wide
	if wide == 2 {
		ours += px * 4 // at 8 bits
	}
	if w.nativeHEIF(info) {
		return ours + (info.coded+info.largest)*3*wide + px*4*wide
	}
	return ours + info.sandboxBytes(1)
}
