package heif

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Numbers of heif.h.
const (
	spaceRGB, spaceGrey               = 1, 2
	chromaGrey, chromaRGB, chromaRGBA = 0, 10, 11
	chromaWideRGB, chromaWideRGBA     = 14, 15 // little-endian
	channelY, channelInterleaved      = 0, 10
	optionStrict                      = 41 // offset in struct heif_decoding_options
	strictSince                       = 3  // version of that struct

	codeUnsupportedType, codeUnsupported, codeMemory, codePlugin = 3, 4, 6, 7
	subcodeEnd                                                   = 100
)

// Error is the library's verdict on a file.
type Error struct {
	Code, Subcode uint32
	Text          string
}

// Error gives the library's own words.
func (e *Error) Error() string { return e.Text }

// Unsupported reports whether the library lacks what the file needs, so that another decoder may do.
func (e *Error) Unsupported() bool {
	return e.Code == codeUnsupportedType || e.Code == codeUnsupported || e.Code == codePlugin
}

// Truncated reports whether the data ended early.
func (e *Error) Truncated() bool { return e.Subcode == subcodeEnd }

func (s status) err() error {
	if s.Code == 0 {
		return nil
	}
	t := text(s.Message)
	if t == "" {
		t = fmt.Sprintf("error %d.%d", s.Code, s.Subcode)
	}
	return &Error{s.Code, s.Subcode, t}
}

// Options say which pixels are wanted.
type Options struct {
	Grey    bool // one channel; not with Alpha
	Alpha   bool // four channels
	Wide    bool // 16 bits a sample, of which Picture.Depth count
	MaxSide int  // of any picture in the file
}

// Picture is a decoded picture. Its rows are Stride bytes apart, in memory of the library.
type Picture struct {
	W, H, Depth, Stride int
	Pix                 []byte
}

// Decode decodes the picture that a file shows and calls take with it. Pixels are valid until take returns. They are cut, turned and
// mirrored as the file says.
func Decode(data []byte, o Options, take func(Picture) error) error {
	lib := load()
	if lib.err != nil {
		return lib.err
	}
	if len(data) == 0 {
		return errors.New("decode picture: no data")
	}
	// What C keeps from one call to the next stays where it is.
	out := new(struct{ handle, image uintptr })
	stride := new(int32)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&data[0])
	pin.Pin(out)
	pin.Pin(stride)

	ctx, _, _ := purego.SyscallN(lib.sym.alloc)
	if ctx == 0 {
		return errors.New("decode picture: libheif has no memory")
	}
	defer func() { purego.SyscallN(lib.sym.free, ctx) }()
	purego.SyscallN(lib.sym.threads, ctx, 0) // on this thread
	if o.MaxSide > 0 {
		purego.SyscallN(lib.sym.limit, ctx, uintptr(o.MaxSide))
	}
	if err := lib.read(ctx, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), 0).err(); err != nil {
		return err
	}
	if err := lib.primary(ctx, uintptr(unsafe.Pointer(&out.handle))).err(); err != nil {
		return err
	}
	defer func() { purego.SyscallN(lib.sym.releaseHandle, out.handle) }()
	options, _, _ := purego.SyscallN(lib.sym.options)
	if options == 0 {
		return errors.New("decode picture: libheif has no memory")
	}
	defer func() { purego.SyscallN(lib.sym.freeOptions, options) }()
	raw := *(*unsafe.Pointer)(unsafe.Pointer(&options))
	if *(*byte)(raw) >= strictSince {
		*(*byte)(unsafe.Add(raw, optionStrict)) = 1 // a damaged stream is an error, not a picture
	}
	space, chroma, channel, size := o.layout()
	if err := lib.decode(out.handle, uintptr(unsafe.Pointer(&out.image)), space, chroma, options).err(); err != nil {
		return err
	}
	defer func() { purego.SyscallN(lib.sym.releaseImage, out.image) }()
	w, _, _ := purego.SyscallN(lib.sym.width, out.image, uintptr(channel))
	h, _, _ := purego.SyscallN(lib.sym.height, out.image, uintptr(channel))
	depth, _, _ := purego.SyscallN(lib.sym.depth, out.image, uintptr(channel))
	plane, _, _ := purego.SyscallN(lib.sym.plane, out.image, uintptr(channel), uintptr(unsafe.Pointer(stride)))
	p := Picture{W: int(int32(w)), H: int(int32(h)), Depth: int(int32(depth)), Stride: int(*stride)}
	if plane == 0 || p.W <= 0 || p.H <= 0 || p.Depth < 1 || p.Depth > 16 {
		return fmt.Errorf("decode picture: libheif gave %dx%d pixels of %d bits", p.W, p.H, p.Depth)
	}
	if o.Grey && p.Depth > 8 != o.Wide {
		return fmt.Errorf("decode picture: libheif gave %d bits a sample", p.Depth) // a plane has the samples of the file
	}
	if p.Stride < p.W*size {
		return fmt.Errorf("decode picture: libheif gave rows of %d bytes for %d pixels of %d", p.Stride, p.W, size)
	}
	p.Pix = unsafe.Slice(*(**byte)(unsafe.Pointer(&plane)), p.Stride*(p.H-1)+p.W*size)
	return take(p)
}

// layout gives colour space, chroma and channel to ask for, and the bytes of a pixel.
func (o Options) layout() (space, chroma int32, channel, size int) {
	wide := 1
	if o.Wide {
		wide = 2
	}
	switch {
	case o.Grey:
		return spaceGrey, chromaGrey, channelY, wide
	case o.Alpha && o.Wide:
		return spaceRGB, chromaWideRGBA, channelInterleaved, 8
	case o.Wide:
		return spaceRGB, chromaWideRGB, channelInterleaved, 6
	case o.Alpha:
		return spaceRGB, chromaRGBA, channelInterleaved, 4
	}
	return spaceRGB, chromaRGB, channelInterleaved, 3
}
