package imaging

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// files encodes one scene in every format that has an encoder.
func files(t testing.TB) map[Format][]byte {
	t.Helper()
	m := scene(61, 47)
	out := map[Format][]byte{}
	for f, encode := range map[Format]func(*bytes.Buffer) error{
		JPEG: func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) },
		PNG:  func(b *bytes.Buffer) error { return png.Encode(b, m) },
		GIF:  func(b *bytes.Buffer) error { return gif.Encode(b, m, nil) },
		BMP:  func(b *bytes.Buffer) error { return bmp.Encode(b, m) },
		TIFF: func(b *bytes.Buffer) error { return tiff.Encode(b, m, &tiff.Options{Compression: tiff.Deflate}) },
	} {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		out[f] = b.Bytes()
	}
	out[WebP] = photo(t, "gravel.webp")
	return out
}

func decodeWith(w *Worker, data []byte, mode Mode) (*Image, error) {
	w.Reset()
	h, err := ReadHeader(data, DefaultLimits)
	if err != nil {
		return nil, err
	}
	m, err := w.Decode(data, h, DecodeOptions{Mode: mode})
	if err != nil {
		return nil, err
	}
	return w.Finish(m, mode), nil
}

func TestFormatsAreFoundByContent(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for f, data := range files(t) {
		h, err := ReadHeader(data, DefaultLimits)
		if err != nil || h.Format != f {
			t.Errorf("%v: found %v, %v", f, h.Format, err)
		}
		if _, err := decodeWith(w, data, ModeRGB); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}

// TestEveryCutIsAnError cuts files anywhere: none may give a picture, none may panic. A GIF whose first frame is whole and a TIFF whose
// directory and pixels are whole are not damaged as far as this package reads them.
func TestEveryCutIsAnError(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		for f, data := range files(t) {
			step := max(1, len(data)/97)
			for n := 0; n < len(data); n += step {
				if (f == GIF || f == TIFF) && n > len(data)-16 {
					continue
				}
				_, err := decodeWith(w, data[:n], ModeRGB)
				if err == nil {
					t.Errorf("%v cut to %d of %d bytes gave a picture", f, n, len(data))
				}
				if err != nil && n > len(data)/2 && f != TIFF && !errors.Is(err, ErrTruncated) {
					t.Errorf("%v cut to %d of %d bytes: %v; want truncated", f, n, len(data), err)
				}
			}
		}
	})
}

func TestTurboAndStandardRefuseTheSameFiles(t *testing.T) {
	auto, standard := NewWorker(), NewStandardWorker()
	defer auto.Close()
	defer standard.Close()
	data := photo(t, "sub/tiny.jpg")
	for at := 2; at < len(data); at += 23 {
		broken := append([]byte(nil), data...)
		broken[at] ^= 0xff
		_, a := decodeWith(auto, broken, ModeRGB)
		_, s := decodeWith(standard, broken, ModeRGB)
		if s == nil && a != nil {
			t.Errorf("byte %d: only the native decoder refuses it: %v", at, a)
		}
	}
}

func TestSixteenBits(t *testing.T) {
	src := image.NewNRGBA64(image.Rect(0, 0, 3, 1))
	src.SetNRGBA64(0, 0, color.NRGBA64{0xffff, 0x8000, 0x0100, 0xffff})
	src.SetNRGBA64(1, 0, color.NRGBA64{0, 0x1234, 0xfeff, 0xffff})
	src.SetNRGBA64(2, 0, color.NRGBA64{0x7fff, 0, 0, 0x8000})
	var buf bytes.Buffer
	if err := png.Encode(&buf, src); err != nil {
		t.Fatal(err)
	}
	w := NewWorker()
	defer w.Close()
	m, err := decodeWith(w, buf.Bytes(), ModeRGBA)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := clone(t, m).Pix[0], []byte{255, 128, 1, 255, 0, 18, 254, 255, 127, 0, 0, 128}; !bytes.Equal(got, want) {
		t.Errorf("scaled to 8 bits: %v, want %v", got, want)
	}
	m, err = decodeWith(w, buf.Bytes(), ModeKeep)
	if err != nil {
		t.Fatal(err)
	}
	if m.Depth != 16 || m.Model != RGBA || binary.LittleEndian.Uint16(m.Pix[0][2:]) != 0x8000 {
		t.Fatalf("kept %v with %d bits", m.Model, m.Depth)
	}
	kept := clone(t, m)
	file, err := w.Encode(kept, EncodeOptions{Format: PNG})
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeWith(w, append([]byte(nil), file...), ModeKeep)
	if err != nil || again.Depth != 16 || !bytes.Equal(clone(t, again).Pix[0], kept.Pix[0]) {
		t.Errorf("16 bits did not survive PNG: %v", err)
	}
}

