package imaging

import (
	"os"
	"path/filepath"
	"testing"
)

// fuzzLimits keep one input from taking long.
var fuzzLimits = Limits{MaxPixels: 1 << 16, MaxBytes: 1 << 20}

func seed(f *testing.F) {
	warm(f)
	for _, data := range files(f) {
		if len(data) < 20_000 {
			f.Add(data)
		}
	}
	for name := range references(f) {
		f.Add(fixture(f, name))
	}
	for _, n := range []string{"sub/tiny.jpg", "sub/flat.jpg", "broken/bomb.png", "broken/not-an-image.jpg"} {
		data, err := os.ReadFile(filepath.Join(photos, n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// warm compiles the decoder of AVIF, which takes longer than a fuzzing process may take for an input.
func warm(f *testing.F) {
	f.Helper()
	w := NewStandardWorker()
	defer w.Close()
	if _, err := decodeWith(w, fixture(f, "rgb.avif"), ModeRGB); err != nil {
		f.Fatal(err)
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

// FuzzFrames plays arbitrary animations: none may panic, each frame has the size of the header, and a file has as many frames as its structure says or an error.
func FuzzFrames(f *testing.F) {
	for name := range references(f) {
		f.Add(fixture(f, name))
	}
	f.Add(photo(f, "sub/animated.gif"))
	warm(f)
	w := NewStandardWorker()
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(data, fuzzLimits)
		if err != nil {
			return
		}
		const most = 20
		a, err := ReadAnimation(data, h, most)
		if err != nil {
			return
		}
		if a.Count < 1 || len(a.parts) != min(a.Count, most) {
			t.Fatalf("%d frames, %d kept", a.Count, len(a.parts))
		}
		need := w.NeedFrameBytes(a, h, ModeRGB)
		if need > 256<<20 {
			return
		}
		p := w.Play(a, data, h)
		for i := range a.parts {
			if err := p.Next(); err != nil {
				break
			}
			m, err := p.Picture(ModeRGB)
			if err != nil {
				break
			}
			if m.W != h.Width || m.H != h.Height || m.Model != RGB {
				t.Fatalf("frame %d is %dx%d %v, header said %dx%d", i, m.W, m.H, m.Model, h.Width, h.Height)
			}
		}
	})
}

// FuzzHEIF reads the boxes of arbitrary files, and the heads of streams.
func FuzzHEIF(f *testing.F) {
	for name := range references(f) {
		f.Add(fixture(f, name))
	}
	f.Add(tiled(f, 2, 2, 120, 120))
	f.Fuzz(func(t *testing.T, data []byte) {
		if info, err := readHEIFInfo(data, fuzzLimits); err == nil {
			if info.w <= 0 || info.h <= 0 || int64(info.w)*int64(info.h) > fuzzLimits.MaxPixels || info.coded > codedFactor*fuzzLimits.MaxPixels || info.turned < 1 || info.turned > 8 {
				t.Fatalf("%+v passed", info)
			}
			if c := info.cut; c.W != 0 && !c.inside(info.w, info.h) {
				t.Fatalf("cut %+v leaves %dx%d", c, info.w, info.h)
			}
		}
		_, _ = av1Size(data)
		_, _ = hevcSize(data, 4)
		_, _, _ = hvcCSize(data)
		_, _ = spsSize(data)
	})
}
