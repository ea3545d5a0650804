package imaging

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
)

// fromImage brings a decoder's picture into one of our layouts, without a copy where it has one.
func (w *Worker) fromImage(src image.Image) (*Image, error) {
	b := src.Bounds()
	width, height := b.Dx(), b.Dy()
	if width <= 0 || height <= 0 {
		return nil, fmt.Errorf("%w: picture of %dx%d pixels", ErrCorrupt, width, height)
	}
	switch s := src.(type) {
	case *image.Gray:
		m := w.view(width, height, Grey, 8)
		m.Pix[0], m.Stride[0] = s.Pix[s.PixOffset(b.Min.X, b.Min.Y):], s.Stride
		return m, nil
	case *image.YCbCr:
		return w.fromYCbCr(s)
	case *image.NYCbCrA:
		return w.fromYCbCrAlpha(s)
	case *image.Paletted:
		return w.fromPaletted(s), nil
	case *image.CMYK:
		return w.fromCMYK(s), nil
	case *image.NRGBA:
		return w.fromNRGBA(s.Pix[s.PixOffset(b.Min.X, b.Min.Y):], s.Stride, width, height), nil
	case *image.RGBA:
		if s.Opaque() {
			return w.fromNRGBA(s.Pix[s.PixOffset(b.Min.X, b.Min.Y):], s.Stride, width, height), nil
		}
	case *image.Gray16:
		return w.from16(width, height, Grey, func(x, y int) [4]uint16 {
			return [4]uint16{s.Gray16At(b.Min.X+x, b.Min.Y+y).Y}
		}), nil
	case *image.RGBA64:
		return w.fromWide(src, s.Opaque()), nil
	case *image.NRGBA64:
		return w.fromWide(src, s.Opaque()), nil
	}
	return w.fromAny(src), nil
}

func (w *Worker) view(width, height int, model Model, depth int) *Image {
	return &Image{W: width, H: height, Model: model, Depth: depth, Chroma: Chroma444, SrcW: width, SrcH: height, Scale: 1, Orient: 1}
}

var ratios = map[image.YCbCrSubsampleRatio]Chroma{
	image.YCbCrSubsampleRatio444: {1, 1}, image.YCbCrSubsampleRatio422: {2, 1}, image.YCbCrSubsampleRatio420: {2, 2},
	image.YCbCrSubsampleRatio440: {1, 2}, image.YCbCrSubsampleRatio411: {4, 1}, image.YCbCrSubsampleRatio410: {4, 2},
}

func (w *Worker) fromYCbCr(s *image.YCbCr) (*Image, error) {
	chroma, ok := ratios[s.SubsampleRatio]
	if !ok || s.Rect.Min != (image.Point{}) {
		return nil, fmt.Errorf("%w: chroma subsampling %v", ErrUnsupported, s.SubsampleRatio)
	}
	m := w.view(s.Rect.Dx(), s.Rect.Dy(), YCbCr, 8)
	m.Chroma = chroma
	m.Pix = [3][]byte{s.Y, s.Cb, s.Cr}
	m.Stride = [3]int{s.YStride, s.CStride, s.CStride}
	return m, nil
}

// fromYCbCrAlpha converts WebP with alpha to RGBA.
func (w *Worker) fromYCbCrAlpha(s *image.NYCbCrA) (*Image, error) {
	m, err := w.fromYCbCr(&s.YCbCr)
	if err != nil || s.Opaque() {
		return m, err
	}
	m = w.toRGBA(m)
	for y := range m.H {
		row, alpha := m.Pix[0][y*m.Stride[0]:][:m.W*4], s.A[y*s.AStride:][:m.W]
		for x, a := range alpha {
			row[x*4+3] = a
		}
	}
	return m, nil
}