func TestAlphaIsLaidOnWhite(t *testing.T) {
	src := image.NewNRGBA(image.Rect(0, 0, 3, 1))
	src.SetNRGBA(0, 0, color.NRGBA{10, 20, 30, 255})
	src.SetNRGBA(1, 0, color.NRGBA{10, 20, 30, 0})
	src.SetNRGBA(2, 0, color.NRGBA{0, 100, 200, 128})
	var buf bytes.Buffer
	if err := png.Encode(&buf, src); err != nil {
		t.Fatal(err)
	}
	w := NewWorker()
	defer w.Close()
	for mode, want := range map[Mode][]byte{
		ModeRGB:  {10, 20, 30, 255, 255, 255, 127, 177, 227},
		ModeRGBA: {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 200, 128},
		ModeKeep: {10, 20, 30, 255, 10, 20, 30, 0, 0, 100, 200, 128},
		ModeGrey: {18, 255, 168},
	} {
		m, err := decodeWith(w, buf.Bytes(), mode)
		if err != nil {
			t.Fatal(err)
		}
		if got := clone(t, m).Pix[0]; !bytes.Equal(got, want) {
			t.Errorf("%v: %v, want %v", mode, got, want)
		}
	}
}

func TestPaletteIndexBeyondItsEnd(t *testing.T) {
	src := image.NewPaletted(image.Rect(0, 0, 2, 2), color.Palette{color.RGBA{9, 8, 7, 255}})
	src.Pix[3] = 200
	w := NewWorker()
	defer w.Close()
	m, err := w.fromImage(src)
	if err != nil || m.Model != RGBA || m.Pix[0][0] != 9 || m.Pix[0][m.Stride[0]+7] != 0 {
		t.Errorf("palette with an index beyond its end: %v", err)
	}
}

func TestCMYKLooksLikeItsRGBTwin(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	a, b := pixels(t, w, photo(t, "sub/coffee-cmyk.jpg")), pixels(t, w, photo(t, "coffee.jpg"))
	if mean, _ := difference(t, a, b); mean > 6 {
		t.Errorf("mean difference %.1f", mean)
	}
}

func TestGIFFrameOnItsCanvas(t *testing.T) {
	frame := image.NewPaletted(image.Rect(3, 2, 6, 5), color.Palette{color.RGBA{200, 0, 0, 255}})
	var buf bytes.Buffer
	err := gif.EncodeAll(&buf, &gif.GIF{Image: []*image.Paletted{frame}, Delay: []int{0}, Config: image.Config{Width: 9, Height: 8, ColorModel: frame.Palette}})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorker()
	defer w.Close()
	m, err := decodeWith(w, buf.Bytes(), ModeRGB)
	if err != nil {
		t.Fatal(err)
	}
	at := func(x, y int) []byte { return m.Pix[0][y*m.Stride[0]+x*3:][:3] }
	if m.W != 9 || m.H != 8 || !bytes.Equal(at(0, 0), []byte{255, 255, 255}) || !bytes.Equal(at(4, 3), []byte{200, 0, 0}) {
		t.Errorf("%dx%d, corner %v, frame %v", m.W, m.H, at(0, 0), at(4, 3))
	}
}

// animate makes an animated WebP whose first frame is the still at 6,4 of a larger canvas.
func animate(still []byte, w, h, canvasW, canvasH int) []byte {
	put24 := func(b []byte, v int) []byte { return append(b, byte(v), byte(v>>8), byte(v>>16)) }
	frame := put24(put24(put24(put24(put24(nil, 3), 2), w-1), h-1), 100)
	frame = append(append(frame, 0), still[12:]...)
	out := []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00")
	out = put24(put24(out, canvasW-1), canvasH-1)
	out = append(out, "ANIM\x06\x00\x00\x00\xff\xff\xff\xff\x00\x00"...)
	out = binary.LittleEndian.AppendUint32(append(out, "ANMF"...), uint32(len(frame)))
	out = append(out, frame...)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}

func TestAnimatedWebPGivesItsFirstFrame(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	still := photo(t, "gravel.webp")
	want := pixels(t, w, still)
	data := animate(still, 512, 512, 600, 550)
	m, err := decodeWith(w, data, ModeRGB)
	if err != nil {
		t.Fatal(err)
	}
	if m.W != 600 || m.H != 550 {
		t.Fatalf("%dx%d, want the canvas of 600x550", m.W, m.H)
	}
	got := m.Pix[0][4*m.Stride[0]+6*3:][:512*3]
	if !bytes.Equal(got, want.Pix[0][:512*3]) || m.Pix[0][0] != 255 {
		t.Error("first row of the frame differs from that of the still")
	}
	if _, err := ReadHeader(animate(still, 512, 512, 400, 550), DefaultLimits); err == nil || !strings.Contains(err.Error(), "leaves its canvas") {
		t.Errorf("frame beyond its canvas: %v", err)
	}
	if _, err := decodeWith(w, animate(still, 512, 100, 600, 550), ModeRGB); err == nil {
		t.Error("a frame of another size than its picture was decoded")
	}
	if _, err := ReadHeader(data[:100], DefaultLimits); !errors.Is(err, ErrTruncated) {
		t.Errorf("cut animation: %v", err)
	}
}

