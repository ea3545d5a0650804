package imaging

import (
	"errors"
	"fmt"
)

// Limits bound a picture before any of its pixels is decoded.
type Limits struct {
	// MaxPixels is the largest width times height that a header may announce.
	MaxPixels int64
	// MaxBytes is the largest encoded file.
	MaxBytes int64
}

// DefaultLimits fit the largest consumer cameras (100 megapixels) and files of 256 MiB.
var DefaultLimits = Limits{MaxPixels: 100_000_000, MaxBytes: 256 << 20}

// maxSide bounds either side, so that products of sizes never overflow.
const maxSide = 1 << 20

// maxScans bounds the scans of a JPEG: each is a pass over all coefficients, so a small file
// with thousands of them would decode for hours.
const maxScans = 500

// Classes of failure, for errors.Is. The text around them names values and remedies.
var (
	ErrEmpty       = errors.New("file is empty (0 bytes)")
	ErrNotImage    = errors.New("not an image")
	ErrTruncated   = errors.New("data is truncated")
	ErrCorrupt     = errors.New("data is corrupt")
	ErrTooLarge    = errors.New("image is too large")
	ErrUnsupported = errors.New("not supported")
)

func (l Limits) checkBytes(n int) error {
	if l.MaxBytes > 0 && int64(n) > l.MaxBytes {
		return fmt.Errorf("%w: file has %d bytes, above the limit of %d; raise max_bytes to decode it", ErrTooLarge, n, l.MaxBytes)
	}
	return nil
}

func (l Limits) checkPixels(f Format, w, h int) error {
	if w <= 0 || h <= 0 {
		return fmt.Errorf("%w: %s header announces %dx%d pixels", ErrCorrupt, f, w, h)
	}
	if px := int64(w) * int64(h); l.MaxPixels > 0 && px > l.MaxPixels {
		return fmt.Errorf("%w: %s header announces %dx%d = %d pixels, above the limit of %d; raise max_pixels to decode it",
			ErrTooLarge, f, w, h, px, l.MaxPixels)
	}
	if w > maxSide || h > maxSide {
		return fmt.Errorf("%w: %s header announces %dx%d pixels, a side is above the limit of %d", ErrTooLarge, f, w, h, maxSide)
	}
	return nil
}
