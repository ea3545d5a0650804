package imaging

import "encoding/binary"

// Convert returns the picture upright and packed in the given model with 8 bits, or with its own depth
// if keepDepth. Alpha is laid on white unless the model has it.
func (w *Worker) Convert(m *Image, model Model, keepDepth bool) *Image {
	if m.Depth == 16 && (!keepDepth || m.Model != model) {
		m = w.toDepth8(m)
	}
	if m.Model == RGBA && model != RGBA {
		m = w.flatten(m)
	}
	switch model {
	case Grey:
		m = w.toGrey(m)
	case RGB:
		m = w.toRGB(m)
	case RGBA:
		m = w.toRGBA(m)
	}
	return w.upright(m)
}

// toDepth8 scales 16-bit samples to 8 bits, rounding to nearest.
func (w *Worker) toDepth8(m *Image) *Image {
	out := w.like(m, m.Model)
	n := m.W * m.Model.Channels()
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:n*2], out.Pix[0][y*out.Stride[0]:][:n]
		for x := range dst {
			dst[x] = depth8(binary.LittleEndian.Uint16(src[x*2:]))
		}
	}
	return out
}

func depth8(v uint16) byte { return byte((uint32(v)*255 + 32895) >> 16) }

// like makes a picture of 8-bit samples with the size, orientation and profile of m.
func (w *Worker) like(m *Image, model Model) *Image {
	out := w.newImage(m.W, m.H, model, 8, Chroma444)
	out.SrcW, out.SrcH, out.Scale, out.Orient, out.Profile = m.SrcW, m.SrcH, m.Scale, m.Orient, m.Profile
	return out
}

// flatten lays a picture with alpha on white.
func (w *Worker) flatten(m *Image) *Image {
	out := w.like(m, RGB)
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*4], out.Pix[0][y*out.Stride[0]:][:m.W*3]
		for x, o := 0, 0; x < len(src); x, o = x+4, o+3 {
			a := uint32(src[x+3])
			white := byte(255 - a)
			dst[o] = scale255(src[x], a) + white
			dst[o+1] = scale255(src[x+1], a) + white
			dst[o+2] = scale255(src[x+2], a) + white
		}
	}
	return out
}

// toGrey takes the luma plane as it is, and weighs RGB by ITU-R BT.601 as JFIF does.
func (w *Worker) toGrey(m *Image) *Image {
	switch m.Model {
	case Grey:
		return m
	case YCbCr:
		g := *m
		g.Model, g.Chroma = Grey, Chroma444
		g.Pix[1], g.Pix[2] = nil, nil
		return &g
	}
	out := w.like(m, Grey)
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*3], out.Pix[0][y*out.Stride[0]:][:m.W]
		for x := range dst {
			p := src[x*3 : x*3+3 : x*3+3]
			dst[x] = byte((19595*uint32(p[0]) + 38470*uint32(p[1]) + 7471*uint32(p[2]) + 1<<15) >> 16)
		}
	}
	return out
}

func (w *Worker) toRGB(m *Image) *Image {
	switch m.Model {
	case YCbCr:
		full := w.fullChroma(m)
		out := w.like(full, RGB)
		for y := range m.H {
			ycbcrRow(out.Pix[0][y*out.Stride[0]:][:m.W*3], full.Pix[0][y*full.Stride[0]:][:m.W],
				full.Pix[1][y*full.Stride[1]:][:m.W], full.Pix[2][y*full.Stride[2]:][:m.W])
		}
		return out
	case Grey:
		out := w.like(m, RGB)
		for y := range m.H {
			src, dst := m.Pix[0][y*m.Stride[0]:][:m.W], out.Pix[0][y*out.Stride[0]:][:m.W*3]
			for x, v := range src {
				p := dst[x*3 : x*3+3 : x*3+3]
				p[0], p[1], p[2] = v, v, v
			}
		}
		return out
	}
	return m
}

func (w *Worker) toRGBA(m *Image) *Image {
	if m.Model == RGBA {
		return m
	}
	m = w.toRGB(m)
	out := w.like(m, RGBA)
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*3], out.Pix[0][y*out.Stride[0]:][:m.W*4]
		for x := range m.W {
			d, s := dst[x*4:x*4+4:x*4+4], src[x*3:x*3+3:x*3+3]
			d[0], d[1], d[2], d[3] = s[0], s[1], s[2], 255
		}
	}
	return out
}

// fullChroma brings the chroma planes to the size of the luma plane with the same triangle filter that
// resizes, which is also what libjpeg's smooth upsampling computes.
func (w *Worker) fullChroma(m *Image) *Image { return w.withChroma(m, Chroma444) }

// withChroma returns the picture, still in its stored orientation, with other chroma subsampling.
func (w *Worker) withChroma(m *Image, chroma Chroma) *Image {
	if m.Chroma == chroma {
		return m
	}
	out := w.newImage(m.W, m.H, YCbCr, 8, chroma)
	out.SrcW, out.SrcH, out.Scale, out.Orient, out.Profile = m.SrcW, m.SrcH, m.Scale, m.Orient, m.Profile
	out.Pix[0], out.Stride[0] = m.Pix[0], m.Stride[0]
	ax, ay := axis{fromN: m.W, full: m.W, outN: m.W}, axis{fromN: m.H, full: m.H, outN: m.H}
	for i := 1; i < 3; i++ {
		have, rows := m.planeSize(i)
		tx := w.taps(ax.span(m.W, have, m.Chroma.H, chroma.H))
		ty := w.taps(ay.span(m.H, rows, m.Chroma.V, chroma.V))
		w.resizePlane(out.Pix[i], out.Stride[i], m.Pix[i], m.Stride[i], tx, ty)
	}
	return out
}

// ycbcrRow converts one row by the formulas of JFIF in 16-bit fixed point.
func ycbcrRow(dst, ys, cbs, crs []byte) {
	cbs, crs = cbs[:len(ys)], crs[:len(ys)]
	for x, yv := range ys {
		y := int32(yv)<<16 + 1<<15
		cb, cr := int32(cbs[x])-128, int32(crs[x])-128
		d := dst[x*3 : x*3+3 : x*3+3]
		d[0] = clamp(y + 91881*cr)
		d[1] = clamp(y - 22554*cb - 46802*cr)
		d[2] = clamp(y + 116130*cb)
	}
}

// clamp brings a fixed-point sample into 0..255.
func clamp(v int32) byte {
	if uint32(v) < 1<<24 {
		return byte(v >> 16)
	}
	return byte(^v >> 31)
}

// rgbToYCbCr converts packed RGB to planes of full size.
func (w *Worker) rgbToYCbCr(m *Image) *Image {
	out := w.newImage(m.W, m.H, YCbCr, 8, Chroma444)
	out.SrcW, out.SrcH, out.Scale, out.Orient, out.Profile = m.SrcW, m.SrcH, m.Scale, m.Orient, m.Profile
	for y := range m.H {
		src := m.Pix[0][y*m.Stride[0]:][:m.W*3]
		ys, cbs, crs := out.Pix[0][y*out.Stride[0]:][:m.W], out.Pix[1][y*out.Stride[1]:][:m.W], out.Pix[2][y*out.Stride[2]:][:m.W]
		for x := range ys {
			p := src[x*3 : x*3+3 : x*3+3]
			r, g, b := int32(p[0]), int32(p[1]), int32(p[2])
			ys[x] = byte((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
			cbs[x] = clamp(-11056*r - 21712*g + 32768*b + 257<<15)
			crs[x] = clamp(32768*r - 27440*g - 5328*b + 257<<15)
		}
	}
	return out
}
