package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"
)

// scene is a picture without symmetry: a diagonal of colours with a bright corner.
func scene(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{byte(40 + 150*x/w), byte(40 + 150*y/h), 60, 255}
			if x < w/3 && y < h/4 {
				c = color.RGBA{250, 240, 90, 255}
			}
			m.SetRGBA(x, y, c)
		}
	}
	return m
}

// exifBlock is an APP1 segment with an orientation tag.
func exifBlock(orientation uint16, order binary.AppendByteOrder) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, e := range [][2]uint16{{0x0100, 7}, {0x0112, orientation}} {
		tiff = order.AppendUint16(tiff, e[0])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, e[1])
		tiff = order.AppendUint16(tiff, 0)
	}
	tiff = order.AppendUint32(tiff, 0)
	return app1(tiff)
}

func app1(tiff []byte) []byte {
	body := append([]byte("Exif\x00\x00"), tiff...)
	return append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(body)+2)), body...)
}

// jpegWith encodes a picture and inserts segments after the first marker.
func jpegWith(t testing.TB, m image.Image, quality int, segments ...[]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := jpeg.Encode(&buf, m, &jpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	out := append([]byte(nil), buf.Bytes()[:2]...)
	for _, s := range segments {
		out = append(out, s...)
	}
	return append(out, buf.Bytes()[2:]...)
}

// stored gives the picture that, shown with the orientation, looks like m. It is the plain table of the EXIF standard.
func stored(m *image.RGBA, orientation int) *image.RGBA {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	sw, sh := w, h
	if orientation >= 5 {
		sw, sh = h, w
	}
	out := image.NewRGBA(image.Rect(0, 0, sw, sh))
	for y := range h {
		for x := range w {
			sx, sy := x, y
			switch orientation {
			case 2:
				sx = w - 1 - x
			case 3:
				sx, sy = w-1-x, h-1-y
			case 4:
				sy = h - 1 - y
			case 5:
				sx, sy = y, x
			case 6:
				sx, sy = y, w-1-x
			case 7:
				sx, sy = h-1-y, w-1-x
			case 8:
				sx, sy = h-1-y, x
			}
			out.SetRGBA(sx, sy, m.RGBAAt(x, y))
		}
	}
	return out
}

func TestOrientation(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		for _, size := range [][2]int{{96, 64}, {97, 65}, {64, 33}} {
			for _, steps := range [][]Step{
				nil, {Resize{W: 41, H: 29}}, {Crop{W: 31, H: 20, X: 11, Y: 5}}, {Crop{W: 31, H: 21, X: 11, Y: 5}, Resize{W: 15, H: 16}},
				{Resize{W: 41, H: 29}, Compress{EncodeOptions{JPEG, 95}}}, {Compress{EncodeOptions{JPEG, 95}}}, {Compress{EncodeOptions{PNG, 0}}},
				{ToMode{ModeRGBA}, Resize{W: 20, H: 31}, ToMode{ModeRGB}},
			} {
				m := scene(size[0], size[1])
				want := pixels(t, w, jpegWith(t, m, 97), steps...)
				for o := 1; o <= 8; o++ {
					order := binary.AppendByteOrder(binary.LittleEndian)
					if o%2 == 0 {
						order = binary.BigEndian
					}
					got := pixels(t, w, jpegWith(t, stored(m, o), 97, exifBlock(uint16(o), order)), steps...)
					if mean, psnr := difference(t, got, want); mean > ComposedTolerance || psnr < 30 {
						t.Errorf("%v, orientation %d, %s: mean difference %.2f, PSNR %.1f", size, o, describe(steps), mean, psnr)
					}
				}
			}
		}
	})
}

