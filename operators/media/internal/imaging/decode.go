package imaging

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/png"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// Mode says which pixels a decoded picture is to have.
type Mode uint8

// The modes. ModeRGB is the default of the decode operator.
const (
	ModeRGB  Mode = iota // 8-bit RGB: grey and palettes expanded, alpha laid on white
	ModeGrey             // 8-bit luma
	ModeRGBA             // 8-bit RGB with alpha, opaque where the file has none
	ModeKeep             // the channels and the depth (8 or 16) of the file
)

// ParseMode reads the name of a mode.
func ParseMode(s string) (Mode, error) {
	switch s {
	case "", "rgb":
		return ModeRGB, nil
	case "grey", "gray":
		return ModeGrey, nil
	case "rgba":
		return ModeRGBA, nil
	case "keep":
		return ModeKeep, nil
	}
	return 0, fmt.Errorf("mode %q is unknown; want rgb, grey, rgba or keep", s)
}

// String gives the name that users write.
func (m Mode) String() string { return [...]string{"rgb", "grey", "rgba", "keep"}[m&3] }

// DecodeOptions say what the caller will do with the picture, so that nothing more is decoded.
type DecodeOptions struct {
	Mode Mode
	// Scale is the largest denominator (1, 2, 4, 8) by which the picture may be shrunk while it is
	// decoded. See ScaleFor.
	Scale int
	// Packed asks for RGB pixels rather than YCbCr planes where both are at hand.
	Packed bool
}

// A picture that was shrunk while decoding must still be larger than the target by a margin. With less, the box-like filter of
// scaled decoding would show in the result. Small pictures have more detail per pixel and little to gain.
const (
	scaleMargin      = 1.5
	scaleMarginLarge = 1.2     // for halves and quarters of large pictures
	largePixels      = 1 << 20 // from here on a picture is large
)

// ScaleFor gives the denominator of scaled decoding for a resize.
func ScaleFor(g Geometry) int {
	for _, s := range []int{8, 4, 2} {
		margin := scaleMargin
		if s < 8 && g.From.W*g.From.H >= largePixels {
			margin = scaleMarginLarge
		}
		if g.Ratio() >= float64(s)*margin {
			return s
		}
	}
	return 1
}

// Decode decodes a picture whose header was read. The result has the layout that is cheapest to get: YCbCr
// planes, grey, or packed pixels, possibly scaled, its orientation still to be applied; Convert or Resample finish it.
// Alpha and depth are those that the mode asks for.
func (w *Worker) Decode(data []byte, h Header, opt DecodeOptions) (m *Image, err error) {
	defer recoverDecoder(&err)
	switch h.Format {
	case JPEG:
		m, err = w.decodeJPEG(data, h, opt)
	case AVIF, HEIC:
		var upright bool
		if m, upright, err = w.decodeHEIF(data, h); upright {
			h.Orientation = 1
		}
	default:
		m, err = w.decodeOther(data, h)
	}
	if err != nil {
		return nil, err
	}
	if m.SrcW == 0 || m.Scale == 1 {
		m.SrcW, m.SrcH, m.Scale = m.W, m.H, 1
	}
	if sw, sh := h.stored(); m.SrcW != sw || m.SrcH != sh {
		return nil, fmt.Errorf("%w: %s header announces %dx%d pixels, decoder gave %dx%d", ErrCorrupt, h.Format, sw, sh, m.SrcW, m.SrcH)
	}
	m.Orient, m.Profile = h.Orientation, h.icc
	return w.applyMode(m, opt.Mode), nil
}

// applyMode settles alpha, depth and grey. What is left for later is only exact or layout: YCbCr to RGB and
// grey to RGB.
func (w *Worker) applyMode(m *Image, mode Mode) *Image {
	if mode == ModeKeep {
		return m
	}
	if m.Depth == 16 {
		m = w.toDepth8(m)
	}
	if m.Model == RGBA && mode != ModeRGBA {
		m = w.flatten(m)
	}
	if mode == ModeGrey && m.Model != Grey {
		m = w.toGrey(m)
	}
	if mode == ModeRGBA {
		m = w.toRGBA(m)
	}
	return m
}

// Finish gives the pixels that the mode promises, upright and packed.
func (w *Worker) Finish(m *Image, mode Mode) *Image {
	model, keepDepth := RGB, false
	switch {
	case mode == ModeGrey:
		model = Grey
	case mode == ModeRGBA:
		model = RGBA
	case mode == ModeKeep && m.Model != YCbCr:
		model, keepDepth = m.Model, true
	}
	out := *w.Convert(m, model, keepDepth)
	settleProfile(&out)
	return &out
}

func (w *Worker) decodeOther(data []byte, h Header) (*Image, error) {
	var src image.Image
	var err error
	r := bytes.NewReader(data)
	switch h.Format {
	case PNG:
		src, err = png.Decode(r)
	case GIF:
		return w.decodeGIF(data)
	case BMP:
		src, err = bmp.Decode(r)
	case TIFF:
		src, err = tiff.Decode(r)
	case WebP:
		return w.decodeWebP(data)
	default:
		return nil, describeUnknown(data)
	}
	if err != nil {
		return nil, classify(h.Format, len(data), err)
	}
	return w.fromImage(src)
}

// decodeGIF decodes the first frame and lays it on its canvas.
func (w *Worker) decodeGIF(data []byte) (*Image, error) {
	cfg, err := gif.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, classify(GIF, len(data), err)
	}
	src, err := gif.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, classify(GIF, len(data), err)
	}
	m, err := w.fromImage(src)
	if err != nil {
		return nil, err
	}
	return w.onCanvas(m, src.Bounds().Min.X, src.Bounds().Min.Y, cfg.Width, cfg.Height)
}

func (w *Worker) decodeWebP(data []byte) (*Image, error) {
	frame, err := firstWebPFrame(data)
	if err != nil {
		return nil, err
	}
	if frame != nil {
		size := len(data)
		data = frame.file
		cfg, err := webp.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			return nil, classify(WebP, size, err)
		}
		if cfg.Width != frame.w || cfg.Height != frame.h {
			return nil, fmt.Errorf("%w: webp frame of %dx%d holds a picture of %dx%d", ErrCorrupt, frame.w, frame.h, cfg.Width, cfg.Height)
		}
	}
	m, err := w.decodeStillWebP(data)
	if err != nil || frame == nil {
		return m, err
	}
	return w.onCanvas(m, frame.x, frame.y, frame.canvasW, frame.canvasH)
}

// onCanvas places the first frame of an animation on its transparent canvas.
func (w *Worker) onCanvas(m *Image, x, y, cw, ch int) (*Image, error) {
	if x == 0 && y == 0 && m.W == cw && m.H == ch {
		return m, nil
	}
	if !(Rect{x, y, m.W, m.H}).inside(cw, ch) {
		return nil, fmt.Errorf("%w: frame of %dx%d at %d,%d leaves its canvas of %dx%d", ErrCorrupt, m.W, m.H, x, y, cw, ch)
	}
	m = w.toRGBA(m)
	out := w.newImage(cw, ch, RGBA, 8, Chroma444)
	clear(out.Pix[0])
	for row := range m.H {
		copy(out.Pix[0][(y+row)*out.Stride[0]+x*4:], m.Pix[0][row*m.Stride[0]:][:m.W*4])
	}
	return out, nil
}
