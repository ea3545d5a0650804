package imaging

import (
	"os"
	"path/filepath"
	"testing"
)

// fuzzLimits keep one input from taking long.
var fuzzLimits = Limits{MaxPixels: 1 << 16, MaxBytes: 1 << 20}

func seed(f *testing.F) {
	for _, data := range files(f) {
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	for _, n := range []string{"sub/tiny.jpg", "sub/flat.jpg", "broken/bomb.png", "broken/not-an-image.jpg"} {
		data, err := os.ReadFile(filepath.Join(photos, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// FuzzDecode feeds arbitrary bytes through both workers: no input may panic, and a picture that is given has the size that
// its header announced.
func FuzzDecode(f *testing.F) {
	seed(f)
	auto, standard := NewWorker(), NewStandardWorker()
	p := &Program{Steps: []Step{Resize{W: 16, H: 12, Fit: Fill}, Hash{}, Compress{EncodeOptions{JPEG, 75}}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data, fuzzLimits)
		if err != nil {
			return
		}
		for _, w := range []*Worker{auto, standard} {
			for mode := ModeRGB; mode <= ModeKeep; mode++ {
				w.Reset()
				m, err := w.Decode(data, h, DecodeOptions{Mode: mode})
				if err != nil {
					continue
				}
				m = w.Finish(m, mode)
				if m.W != h.Width || m.H != h.Height {
					t.Fatalf("%v %v: picture is %dx%d, header said %dx%d", h.Format, mode, m.W, m.H, h.Width, h.Height)
				}
			}
			w.Reset()
			if res, err := w.Run(p, data, h); err == nil && Detect(res.Data) != JPEG {
				t.Fatal("the result is no JPEG")
			}
		}
	})
}

// FuzzHeader reads headers of arbitrary bytes.
func FuzzHeader(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data, fuzzLimits)
		if err == nil && (h.Width <= 0 || h.Height <= 0 || int64(h.Width)*int64(h.Height) > fuzzLimits.MaxPixels) {
			t.Fatalf("a header of %dx%d passed", h.Width, h.Height)
		}
	})
}

// FuzzMetadata reads the parts of files that this package parses by itself.
func FuzzMetadata(f *testing.F) {
	seed(f)
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := exifOrientation(data); o < 0 || o > 8 {
			t.Fatalf("orientation %d", o)
		}
		_, _ = readJPEGInfo(data)
		_ = pngProfile(data)
		_ = webpProfile(data)
		if frame, err := firstWebPFrame(data); err == nil && frame != nil && !(Rect{frame.x, frame.y, frame.w, frame.h}).inside(frame.canvasW, frame.canvasH) {
			t.Fatalf("frame %+v leaves its canvas", frame)
		}
	})
}
