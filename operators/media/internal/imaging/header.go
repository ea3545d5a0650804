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

// Header is what is known of a picture before any pixel is decoded.
type Header struct {
	Format Format
	// Width and Height are upright: after EXIF orientation.
	Width, Height int
	// Orientation is the EXIF orientation, 1 to 8; 1 is upright.
	Orientation int

	jpeg jpegInfo
	icc  []byte
	heif *heifInfo // of AVIF and HEIC
}

// Samples says what the samples of an AVIF or HEIC picture are: bits, one channel, alpha.
func (h *Header) Samples() (depth int, grey, alpha bool) {
	if h.heif == nil {
		return 0, false, false
	}
	return h.heif.depth, h.heif.grey, h.heif.alpha
}

// stored returns the size as it is stored, before orientation.
func (h *Header) stored() (w, ht int) {
	if h.Orientation >= 5 {
		return h.Height, h.Width
	}
	return h.Width, h.Height
}

// ReadHeader detects the format and reads size and orientation. It refuses files above the limits,
// decodes no pixels, and turns a panic of a decoder into an error.
func ReadHeader(data []byte, limits Limits) (h Header, err error) {
	defer recoverDecoder(&err)
	h = Header{Format: Detect(data), Orientation: 1}
	if h.Format == Unknown {
		return h, describeUnknown(data)
	}
	if err := limits.checkBytes(len(data)); err != nil {
		return h, err
	}
	w, ht, err := h.size(data, limits)
	if err != nil {
		return h, err
	}
	if err := limits.checkPixels(h.Format, w, ht); err != nil {
		return h, err
	}
	h.Width, h.Height = w, ht
	if h.Orientation >= 5 {
		h.Width, h.Height = ht, w
	}
	return h, nil
}

// size reads the stored size and, by the way, orientation and colour profile.
func (h *Header) size(data []byte, limits Limits) (w, ht int, err error) {
	switch h.Format {
	case JPEG:
		h.jpeg, err = readJPEGInfo(data)
		h.Orientation, h.icc = h.jpeg.orientation, h.jpeg.profile
		if err == nil && h.jpeg.progressive {
			if n := countScans(data); n > maxScans {
				err = fmt.Errorf("%w: jpeg has %d scans, above the limit of %d", ErrTooLarge, n, maxScans)
			}
		}
		return h.jpeg.width, h.jpeg.height, err
	case WebP:
		if frame, err := firstWebPFrame(data); frame != nil || err != nil {
			if err != nil {
				return 0, 0, err
			}
			h.icc = webpProfile(data)
			return frame.canvasW, frame.canvasH, nil
		}
		h.icc = webpProfile(data)
		h.orient(webpOrientation(data))
	case PNG:
		h.icc = pngProfile(data)
		h.orient(pngOrientation(data))
	case TIFF:
		h.orient(exifOrientation(data))
	case AVIF, HEIC:
		return h.heifSize(data, limits)
	}
	cfg, err := decodeConfig(h.Format, data)
	if err != nil {
		return 0, 0, classify(h.Format, len(data), err)
	}
	return cfg.Width, cfg.Height, nil
}

// heifSize reads the boxes of AVIF and HEIC. Turns and mirrors are properties there; what EXIF says of them has no meaning (ISO/IEC 23008-12, A.2.1).
func (h *Header) heifSize(data []byte, limits Limits) (w, ht int, err error) {
	info, err := readHEIFInfo(data, limits)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", h.Format, err)
	}
	h.Format, h.Orientation, h.icc, h.heif = info.format, info.turned, info.icc, info
	if info.cut.W != 0 {
		return info.cut.W, info.cut.H, nil
	}
	return info.w, info.h, nil
}

// orient takes over an orientation that was found; 0 means that none was.
func (h *Header) orient(o int) {
	if o != 0 {
		h.Orientation = o
	}
}

func decodeConfig(f Format, data []byte) (image.Config, error) {
	r := bytes.NewReader(data)
	switch f {
	case PNG:
		return png.DecodeConfig(r)
	case GIF:
		return gif.DecodeConfig(r)
	case BMP:
		return bmp.DecodeConfig(r)
	case TIFF:
		return tiff.DecodeConfig(r)
	default:
		return webp.DecodeConfig(r)
	}
}
