package imaging

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-data/sluice/operators/media/internal/avif"
	"github.com/sluice-data/sluice/operators/media/internal/heif"
)

// decodeHEIF decodes AVIF and HEIC: with libheif where it has the codec, AVIF otherwise in a sandbox. upright is whether the picture is turned already.
func (w *Worker) decodeHEIF(data []byte, h Header) (m *Image, upright bool, err error) {
	info := h.heif
	if w.nativeHEIF(info) {
		m, err = w.decodeNative(data, info)
		if bad, ok := errors.AsType[*heif.Error](err); ok {
			err = classifyHEIF(info.format, len(data), bad)
		}
		return m, true, err
	}
	if info.format == HEIC {
		return nil, false, errNoHEVC()
	}
	if info.derived {
		return nil, false, fmt.Errorf("%w: avif picture that is made of others needs libheif with a decoder of AV1", ErrUnsupported)
	}
	m, err = w.decodeSandboxed(data, info)
	if c := info.cut; err == nil && c.W != 0 {
		m.W, m.H, m.SrcW, m.SrcH = c.W, c.H, c.W, c.H
		m.Pix[0] = m.Pix[0][c.Y*m.Stride[0]+c.X*m.bytesPerPixel():]
	}
	return m, false, err
}

// nativeHEIF reports whether libheif decodes a picture. What comes as a sequence it does not in all versions.
func (w *Worker) nativeHEIF(info *heifInfo) bool {
	if info.format == HEIC {
		return w.useHEIF && heif.Has(heif.HEVC)
	}
	return w.useHEIF && !info.sequence && heif.Has(heif.AV1)
}

func errNoHEVC() error {
	why := heif.Describe()
	return fmt.Errorf("%w: no decoder of HEIC is installed (%s); install libheif with libde265: %s", ErrUnsupported, why, heifPackages)
}

// heifPackages says what to install.
const heifPackages = "libheif1 and, where it exists, libheif-plugin-libde265 (apt), libheif (brew)"

func classifyHEIF(f Format, size int, err *heif.Error) error {
	switch {
	case err.Truncated():
		return fmt.Errorf("%w: %s file of %d bytes: %w", ErrTruncated, f, size, err)
	case err.Unsupported():
		return fmt.Errorf("%w: %s: %w", ErrUnsupported, f, err)
	}
	return fmt.Errorf("%w: %s: %w", ErrCorrupt, f, err)
}

