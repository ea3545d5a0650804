package imaging

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"

	"golang.org/x/image/webp"
)

// walkRIFF calls f with the chunks of a WebP file until f returns false.
func walkRIFF(data []byte, f func(kind string, body []byte) bool) {
	if len(data) > 12 {
		walkChunks(data[12:], f)
	}
}

func walkChunks(data []byte, f func(kind string, body []byte) bool) {
	for range maxSegments {
		if len(data) < 8 {
			return
		}
		n := int64(binary.LittleEndian.Uint32(data[4:]))
		if n > int64(len(data)-8) {
			return
		}
		if !f(string(data[:4]), data[8:8+n]) {
			return
		}
		data = data[min(8+n+n&1, int64(len(data))):]
	}
}

// webpFrame is the first frame of an animated WebP, made a still file of its own.
type webpFrame struct {
	canvasW, canvasH int
	x, y, w, h       int
	file             []byte
}

// firstWebPFrame returns the first frame of an animated file, or nil for a still.
func firstWebPFrame(data []byte) (*webpFrame, error) {
	var f *webpFrame
	animated := false
	walkRIFF(data, func(kind string, body []byte) bool {
		switch {
		case kind == "VP8X" && len(body) >= 10:
			animated = body[0]&2 != 0
			f = &webpFrame{canvasW: u24(body[4:]) + 1, canvasH: u24(body[7:]) + 1}
			return animated
		case kind == "ANMF" && len(body) >= 16 && f != nil:
			f.x, f.y = 2*u24(body), 2*u24(body[3:])
			f.w, f.h = u24(body[6:])+1, u24(body[9:])+1
			f.file = stillWebP(f.w, f.h, body[16:])
			return false
		}
		return kind != "VP8 " && kind != "VP8L"
	})
	if !animated {
		return nil, nil
	}
	if f.file == nil {
		return nil, fmt.Errorf("%w: animated webp has no complete frame", ErrTruncated)
	}
	if f.x+f.w > f.canvasW || f.y+f.h > f.canvasH {
		return nil, fmt.Errorf("%w: webp frame of %dx%d at %d,%d leaves its canvas of %dx%d", ErrCorrupt, f.w, f.h, f.x, f.y, f.canvasW, f.canvasH)
	}
	return f, nil
}

// stillWebP wraps the chunks of one frame as a file.
func stillWebP(w, h int, chunks []byte) []byte {
	alpha := byte(0)
	walkChunks(chunks, func(kind string, _ []byte) bool {
		if kind == "ALPH" {
			alpha = 0x10
		}
		return true
	})
	out := make([]byte, 0, 30+len(chunks))
	out = append(out, "RIFF\x00\x00\x00\x00WEBP"...)
	if alpha != 0 {
		out = append(out, "VP8X\x0a\x00\x00\x00"...)
		out = append(out, alpha, 0, 0, 0)
		out = append(out, byte(w-1), byte((w-1)>>8), byte((w-1)>>16), byte(h-1), byte((h-1)>>8), byte((h-1)>>16))
	}
	out = append(out, chunks...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

func u24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// decodeStillWebP decodes a file without animation.
func (w *Worker) decodeStillWebP(data []byte) (*Image, error) {
	src, err := webp.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, classify(WebP, len(data), err)
	}
	switch s := src.(type) {
	case *image.YCbCr:
		widen(s)
	case *image.NYCbCrA:
		widen(&s.YCbCr)
	}
	return w.fromImage(src)
}

// lumaRange and chromaRange bring samples of VP8 to the range of JFIF, which pictures of ours have: luma of VP8 is 16 to 235, chroma 16 to 240 (RFC 6386, 9.2). The
// decoder leaves them as they are.
var lumaRange, chromaRange = func() (y, c [256]byte) {
	for v := range 256 {
		y[v] = byte(min(max(((v-16)*255+109)/219, 0), 255))
		c[v] = byte(min(max(((v-16)*255+112)/224, 0), 255))
	}
	return y, c
}()

func widen(s *image.YCbCr) {
	for _, plane := range []struct {
		pix   []byte
		table *[256]byte
	}{{s.Y, &lumaRange}, {s.Cb, &chromaRange}, {s.Cr, &chromaRange}} {
		for i, v := range plane.pix {
			plane.pix[i] = plane.table[v]
		}
	}
}
