package page

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	_ "image/gif" // pictures of any kind are shown
	"image/jpeg"
	"image/png"
	"io"

	_ "golang.org/x/image/bmp" // same
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // same
	_ "golang.org/x/image/webp" // same

	"github.com/sluice-data/sluice/operators/media"
)

// maxPixels is what is decoded for a picture of the page.
const maxPixels = 40_000_000

// salvage decodes a picture, or as much of it as there is. What is missing of it comes out as some even colour.
func salvage(data []byte) (img image.Image, ok bool) {
	defer func() {
		if recover() != nil { // a decoder that panics on broken data shows nothing of it
			img, ok = nil, false
		}
	}()
	if media.IsHEIF(data) { // the decoder that the image package knows shows whatever is in memory for a broken one
		return nil, false
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || cfg.Width <= 0 || cfg.Height <= 0 || cfg.Width > maxPixels/cfg.Height {
		return nil, false
	}
	if img, _, err = image.Decode(bytes.NewReader(data)); err == nil {
		return img, true
	}
	switch format {
	case "jpeg":
		img, err = jpeg.Decode(filledJPEG(data, cfg))
	case "png":
		var whole []byte
		if whole, err = filledPNG(data, cfg); err == nil {
			img, err = png.Decode(bytes.NewReader(whole))
		}
	}
	return img, err == nil && img != nil
}

// filledJPEG is the data, then zeros for what is missing and the mark of the end. In every Huffman table that files have, zeros are a code, so a decoder goes on
// to the last pixel.
func filledJPEG(data []byte, cfg image.Config) io.Reader {
	zeros := 4*int64(cfg.Width)*int64(cfg.Height) + 1<<16
	return io.MultiReader(bytes.NewReader(data), io.LimitReader(nothing{}, zeros), bytes.NewReader([]byte{0xff, 0xd9}))
}

// nothing reads as zeros.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var errBroken = errors.New("the file is broken before its pixels")

// filledPNG is the file again, with the pixels that are there, zeros for the rest, and checksums that fit.
func filledPNG(data []byte, cfg image.Config) ([]byte, error) {
	const signature = 8
	var out, packed bytes.Buffer
	if len(data) < signature {
		return nil, errBroken
	}
	out.Write(data[:signature])
	rest := data[signature:]
	for more := true; more && len(rest) >= 8; {
		size, kind := binary.BigEndian.Uint32(rest), string(rest[4:8])
		body := rest[8:]
		whole := uint64(len(body)) >= uint64(size)+4
		switch {
		case kind == "IDAT":
			packed.Write(body[:min(uint64(len(body)), uint64(size))])
		case whole && (kind == "IHDR" || kind == "PLTE" || kind == "tRNS"):
			chunk(&out, kind, body[:size])
		}
		if more = whole && kind != "IEND"; more {
			rest = body[size+4:]
		}
	}
	z, err := zlib.NewReader(&packed)
	if err != nil || out.Len() < 33 { // signature and header
		return nil, errBroken
	}
	most := pngBytes(out.Bytes(), cfg)
	pixels, _ := io.ReadAll(io.LimitReader(z, most))
	if len(pixels) == 0 {
		return nil, errBroken
	}
	var again bytes.Buffer
	zw := zlib.NewWriter(&again)
	if _, err := io.Copy(zw, io.MultiReader(bytes.NewReader(pixels), io.LimitReader(nothing{}, most-int64(len(pixels))))); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	chunk(&out, "IDAT", again.Bytes())
	chunk(&out, "IEND", nil)
	return out.Bytes(), nil
}

// pngBytes is how many bytes the pixels of a PNG file take before they are compressed: rows of its seven passes, or of one, each with a byte for its filter.
func pngBytes(head []byte, cfg image.Config) (sum int64) {
	const depthAt, kindAt, interlacedAt = 24, 25, 28
	channels := map[byte]int64{2: 3, 4: 2, 6: 4}[head[kindAt]]
	bits := max(channels, 1) * int64(head[depthAt])
	passes := [][4]int{{0, 0, 1, 1}} // first column and row, and their steps
	if head[interlacedAt] == 1 {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	for _, p := range passes {
		w, h := int64(cfg.Width-p[0]+p[2]-1)/int64(p[2]), int64(cfg.Height-p[1]+p[3]-1)/int64(p[3])
		if w > 0 && h > 0 {
			sum += h * (1 + (w*bits+7)/8)
		}
	}
	return sum
}

// chunk writes a chunk of a PNG file.
func chunk(out *bytes.Buffer, kind string, body []byte) {
	_ = binary.Write(out, binary.BigEndian, uint32(len(body))) //nolint:gosec // bounded by maxPixels
	sum := crc32.NewIEEE()
	for _, p := range [][]byte{[]byte(kind), body} {
		_, _ = sum.Write(p)
		_, _ = out.Write(p)
	}
	_ = binary.Write(out, binary.BigEndian, sum.Sum32())
}

// thumbnail scales a picture to at most side pixels each way, on white.
func thumbnail(img image.Image, side int) image.Image {
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	if f := float64(side) / float64(max(w, h)); f < 1 {
		w, h = max(1, int(float64(w)*f)), max(1, int(float64(h)*f))
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.ApproxBiLinear.Scale(out, out.Bounds(), img, b, draw.Over, nil)
	return out
}
