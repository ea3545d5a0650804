package turbo

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

const (
	flagAccurateDCT = 4096
	flagNoRealloc   = 1024
	flagLimitScans  = 32768

	pixelRGB  = 0
	pixelGrey = 6

	codeWarning = 0
)

// Colorspace is the colour model inside a JPEG, numbered as TJCS in turbojpeg.h.
type Colorspace int

// The colour models that the library tells apart.
const (
	RGB Colorspace = iota
	YCbCr
	GreyScale
	CMYK
	YCCK
)

// Header is what the library reads before any pixel.
type Header struct {
	Width, Height int
	Subsampling   Subsampling
	Colorspace    Colorspace
}

// WarningError carries the first warning of a decode that wrote all of its pixels:
// the data was damaged, but how badly only the text says.
type WarningError struct{ Text string }

// Error gives the library's own words.
func (e *WarningError) Error() string { return e.Text }

// Truncated reports whether the data ended early, so that the rest of the picture is made up.
func (e *WarningError) Truncated() bool {
	return strings.Contains(strings.ToLower(e.Text), "premature end")
}

// Decoder is one decompressor of the library. It serves one goroutine at a time.
type Decoder struct {
	lib    *library
	handle uintptr
	args   callArgs
}

// callArgs holds everything that C reads or writes besides pixels. It lives on the heap
// with its Decoder or Encoder, so one pin covers it and no call allocates.
type callArgs struct {
	planes  [3]unsafe.Pointer
	strides [3]int32
	out     unsafe.Pointer
	outLen  uintptr
	w, h    int32
	samp    int32
	space   int32
}

// NewDecoder opens a decompressor. It fails with [ErrUnavailable] without the library.
func NewDecoder() (*Decoder, error) {
	lib := load()
	if lib.err != nil {
		return nil, lib.err
	}
	d := &Decoder{lib: lib}
	if err := d.reopen(); err != nil {
		return nil, err
	}
	return d, nil
}

var (
	errNoMemory = errors.New("open libjpeg-turbo decompressor: out of memory")
	errClosed   = errors.New("decode JPEG: the decoder is closed")
)

// Close frees the decompressor. A second call does nothing.
func (d *Decoder) Close() {
	if d.handle != 0 {
		purego.SyscallN(d.lib.sym.destroy, d.handle)
		d.handle = 0
	}
}

// Header reads size, subsampling and colour model. The error is final: the caller may try
// another decoder, whose verdict then counts.
func (d *Decoder) Header(data []byte) (Header, error) {
	if len(data) == 0 {
		return Header{}, errors.New("read JPEG header: no data")
	}
	if d.handle == 0 {
		return Header{}, errClosed
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	a := &d.args
	*a = callArgs{}
	pin.Pin(a)
	pin.Pin(&data[0])
	rc, _, _ := purego.SyscallN(d.lib.sym.header, d.handle,
		uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)),
		uintptr(unsafe.Pointer(&a.w)), uintptr(unsafe.Pointer(&a.h)),
		uintptr(unsafe.Pointer(&a.samp)), uintptr(unsafe.Pointer(&a.space)))
	if int32(rc) != 0 {
		text := d.lib.message(d.handle)
		return Header{}, errors.Join(fmt.Errorf("read JPEG header: %s", text), d.reopen())
	}
	h := Header{Width: int(a.w), Height: int(a.h), Subsampling: Subsampling(a.samp), Colorspace: Colorspace(a.space)}
	if h.Width <= 0 || h.Height <= 0 || h.Subsampling < 0 || h.Subsampling >= numSubsamplings {
		return Header{}, fmt.Errorf("read JPEG header: unusual layout (%dx%d, subsampling %d)", h.Width, h.Height, h.Subsampling)
	}
	return h, nil
}

