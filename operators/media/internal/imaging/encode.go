package imaging

import (
	"fmt"
	"image"
	"image/jpeg"
	"image/png"

	"github.com/gen2brain/webp"

	"github.com/sluice-data/sluice/operators/media/internal/turbo"
)

// EncodeOptions say what file a picture becomes.
type EncodeOptions struct {
	Format  Format // JPEG, PNG or WebP
	Quality int    // 1 to 100 for JPEG and WebP
}

// DefaultQuality is the quality of JPEG and WebP where none was asked for.
const DefaultQuality = 75

// ParseEncode reads format and quality as users write them; quality 0 means the default.
func ParseEncode(format string, quality int) (EncodeOptions, error) {
	o := EncodeOptions{Quality: quality}
	switch format {
	case "jpeg", "jpg":
		o.Format = JPEG
	case "png":
		o.Format = PNG
	case "webp":
		o.Format = WebP
	case "avif", "heic", "heif":
		return o, fmt.Errorf("format %q is read and not written; want jpeg, png or webp", format)
	default:
		return o, fmt.Errorf("format %q cannot be written; want jpeg, png or webp", format)
	}
	if quality == 0 {
		o.Quality = DefaultQuality
	} else if quality < 1 || quality > 100 {
		return o, fmt.Errorf("quality %d is out of range 1..100", quality)
	}
	if o.Format == PNG && quality != 0 {
		return o, fmt.Errorf("quality %d has no meaning for png, which is lossless; leave it out", quality)
	}
	return o, nil
}

// Chroma is the subsampling in which an encoder wants YCbCr planes.
func (o EncodeOptions) Chroma() Chroma {
	if o.Format == JPEG {
		return Chroma420
	}
	return Chroma444
}

// maxJPEGSide is the largest side that the JPEG format can express; WebP has 16383.
const (
	maxJPEGSide = 65535
	maxWebPSide = 16383
)

// Encode compresses a picture and returns the file, which lives until Reset. Colour profiles are embedded
// in JPEG and PNG; alpha is laid on white for JPEG.
func (w *Worker) Encode(m *Image, o EncodeOptions) (out []byte, err error) {
	defer recoverDecoder(&err)
	uw, uh := m.UprightSize()
	own := *m
	m = &own
	settleProfile(m)
	switch {
	case o.Format == JPEG && (uw > maxJPEGSide || uh > maxJPEGSide):
		return nil, fmt.Errorf("encode image: jpeg cannot hold %dx%d pixels, its limit is %d a side; resize before", uw, uh, maxJPEGSide)
	case o.Format == WebP && (uw > maxWebPSide || uh > maxWebPSide):
		return nil, fmt.Errorf("encode image: webp cannot hold %dx%d pixels, its limit is %d a side; resize before", uw, uh, maxWebPSide)
	case o.Format == JPEG:
		return w.encodeJPEG(m, o.Quality)
	}
	w.out.Reset()
	std := w.toImage(m, o.Format == PNG)
	if o.Format == PNG {
		if err := png.Encode(&w.out, std); err != nil {
			return nil, fmt.Errorf("encode png: %w", err)
		}
		if m.Profile != nil {
			return appendPNGProfile(nil, w.out.Bytes(), m.Profile), nil
		}
		return w.out.Bytes(), nil
	}
	if err := webp.Encode(&w.out, std, webp.Options{Quality: min(o.Quality, 99), Method: webp.DefaultMethod}); err != nil {
		return nil, fmt.Errorf("encode webp: %w", err)
	}
	return w.out.Bytes(), nil
}

func (w *Worker) encodeJPEG(m *Image, quality int) ([]byte, error) {
	if m.Depth == 16 {
		m = w.toDepth8(m)
	}
	if m.Model == RGBA {
		m = w.flatten(m)
	}
	m = w.upright(m)
	if m.Model == YCbCr {
		m = w.withChroma(m, Chroma420)
	}
	out, err := w.compressJPEG(m, quality)
	if err == nil && m.Profile != nil {
		out = appendJPEGProfile(w.scratch.alloc(len(out) + len(m.Profile) + 4096)[:0], out, m.Profile)
	}
	return out, err
}

