package turbo

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Encoder is one compressor of the library. It serves one goroutine at a time.
type Encoder struct {
	lib    *library
	handle uintptr
	args   callArgs
}

// NewEncoder opens a compressor. It fails with [ErrUnavailable] without the library.
func NewEncoder() (*Encoder, error) {
	lib := load()
	if lib.err != nil {
		return nil, lib.err
	}
	h, _, _ := purego.SyscallN(lib.sym.initCompress)
	if h == 0 {
		return nil, errors.New("open libjpeg-turbo compressor: out of memory")
	}
	return &Encoder{lib: lib, handle: h}, nil
}

// Close frees the compressor. A second call does nothing.
func (e *Encoder) Close() {
	if e.handle != 0 {
		purego.SyscallN(e.lib.sym.destroy, e.handle)
		e.handle = 0
	}
}

// YUV compresses planes of a picture of w x h into dst and returns the bytes written.
// dst needs Subsampling.MaxEncodedBytes. Planes may lack the padding of PlaneSize only
// where the size is even anyway.
func (e *Encoder) YUV(dst []byte, planes [3][]byte, strides [3]int, w, h int, s Subsampling, quality int) (int, error) {
	if need := s.MaxEncodedBytes(w, h); len(dst) < need {
		return 0, fmt.Errorf("encode JPEG: buffer has %d bytes, needs %d", len(dst), need)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	a := &e.args
	*a = callArgs{}
	for i := range s.Planes() {
		pw, ph := s.PlaneSize(i, w, h)
		if strides[i] < pw || len(planes[i]) < strides[i]*(ph-1)+pw {
			return 0, fmt.Errorf("encode JPEG: plane %d needs %dx%d, has %d bytes in rows of %d", i, pw, ph, len(planes[i]), strides[i])
		}
		pin.Pin(&planes[i][0])
		a.planes[i], a.strides[i] = unsafe.Pointer(&planes[i][0]), int32(strides[i])
	}
	e.output(&pin, dst)
	rc, _, _ := purego.SyscallN(e.lib.sym.fromYUV, e.handle,
		uintptr(unsafe.Pointer(&a.planes)), uintptr(w), uintptr(unsafe.Pointer(&a.strides)), uintptr(h),
		uintptr(s), uintptr(unsafe.Pointer(&a.out)), uintptr(unsafe.Pointer(&a.outLen)),
		uintptr(quality), flagNoRealloc|flagAccurateDCT)
	return e.finish(int32(rc))
}

// Packed compresses rows of stride bytes with one (grey) or three (RGB) channels a pixel.
func (e *Encoder) Packed(dst, pix []byte, stride, w, h, channels int, s Subsampling, quality int) (int, error) {
	format := uintptr(pixelRGB)
	if channels == 1 {
		format, s = pixelGrey, Grey
	} else if channels != 3 {
		return 0, fmt.Errorf("encode JPEG: %d channels are not supported", channels)
	}
	if need := s.MaxEncodedBytes(w, h); len(dst) < need {
		return 0, fmt.Errorf("encode JPEG: buffer has %d bytes, needs %d", len(dst), need)
	}
	if stride < w*channels || len(pix) < stride*(h-1)+w*channels {
		return 0, fmt.Errorf("encode JPEG: %dx%d pixels need more than %d bytes in rows of %d", w, h, len(pix), stride)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&pix[0])
	e.args = callArgs{}
	e.output(&pin, dst)
	rc, _, _ := purego.SyscallN(e.lib.sym.fromPacked, e.handle, uintptr(unsafe.Pointer(&pix[0])),
		uintptr(w), uintptr(stride), uintptr(h), format,
		uintptr(unsafe.Pointer(&e.args.out)), uintptr(unsafe.Pointer(&e.args.outLen)),
		uintptr(s), uintptr(quality), flagNoRealloc|flagAccurateDCT)
	return e.finish(int32(rc))
}

func (e *Encoder) output(pin *runtime.Pinner, dst []byte) {
	pin.Pin(&dst[0])
	pin.Pin(&e.args)
	e.args.out, e.args.outLen = unsafe.Pointer(&dst[0]), uintptr(len(dst))
}

func (e *Encoder) finish(rc int32) (int, error) {
	n := int(e.args.outLen)
	e.args.out, e.args.planes = nil, [3]unsafe.Pointer{}
	if rc != 0 {
		return 0, fmt.Errorf("encode JPEG: %s", e.lib.message(e.handle))
	}
	return n, nil
}
