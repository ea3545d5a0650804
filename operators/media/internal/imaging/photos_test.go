package imaging

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const photos = "../../../../testdata/photos"

type expectation struct {
	OK            bool
	Width, Height int
	Group         string
}

func expected(t testing.TB) map[string]expectation {
	t.Helper()
	var all map[string]expectation
	data, err := os.ReadFile(filepath.Join(photos, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func photo(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(photos, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// workers runs f with libjpeg-turbo, where the machine has it, and with the standard library.
func workers(t *testing.T, f func(t *testing.T, w *Worker)) {
	for name, w := range map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()} {
		t.Run(name, func(t *testing.T) {
			defer w.Close()
			f(t, w)
		})
	}
}

func TestDecodePhotos(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		for name, want := range expected(t) {
			w.Reset()
			data := photo(t, name)
			h, err := ReadHeader(data, DefaultLimits)
			var m *Image
			if err == nil {
				m, err = w.Decode(data, h, DecodeOptions{})
			}
			if (err == nil) != want.OK {
				t.Errorf("%s: error %v, want ok %v", name, err, want.OK)
				continue
			}
			if err != nil {
				continue
			}
			m = w.Finish(m, ModeRGB)
			if h.Width != want.Width || h.Height != want.Height || m.W != want.Width || m.H != want.Height {
				t.Errorf("%s: header %dx%d, pixels %dx%d, want %dx%d", name, h.Width, h.Height, m.W, m.H, want.Width, want.Height)
			}
			if m.Model != RGB || m.Depth != 8 {
				t.Errorf("%s: pixels are %v with %d bits, want rgb with 8", name, m.Model, m.Depth)
			}
		}
	})
}

func TestBrokenPhotosSayWhy(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		for name, words := range map[string][]string{
			"broken/truncated.jpg":    {"truncated", "65849 bytes"},
			"broken/empty.jpg":        {"empty", "0 bytes"},
			"broken/not-an-image.jpg": {"not an image", "HTML"},
			"broken/bomb.png":         {"too large", "60000x60000", "3600000000", "100000000", "max_pixels"},
		} {
			w.Reset()
			data := photo(t, name)
			h, err := ReadHeader(data, DefaultLimits)
			if err == nil {
				_, err = w.Decode(data, h, DecodeOptions{})
			}
			if err == nil {
				t.Errorf("%s: decoded", name)
				continue
			}
			for _, word := range words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: error %q lacks %q", name, err, word)
				}
			}
		}
	})
}

// pixels decodes a photo to finished RGB pixels of its own memory.
func pixels(t testing.TB, w *Worker, data []byte, steps ...Step) *Image {
	t.Helper()
	w.Reset()
	h, err := ReadHeader(data, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	res, err := w.Run(&Program{Steps: steps}, data, h)
	if err != nil {
		t.Fatal(err)
	}
	if res.Data != nil {
		return pixels(t, w, append([]byte(nil), res.Data...))
	}
	return clone(t, res.Image)
}

// clone copies a packed picture out of scratch memory.
func clone(t testing.TB, m *Image) *Image {
	t.Helper()
	pix := make([]byte, m.Bytes())
	if err := m.CopyPixels(pix); err != nil {
		t.Fatal(err)
	}
	out, err := Wrap(pix, m.W, m.H, m.Model.Channels(), m.Depth, append([]byte(nil), m.Profile...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// stepwise runs each step on the finished pixels of the one before.
func stepwise(t testing.TB, w *Worker, data []byte, steps ...Step) *Image {
	t.Helper()
	m := pixels(t, w, data)
	for _, s := range steps {
		w.Reset()
		res, err := w.RunPixels(&Program{Steps: []Step{s}}, m)
		if err != nil {
			t.Fatal(err)
		}
		if res.Data != nil {
			return pixels(t, w, append([]byte(nil), res.Data...))
		}
		m = clone(t, res.Image)
	}
	return m
}

// difference is the mean absolute difference of two pictures, and their PSNR in dB.
func difference(t testing.TB, a, b *Image) (mean, psnr float64) {
	t.Helper()
	if a.W != b.W || a.H != b.H || a.Model != b.Model {
		t.Fatalf("pictures are %dx%d %v and %dx%d %v", a.W, a.H, a.Model, b.W, b.H, b.Model)
	}
	var sum, squares float64
	for i := range a.Pix[0] {
		d := math.Abs(float64(a.Pix[0][i]) - float64(b.Pix[0][i]))
		sum += d
		squares += d * d
	}
	n := float64(len(a.Pix[0]))
	return sum / n, 10 * math.Log10(255*255/max(squares/n, 1e-9))
}