func TestBrokenExifCountsAsNone(t *testing.T) {
	good := exifBlock(6, binary.LittleEndian)
	w := NewWorker()
	defer w.Close()
	cut := append([]byte(nil), good[4:]...)
	far := append([]byte(nil), good...)
	binary.LittleEndian.PutUint32(far[14:], 1<<31-1)
	many := append([]byte(nil), good...)
	binary.LittleEndian.PutUint16(many[18:], 65535)
	many[20] = 0xee
	many[32] = 0xee
	for name, segment := range map[string][]byte{
		"no directory": app1([]byte("II*\x00\x08\x00\x00\x00")), "no order": app1([]byte("XX*\x00\x08\x00\x00\x00\x00\x00")), "empty": app1(nil),
		"directory far outside": far, "count far too large": many, "value 9": exifBlock(9, binary.BigEndian), "value 0": exifBlock(0, binary.BigEndian),
		"cut": app1(cut[6:20]), "own offset": app1([]byte("MM\x00*\x00\x00\x00\x00\x00\x01")),
	} {
		data := jpegWith(t, scene(96, 64), 90, segment)
		h, err := ReadHeader(data, DefaultLimits)
		if err != nil || h.Orientation != 1 || h.Width != 96 {
			t.Errorf("%s: orientation %d, width %d, error %v; want 1, 96", name, h.Orientation, h.Width, err)
		}
		if m := pixels(t, w, data); m.W != 96 || m.H != 64 {
			t.Errorf("%s: %dx%d, want 96x64", name, m.W, m.H)
		}
	}
	if h, err := ReadHeader(jpegWith(t, scene(96, 64), 90, good), DefaultLimits); err != nil || h.Orientation != 6 || h.Width != 64 {
		t.Errorf("good block: orientation %d, width %d, error %v", h.Orientation, h.Width, err)
	}
}

func TestTurnsAreTheTableOfTheStandard(t *testing.T) {
	m := scene(5, 3)
	for o := 1; o <= 8; o++ {
		s := stored(m, o)
		src, err := Wrap(packRGBA(s), s.Rect.Dx(), s.Rect.Dy(), 4, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		src.Orient = o
		w := NewWorker()
		got := clone(t, w.upright(src))
		if fmt.Sprint(got.Pix[0]) != fmt.Sprint(packRGBA(m)) {
			t.Errorf("orientation %d: pixels differ", o)
		}
		w.Close()
	}
}

func packRGBA(m *image.RGBA) []byte { return m.Pix }

func TestOrientationOfOtherFormats(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	tiff := exifBlock(6, binary.BigEndian)[10:]
	var buf bytes.Buffer
	if err := png.Encode(&buf, scene(30, 20)); err != nil {
		t.Fatal(err)
	}
	chunk := append([]byte("eXIf"), tiff...)
	file := append([]byte(nil), buf.Bytes()[:33]...)
	file = binary.BigEndian.AppendUint32(file, uint32(len(tiff)))
	file = binary.BigEndian.AppendUint32(append(file, chunk...), crc32.ChecksumIEEE(chunk))
	file = append(file, buf.Bytes()[33:]...)
	if m := pixels(t, w, file); m.W != 20 || m.H != 30 {
		t.Errorf("png: %dx%d, want 20x30", m.W, m.H)
	}

	still := photo(t, "gravel.webp")
	out := append([]byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x08\x00\x00\x00\xff\x01\x00\xff\x01\x00"), still[12:]...)
	exif := append([]byte("Exif\x00\x00"), tiff...)
	out = binary.LittleEndian.AppendUint32(append(out, "EXIF"...), uint32(len(exif)))
	out = append(out, exif...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	if h, err := ReadHeader(out, DefaultLimits); err != nil || h.Orientation != 6 {
		t.Errorf("webp: orientation %d, %v; want 6", h.Orientation, err)
	}
	plain := pixels(t, w, still)
	if turned := pixels(t, w, out); !bytes.Equal(turned.Pix[0][:3], plain.Pix[0][511*plain.Stride[0]:][:3]) {
		t.Error("webp: the first pixel is not that of the lower left corner")
	}
}