func (w *Worker) compressJPEG(m *Image, quality int) ([]byte, error) {
	if !w.useTurbo {
		if m.Model == RGB {
			m = w.rgbToYCbCr(m)
		}
		w.out.Reset()
		if err := jpeg.Encode(&w.out, w.toImage(m, false), &jpeg.Options{Quality: quality}); err != nil {
			return nil, fmt.Errorf("encode jpeg: %w", err)
		}
		return w.out.Bytes(), nil
	}
	enc, err := w.encoder()
	if err != nil {
		return nil, err
	}
	dst := w.scratch.alloc(turbo.S420.MaxEncodedBytes(m.W, m.H))
	var n int
	switch m.Model {
	case YCbCr:
		padLuma(m)
		n, err = enc.YUV(dst, m.Pix, m.Stride, m.W, m.H, turbo.S420, quality)
	default:
		n, err = enc.Packed(dst, m.Pix[0], m.Stride[0], m.W, m.H, m.Model.Channels(), turbo.S420, quality)
	}
	if err != nil {
		return nil, err
	}
	return dst[:n], nil
}

// padLuma repeats the last column and row of the luma plane up to whole chroma samples, which the native
// encoder reads. Planes of ours and of the standard decoder have room for it.
func padLuma(m *Image) {
	p, stride := m.Pix[0], m.Stride[0]
	if m.W%2 == 1 {
		for y := range m.H {
			p[y*stride+m.W] = p[y*stride+m.W-1]
		}
	}
	if m.H%2 == 1 {
		copy(p[m.H*stride:][:(m.W+1)&^1], p[(m.H-1)*stride:])
	}
}

// toImage views a picture as one of the standard library's kinds.
func (w *Worker) toImage(m *Image, keepDepth bool) image.Image {
	r := image.Rect(0, 0, m.W, m.H)
	if m.Model == YCbCr && m.Orient == 1 && !keepDepth {
		ratio := image.YCbCrSubsampleRatio444
		if m.Chroma == Chroma420 {
			ratio = image.YCbCrSubsampleRatio420
		} else {
			m = w.fullChroma(m)
		}
		return &image.YCbCr{Y: m.Pix[0], Cb: m.Pix[1], Cr: m.Pix[2], YStride: m.Stride[0], CStride: m.Stride[1], SubsampleRatio: ratio, Rect: r}
	}
	if keepDepth && m.Depth == 16 {
		return w.toImage16(w.upright(m))
	}
	if m.Model == Grey {
		m = w.Convert(m, Grey, false)
		return &image.Gray{Pix: m.Pix[0], Stride: m.Stride[0], Rect: image.Rect(0, 0, m.W, m.H)}
	}
	m = w.Convert(m, RGBA, false)
	return &image.NRGBA{Pix: m.Pix[0], Stride: m.Stride[0], Rect: image.Rect(0, 0, m.W, m.H)}
}

// toImage16 makes a 16-bit picture in the byte order of the standard library.
func (w *Worker) toImage16(m *Image) image.Image {
	r := image.Rect(0, 0, m.W, m.H)
	n := m.Model.Channels()
	if m.Model == Grey {
		out := image.NewGray16(r)
		for y := range m.H {
			swapBytes(out.Pix[y*out.Stride:], m.Pix[0][y*m.Stride[0]:][:m.W*2])
		}
		return out
	}
	out := image.NewNRGBA64(r)
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:], out.Pix[y*out.Stride:]
		for x := range m.W {
			dst[x*8+6], dst[x*8+7] = 255, 255
			swapBytes(dst[x*8:], src[x*n*2:(x+1)*n*2])
		}
	}
	return out
}

func swapBytes(dst, src []byte) {
	for i := 0; i+1 < len(src); i += 2 {
		dst[i], dst[i+1] = src[i+1], src[i]
	}
}
