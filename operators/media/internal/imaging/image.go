package imaging

import "fmt"

// Model is how the samples of an [Image] are laid out.
type Model uint8

// The layouts. Packed models keep all channels of a pixel together in plane 0; YCbCr has
// three planes whose chroma may be smaller.
const (
	Grey Model = iota
	RGB
	RGBA // not premultiplied
	YCbCr
)

// Channels is the number of samples of one pixel.
func (m Model) Channels() int {
	switch m {
	case Grey:
		return 1
	case RGBA:
		return 4
	default:
		return 3
	}
}

// String gives the name that users see.
func (m Model) String() string {
	switch m {
	case Grey:
		return "grey"
	case RGB:
		return "rgb"
	case RGBA:
		return "rgba"
	default:
		return "ycbcr"
	}
}

// Chroma is the number of luma samples per chroma sample in each direction.
type Chroma struct{ H, V int }

// The subsamplings that this package chooses by itself; decoded files may have others.
var (
	Chroma444 = Chroma{1, 1}
	Chroma420 = Chroma{2, 2}
)

// Image is one picture in a worker's scratch memory. Rows are Stride bytes apart. Samples have
// Depth bits (8, or 16 in little-endian order for packed models). A YCbCr picture uses the full
// range of JFIF, and its chroma planes have ceil(W/Chroma.H) x ceil(H/Chroma.V) samples,
// centred on the luma samples they cover.
type Image struct {
	W, H   int
	Model  Model
	Depth  int
	Chroma Chroma
	Pix    [3][]byte
	Stride [3]int
	// Scale is the denominator of scaled decoding: a picture of W x H stands for a source
	// of SrcW x SrcH pixels, whose last column or row may be covered in part only.
	SrcW, SrcH, Scale int
	// Orient is the EXIF orientation that is still to be applied, 1 if none. W, H, SrcW and SrcH are
	// sizes before it.
	Orient int
	// Profile is the ICC profile that the samples refer to, nil for sRGB. It aliases the file.
	Profile []byte
}

// bytesPerPixel of a packed picture.
func (m *Image) bytesPerPixel() int { return m.Model.Channels() * m.Depth / 8 }

// planeSize gives the samples per row and the rows of plane i.
func (m *Image) planeSize(i int) (w, h int) {
	if m.Model == YCbCr && i > 0 {
		return ceilDiv(m.W, m.Chroma.H), ceilDiv(m.H, m.Chroma.V)
	}
	return m.W, m.H
}

// planes is the number of planes in use.
func (m *Image) planes() int {
	if m.Model == YCbCr {
		return 3
	}
	return 1
}

// Bytes is the size of the pixels when packed without padding.
func (m *Image) Bytes() int { return m.W * m.H * m.bytesPerPixel() }

// CopyPixels writes the pixels of a packed picture row by row without padding into dst,
// which needs Bytes() bytes.
func (m *Image) CopyPixels(dst []byte) error {
	if m.Model == YCbCr {
		return fmt.Errorf("copy pixels: picture is ycbcr, convert it first")
	}
	row := m.W * m.bytesPerPixel()
	if len(dst) < row*m.H {
		return fmt.Errorf("copy pixels: %dx%d needs %d bytes, buffer has %d", m.W, m.H, row*m.H, len(dst))
	}
	if m.Stride[0] == row {
		copy(dst, m.Pix[0][:row*m.H])
		return nil
	}
	for y := range m.H {
		copy(dst[y*row:(y+1)*row], m.Pix[0][y*m.Stride[0]:])
	}
	return nil
}

// Wrap views packed 8- or 16-bit pixels without padding as a picture. The picture aliases pix and
// must not be written to.
func Wrap(pix []byte, w, h, channels, depth int, profile []byte) (*Image, error) {
	var model Model
	switch channels {
	case 1:
		model = Grey
	case 3:
		model = RGB
	case 4:
		model = RGBA
	default:
		return nil, fmt.Errorf("read pixels: %d channels are not supported, want 1, 3 or 4", channels)
	}
	if depth != 8 && depth != 16 {
		return nil, fmt.Errorf("read pixels: %d bits a sample are not supported, want 8 or 16", depth)
	}
	const maxSide = 1 << 24
	if w <= 0 || h <= 0 || w > maxSide || h > maxSide {
		return nil, fmt.Errorf("read pixels: size %dx%d is out of range", w, h)
	}
	if want := w * h * channels * depth / 8; want != len(pix) {
		return nil, fmt.Errorf("read pixels: %dx%d with %d channels of %d bits needs %d bytes, has %d", w, h, channels, depth, want, len(pix))
	}
	m := &Image{W: w, H: h, Model: model, Depth: depth, SrcW: w, SrcH: h, Scale: 1, Orient: 1, Profile: profile}
	m.Pix[0], m.Stride[0] = pix, w*channels*depth/8
	return m, nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