// YUV decodes into planes without leaving YCbCr, scaled by 1/denom (1, 2, 4 or 8). Plane i
// has rows of strides[i] bytes; its size is Subsampling.PlaneSize of the scaled size, which
// is rounded up. A *[WarningError] means that all planes were written, from damaged data.
func (d *Decoder) YUV(data []byte, h Header, denom int, planes [3][]byte, strides [3]int) error {
	if d.handle == 0 || len(data) == 0 {
		return errClosed
	}
	w, ht := ceilDiv(h.Width, denom), ceilDiv(h.Height, denom)
	var pin runtime.Pinner
	defer pin.Unpin()
	a := &d.args
	*a = callArgs{}
	for i := range h.Subsampling.Planes() {
		pw, ph := h.Subsampling.PlaneSize(i, w, ht)
		if strides[i] < pw || len(planes[i]) < strides[i]*(ph-1)+pw {
			return fmt.Errorf("decode JPEG planes: plane %d needs %dx%d, has %d bytes in rows of %d", i, pw, ph, len(planes[i]), strides[i])
		}
		pin.Pin(&planes[i][0])
		a.planes[i], a.strides[i] = unsafe.Pointer(&planes[i][0]), int32(strides[i])
	}
	pin.Pin(a)
	pin.Pin(&data[0])
	rc, _, _ := purego.SyscallN(d.lib.sym.toYUV, d.handle,
		uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)),
		uintptr(unsafe.Pointer(&a.planes)), uintptr(w),
		uintptr(unsafe.Pointer(&a.strides)), uintptr(ht), flagLimitScans|flagAccurateDCT)
	a.planes = [3]unsafe.Pointer{}
	return d.verdict(int32(rc))
}

// Packed decodes at full size into rows of stride bytes, one (grey) or three (RGB)
// channels a pixel.
func (d *Decoder) Packed(data []byte, h Header, channels int, pix []byte, stride int) error {
	if d.handle == 0 || len(data) == 0 {
		return errClosed
	}
	format := uintptr(pixelRGB)
	if channels == 1 {
		format = pixelGrey
	} else if channels != 3 {
		return fmt.Errorf("decode JPEG: %d channels are not supported", channels)
	}
	if stride < h.Width*channels || len(pix) < stride*(h.Height-1)+h.Width*channels {
		return fmt.Errorf("decode JPEG: %dx%d pixels do not fit %d bytes in rows of %d", h.Width, h.Height, len(pix), stride)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&pix[0])
	pin.Pin(&data[0])
	rc, _, _ := purego.SyscallN(d.lib.sym.toPacked, d.handle,
		uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), uintptr(unsafe.Pointer(&pix[0])),
		uintptr(h.Width), uintptr(stride), uintptr(h.Height), format, flagLimitScans|flagAccurateDCT)
	return d.verdict(int32(rc))
}

func (d *Decoder) verdict(rc int32) error {
	if rc == 0 {
		return nil
	}
	text := d.lib.message(d.handle)
	if code, _, _ := purego.SyscallN(d.lib.sym.errorCode, d.handle); int32(code) == codeWarning {
		return &WarningError{Text: text}
	}
	return errors.Join(fmt.Errorf("decode JPEG: %s", text), d.reopen())
}

// reopen replaces the handle after a failure: a decompressor of version 2 that failed within a header takes the next picture
// for the rest of the damaged one.
func (d *Decoder) reopen() error {
	d.Close()
	h, _, _ := purego.SyscallN(d.lib.sym.initDecompress)
	if h == 0 {
		return errNoMemory
	}
	d.handle = h
	return nil
}

// message copies the last error of a handle out of C memory. The library keeps it in a
// fixed buffer of 200 bytes.
func (l *library) message(handle uintptr) string {
	p, _, _ := purego.SyscallN(l.sym.errorString, handle)
	if p == 0 {
		return "unknown error"
	}
	const limit = 200
	raw := *(*unsafe.Pointer)(unsafe.Pointer(&p))
	n := 0
	for n < limit && *(*byte)(unsafe.Add(raw, n)) != 0 {
		n++
	}
	return strings.Clone(unsafe.String((*byte)(raw), n))
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