// fromPaletted expands a palette. An index beyond it, which some decoders let through, is transparent.
func (w *Worker) fromPaletted(s *image.Paletted) *Image {
	var table [256][4]byte
	opaque := true
	for i := range table {
		if i < len(s.Palette) {
			c := color.NRGBAModel.Convert(s.Palette[i]).(color.NRGBA)
			table[i] = [4]byte{c.R, c.G, c.B, c.A}
		}
	}
	width, height := s.Rect.Dx(), s.Rect.Dy()
	m := w.newImage(width, height, RGBA, 8, Chroma444)
	for y := range height {
		src, dst := s.Pix[y*s.Stride:][:width], m.Pix[0][y*m.Stride[0]:][:width*4]
		for x, v := range src {
			c := &table[v]
			copy(dst[x*4:x*4+4], c[:])
			opaque = opaque && c[3] == 255
		}
	}
	if opaque {
		return w.dropAlpha(m)
	}
	return m
}

// fromCMYK converts to RGB without a profile, as viewers do: a file's CMYK profile does not describe
// the result and is dropped by the caller.
func (w *Worker) fromCMYK(s *image.CMYK) *Image {
	width, height := s.Rect.Dx(), s.Rect.Dy()
	m := w.newImage(width, height, RGB, 8, Chroma444)
	for y := range height {
		src, dst := s.Pix[y*s.Stride:][:width*4], m.Pix[0][y*m.Stride[0]:][:width*3]
		for x := range width {
			p, d := src[x*4:x*4+4:x*4+4], dst[x*3:x*3+3:x*3+3]
			k := uint32(255 - p[3])
			d[0], d[1], d[2] = scale255(255-p[0], k), scale255(255-p[1], k), scale255(255-p[2], k)
		}
	}
	return m
}

func (w *Worker) fromNRGBA(pix []byte, stride, width, height int) *Image {
	m := w.view(width, height, RGBA, 8)
	m.Pix[0], m.Stride[0] = pix, stride
	for y := range height {
		row := pix[y*stride:][:width*4]
		for x := 3; x < len(row); x += 4 {
			if row[x] != 255 {
				return m
			}
		}
	}
	return w.dropAlpha(m)
}

// dropAlpha turns an opaque RGBA picture into RGB.
func (w *Worker) dropAlpha(m *Image) *Image {
	out := w.newImage(m.W, m.H, RGB, 8, Chroma444)
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*4], out.Pix[0][y*out.Stride[0]:][:m.W*3]
		for x := range m.W {
			d, s := dst[x*3:x*3+3:x*3+3], src[x*4:x*4+4:x*4+4]
			d[0], d[1], d[2] = s[0], s[1], s[2]
		}
	}
	return out
}

// fromWide takes 16-bit colours, not premultiplied.
func (w *Worker) fromWide(src image.Image, opaque bool) *Image {
	b := src.Bounds()
	model := RGBA
	if opaque {
		model = RGB
	}
	return w.from16(b.Dx(), b.Dy(), model, func(x, y int) [4]uint16 {
		c := color.NRGBA64Model.Convert(src.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA64)
		return [4]uint16{c.R, c.G, c.B, c.A}
	})
}

func (w *Worker) from16(width, height int, model Model, at func(x, y int) [4]uint16) *Image {
	m := w.newImage(width, height, model, 16, Chroma444)
	n := model.Channels()
	for y := range height {
		row := m.Pix[0][y*m.Stride[0]:][:width*n*2]
		for x := range width {
			px := at(x, y)
			for c, v := range px[:n] {
				binary.LittleEndian.PutUint16(row[(x*n+c)*2:], v)
			}
		}
	}
	return m
}

// fromAny reads a picture of an unknown kind pixel by pixel.
func (w *Worker) fromAny(src image.Image) *Image {
	b := src.Bounds()
	m := w.newImage(b.Dx(), b.Dy(), RGBA, 8, Chroma444)
	for y := range m.H {
		row := m.Pix[0][y*m.Stride[0]:][:m.W*4]
		for x := range m.W {
			c := color.NRGBAModel.Convert(src.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			row[x*4], row[x*4+1], row[x*4+2], row[x*4+3] = c.R, c.G, c.B, c.A
		}
	}
	return m
}