func TestProfilesTravel(t *testing.T) {
	profile := make([]byte, 70_000) // larger than one JPEG segment
	for i := range profile {
		profile[i] = byte(i * 7)
	}
	copy(profile[16:], "RGB ")
	w := NewWorker()
	defer w.Close()
	m := pixels(t, w, photo(t, "sub/tiny.jpg"))
	m.Profile = profile
	for _, f := range []Format{JPEG, PNG} {
		w.Reset()
		file, err := w.Encode(m, EncodeOptions{Format: f, Quality: 80})
		if err != nil {
			t.Fatal(err)
		}
		file = append([]byte(nil), file...)
		got, err := decodeWith(w, file, ModeRGB)
		if err != nil || !bytes.Equal(got.Profile, profile) {
			t.Errorf("%v: profile of %d bytes came back as %d, %v", f, len(profile), len(got.Profile), err)
		}
		if grey, err := decodeWith(w, file, ModeGrey); err != nil || grey.Profile != nil {
			t.Errorf("%v: a grey picture kept an RGB profile, %v", f, err)
		}
	}
}

func TestBombsAreRefusedByTheirHeader(t *testing.T) {
	many := jpegWith(t, scene(8, 8), 90)
	binary.BigEndian.PutUint16(many[bytes.Index(many, []byte{0xff, 0xc0})+5:], 65000)
	binary.BigEndian.PutUint16(many[bytes.Index(many, []byte{0xff, 0xc0})+7:], 65000)
	scans := append([]byte("\xff\xd8\xff\xc2\x00\x0b\x08\x00\x08\x00\x08\x01\x01\x11\x00"), bytes.Repeat([]byte("\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00"), 501)...)
	bmpFile := files(t)[BMP]
	binary.LittleEndian.PutUint32(bmpFile[18:], 1<<30)
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"jpeg":      {many, "65000x65000 = 4225000000 pixels, above the limit of 100000000; raise max_pixels"},
		"scans":     {scans, "501 scans, above the limit of 500"},
		"bmp":       {bmpFile, "above the limit"},
		"no pixels": {append([]byte("GIF89a\x00\x00\x05\x00"), make([]byte, 9)...), "0x5"},
	} {
		if _, err := ReadHeader(tt.data, DefaultLimits); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v lacks %q", name, err, tt.want)
		}
	}
	if _, err := ReadHeader(photo(t, "cat.jpg"), Limits{MaxBytes: 100}); err == nil || !strings.Contains(err.Error(), "limit of 100; raise max_bytes") {
		t.Errorf("large file: %v", err)
	}
}

func TestOddFiles(t *testing.T) {
	for data, want := range map[string]string{
		"": "empty (0 bytes)", "<!DOCTYPE HTML><p>": "HTML page", "{\"error\":1}": "JSON", "%PDF-1.7": "PDF", "plain words": `starts with "plain words"`,
		"\x00\x01\x02\xff": "bytes 000102ff", "\x00\x00\x00\x1cftypheic": "heic", "\xff\xd8\xff": "truncated", "\xff\xd8\xff\xd9": "truncated",
		"\x89PNG\r\n\x1a\n": "truncated", "RIFF\x00\x00\x00\x00WEBP": "webp", "II*\x00\x08\x00\x00\x00": "tiff", "GIF89a": "truncated",
		"<svg xmlns=": "SVG", "PK\x03\x04": "ZIP",
	} {
		if _, err := ReadHeader([]byte(data), DefaultLimits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v lacks %q", data, err, want)
		}
	}
}

func TestPanicsOfDecodersAreErrors(t *testing.T) {
	f := func() (err error) {
		defer recoverDecoder(&err)
		panic(fmt.Sprint("index out of ", "range"))
	}
	err := f()
	p, ok := errors.AsType[*DecoderPanic](err)
	if !ok || len(p.Stack) == 0 || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("got %v", err)
	}
}

func TestEncodeOptions(t *testing.T) {
	for _, tt := range []struct {
		format string
		q      int
		want   string
	}{{"jpeg", 0, ""}, {"jpg", 100, ""}, {"png", 0, ""}, {"webp", 50, ""}, {"gif", 0, "jpeg, png or webp"}, {"jpeg", -1, "1..100"}, {"jpeg", 101, "1..100"}, {"png", 5, "lossless"}} {
		o, err := ParseEncode(tt.format, tt.q)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %d: %+v, %v", tt.format, tt.q, o, err)
		}
	}
	w := NewWorker()
	defer w.Close()
	m, err := Wrap(make([]byte, 70000), 70000, 1, 1, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	for f, limit := range map[Format]string{JPEG: "65535", WebP: "16383"} {
		if _, err := w.Encode(m, EncodeOptions{Format: f, Quality: 75}); err == nil || !strings.Contains(err.Error(), limit) {
			t.Errorf("%v of 70000 pixels: %v", f, err)
		}
	}
}

func TestWebPRoundTrip(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	m := pixels(t, w, photo(t, "sub/tiny.jpg"))
	file, err := w.Encode(m, EncodeOptions{Format: WebP, Quality: 90})
	if err != nil {
		t.Fatal(err)
	}
	got := pixels(t, w, append([]byte(nil), file...))
	if mean, psnr := difference(t, m, got); psnr < 25 {
		t.Errorf("mean difference %.1f, PSNR %.1f", mean, psnr)
	}
}