func (w *Worker) decodeNative(data []byte, info *heifInfo) (m *Image, err error) {
	o := heif.Options{Grey: info.grey && !info.alpha, Alpha: info.alpha, Wide: info.depth > 8, MaxSide: maxSide}
	model := RGB
	switch {
	case o.Grey:
		model = Grey
	case o.Alpha:
		model = RGBA
	}
	err = heif.Decode(data, o, func(p heif.Picture) error {
		m = w.copyPacked(p.Pix, p.Stride, p.W, p.H, model, p.Depth)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if info.prem {
		w.divideAlpha(m)
	}
	return m, nil
}

// decodeSandboxed decodes the first picture of an AVIF file without a library.
func (w *Worker) decodeSandboxed(data []byte, info *heifInfo) (*Image, error) {
	pics, err := w.sandbox.Decode(avif.Job{Data: data, Bytes: info.sandboxBytes(1), Time: info.patience(1), W: info.w, H: info.h, Frames: 1})
	if err != nil {
		return nil, sandboxError(err, len(data))
	}
	return w.fromSandbox(pics, 0, info), nil
}

func sandboxError(err error, size int) error {
	if errors.Is(err, avif.ErrMemory) || errors.Is(err, avif.ErrTime) {
		return fmt.Errorf("%w: avif file of %d bytes: %w", ErrTooLarge, size, err)
	}
	return fmt.Errorf("%w: avif file of %d bytes: %w", ErrCorrupt, size, err)
}

// fromSandbox copies a picture out of the sandbox.
func (w *Worker) fromSandbox(pics *avif.Pictures, i int, info *heifInfo) *Image {
	size := 4 * pics.Depth / 8
	m := w.copyPacked(pics.Pix(i), pics.W*size, pics.W, pics.H, RGBA, pics.Depth)
	if info.alpha {
		w.divideAlpha(m)
		return m
	}
	m = w.withoutAlpha(m)
	if info.grey {
		return w.firstChannel(m)
	}
	return m
}

// sandboxBytes bounds the linear memory that decoding n pictures takes.
func (info *heifInfo) sandboxBytes(n int) int64 {
	wide := int64(1)
	if info.depth > 8 {
		wide = 2
	}
	px := int64(info.w) * int64(info.h)
	codec := int64(20) // bytes a pixel, of which 17 were measured: planes with borders, and what is noted of blocks
	if n > 1 {
		codec += 30 // frames that others refer to
	}
	need := avif.ModuleBytes + int64(info.bytes) + wide*(codec*info.coded+4*px*int64(n+1))
	return (need + 1<<16 - 1) &^ (1<<16 - 1)
}

// patience bounds the time of n pictures, by far: it ends what would never end.
func (info *heifInfo) patience(n int) time.Duration {
	return time.Minute + time.Duration(info.coded*int64(n))*20*time.Microsecond
}

// copyPacked copies packed pixels of the given depth into scratch memory; more than 8 bits become 16, rounded.
func (w *Worker) copyPacked(pix []byte, stride, width, height int, model Model, depth int) *Image {
	if depth <= 8 {
		m := w.newImage(width, height, model, 8, Chroma444)
		for y := range height {
			copy(m.Pix[0][y*m.Stride[0]:], pix[y*stride:][:width*model.Channels()])
		}
		return m
	}
	m := w.newImage(width, height, model, 16, Chroma444)
	n := width * model.Channels() * 2
	most := uint32(1)<<depth - 1
	for y := range height {
		src, dst := pix[y*stride:][:n], m.Pix[0][y*m.Stride[0]:][:n]
		if depth == 16 {
			copy(dst, src)
			continue
		}
		for x := 0; x < n; x += 2 {
			v := min(uint32(binary.LittleEndian.Uint16(src[x:])), most)
			binary.LittleEndian.PutUint16(dst[x:], uint16((v*65535+most/2)/most))
		}
	}
	return m
}

// divideAlpha undoes the multiplication of colours by alpha, in place.
func (w *Worker) divideAlpha(m *Image) {
	for y := range m.H {
		row := m.Pix[0][y*m.Stride[0]:][:m.W*m.bytesPerPixel()]
		if m.Depth == 16 {
			for x := 0; x < len(row); x += 8 {
				a := uint32(binary.LittleEndian.Uint16(row[x+6:]))
				for c := x; a != 0 && a != 65535 && c < x+6; c += 2 {
					v := uint32(binary.LittleEndian.Uint16(row[c:]))
					binary.LittleEndian.PutUint16(row[c:], uint16(min((uint64(v)*65535+uint64(a)/2)/uint64(a), 65535)))
				}
			}
			continue
		}
		for x := 0; x < len(row); x += 4 {
			a := uint32(row[x+3])
			if a == 0 || a == 255 {
				continue
			}
			for c := x; c < x+3; c++ {
				row[c] = byte(min((uint32(row[c])*255+a/2)/a, 255))
			}
		}
	}
}

// withoutAlpha leaves out the fourth channel.
func (w *Worker) withoutAlpha(m *Image) *Image {
	if m.Depth == 8 {
		return w.dropAlpha(m)
	}
	return w.channels(m, RGB)
}

// firstChannel makes a grey picture of one whose channels are all the same.
func (w *Worker) firstChannel(m *Image) *Image { return w.channels(m, Grey) }

// channels keeps the first channels of a packed picture.
func (w *Worker) channels(m *Image, model Model) *Image {
	out := w.newImage(m.W, m.H, model, m.Depth, Chroma444)
	from, to := m.bytesPerPixel(), out.bytesPerPixel()
	for y := range m.H {
		src, dst := m.Pix[0][y*m.Stride[0]:][:m.W*from], out.Pix[0][y*out.Stride[0]:][:m.W*to]
		for x := range m.W {
			copy(dst[x*to:(x+1)*to], src[x*from:])
		}
	}
	return out
}
