package imaging

import (
	"bytes"
	"errors"
	"fmt"
	"image/jpeg"

	"github.com/sluice-data/sluice/operators/media/internal/turbo"
)

// decodeJPEG uses libjpeg-turbo for grey and three-component pictures and the standard library for the
// rest, and for the last word on data that libjpeg-turbo only warns about: the two then refuse the same files.
func (w *Worker) decodeJPEG(data []byte, h Header, opt DecodeOptions) (*Image, error) {
	if w.useTurbo && (h.jpeg.components == 1 || h.jpeg.components == 3) {
		m, err := w.decodeTurbo(data, h, opt)
		if err == nil {
			return m, nil
		}
		if warn, ok := errors.AsType[*turbo.WarningError](err); ok && warn.Truncated() {
			return nil, fmt.Errorf("%w: jpeg file ends after %d bytes, before its last pixel", ErrTruncated, len(data))
		}
	}
	src, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, classify(JPEG, len(data), err)
	}
	m, err := w.fromImage(src)
	if err == nil && opt.Mode == ModeGrey && m.Model == YCbCr {
		m = w.toGrey(m)
	}
	return m, err
}

func (w *Worker) decodeTurbo(data []byte, h Header, opt DecodeOptions) (*Image, error) {
	dec, err := w.decoder()
	if err != nil {
		return nil, err
	}
	th, err := dec.Header(data)
	if err != nil {
		return nil, err
	}
	if th.Width != h.jpeg.width || th.Height != h.jpeg.height {
		return nil, fmt.Errorf("%w: jpeg has frame headers of %dx%d and %dx%d", ErrCorrupt, h.jpeg.width, h.jpeg.height, th.Width, th.Height)
	}
	switch th.Colorspace {
	case turbo.RGB:
		return w.decodeTurboPacked(dec, data, th, 3)
	case turbo.YCbCr:
		if opt.Mode == ModeGrey && opt.Scale <= 1 {
			return w.decodeTurboPacked(dec, data, th, 1)
		}
		if opt.Packed && opt.Scale <= 1 {
			return w.decodeTurboPacked(dec, data, th, 3)
		}
	case turbo.GreyScale:
	default:
		return nil, fmt.Errorf("%w: jpeg colour model %d", ErrUnsupported, th.Colorspace)
	}
	return w.decodeTurboPlanes(dec, data, th, max(opt.Scale, 1))
}

func (w *Worker) decodeTurboPacked(dec *turbo.Decoder, data []byte, th turbo.Header, channels int) (*Image, error) {
	model := RGB
	if channels == 1 {
		model = Grey
	}
	m := w.newImage(th.Width, th.Height, model, 8, Chroma444)
	return m, dec.Packed(data, th, channels, m.Pix[0], m.Stride[0])
}

func (w *Worker) decodeTurboPlanes(dec *turbo.Decoder, data []byte, th turbo.Header, scale int) (*Image, error) {
	model := YCbCr
	if th.Subsampling == turbo.Grey {
		model = Grey
	}
	fh, fv := th.Subsampling.Factors()
	m := w.newImage(ceilDiv(th.Width, scale), ceilDiv(th.Height, scale), model, 8, Chroma{fh, fv})
	m.SrcW, m.SrcH, m.Scale = th.Width, th.Height, scale
	return m, dec.YUV(data, th, scale, m.Pix, m.Stride)
}
