package imaging

import (
	"encoding/json"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/operators/media/internal/heif"
)

// reference is what Pillow reads of a file in testdata.
type reference struct {
	Format string
	Frames []struct {
		Width, Height int
		Delay         int `json:"delay_ms"`
	}
}

func references(t testing.TB) map[string]reference {
	t.Helper()
	data, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]reference
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// strip reads the frames that Pillow read.
func strip(t testing.TB, name string, r reference) []*Image {
	t.Helper()
	f, err := os.Open("testdata/expected/" + name + ".png")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	src, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []*Image
	for i, fr := range r.Frames {
		m := image.NewNRGBA(image.Rect(0, 0, fr.Width, fr.Height))
		draw.Draw(m, m.Bounds(), src, image.Pt(i*fr.Width, 0), draw.Src)
		w, err := Wrap(m.Pix, fr.Width, fr.Height, 4, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// apart is the mean difference of two RGBA pictures as they look on white, in grey levels.
func apart(t testing.TB, a, b *Image) float64 {
	t.Helper()
	w := NewStandardWorker()
	d, _ := difference(t, clone(t, w.flatten(a)), clone(t, w.flatten(b)))
	return d
}

// heifWorkers runs f with libheif, where the machine has it, and without.
func heifWorkers(t *testing.T, f func(t *testing.T, w *Worker, name string)) {
	for name := range references(t) {
		if ext := filepath.Ext(name); ext != ".avif" && ext != ".heic" {
			continue
		}
		for kind, w := range map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()} {
			if filepath.Ext(name) == ".heic" && (kind == "standard" || !heif.Has(heif.HEVC)) {
				w.Close()
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				defer w.Close()
				f(t, w, name)
			})
		}
	}
}

func TestHEIFAsPillowReadsIt(t *testing.T) {
	all := references(t)
	heifWorkers(t, func(t *testing.T, w *Worker, name string) {
		want := all[name]
		data := fixture(t, name)
		h, err := ReadHeader(data, DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		format := AVIF
		if strings.HasSuffix(name, ".heic") {
			format = HEIC
		}
		if h.Format != format || h.Width != want.Frames[0].Width || h.Height != want.Frames[0].Height {
			t.Errorf("header says %v of %dx%d, want %v of %dx%d", h.Format, h.Width, h.Height, format, want.Frames[0].Width, want.Frames[0].Height)
		}
		got, err := decodeWith(w, data, ModeRGBA)
		if err != nil {
			t.Fatal(err)
		}
		most := 2.0
		if name == "rgb.avif" || h.Format == HEIC {
			most = 4.5 // coloured edges in a few pixels, of which every decoder makes something else where chroma is halved
		}
		if d := apart(t, got, strip(t, name, want)[0]); d > most {
			t.Errorf("differs from Pillow by %.2f", d)
		}
		if h.Format == AVIF && w.ScratchBytes() > int(w.NeedBytes(&Program{Mode: ModeRGBA}, h)) {
			t.Errorf("took %d bytes, announced %d", w.ScratchBytes(), w.NeedBytes(&Program{Mode: ModeRGBA}, h))
		}
	})
}

func TestHEIFKeepsWhatTheFileHas(t *testing.T) {
	for name, want := range map[string]struct {
		model   Model
		depth   int
		profile bool
		native  bool
	}{
		"rgb.avif": {RGB, 8, false, false}, "alpha.avif": {RGBA, 8, false, false}, "grey.avif": {Grey, 8, false, false}, "icc.avif": {RGB, 8, true, false},
		"rgb.heic": {RGB, 8, false, true}, "alpha.heic": {RGBA, 8, false, true}, "grey.heic": {Grey, 8, false, true}, "icc.heic": {RGB, 8, true, true},
		"deep10.heic": {RGB, 16, false, true}, "deep12.heic": {RGB, 16, false, true},
	} {
		for kind, w := range map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()} {
			if want.native && (kind == "standard" || !heif.Has(heif.HEVC)) {
				w.Close()
				continue
			}
			m, err := decodeWith(w, fixture(t, name), ModeKeep)
			if err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			} else if m.Model != want.model || m.Depth != want.depth || (m.Profile != nil) != want.profile {
				t.Errorf("%s, %s: %v with %d bits, profile of %d bytes; want %+v", name, kind, m.Model, m.Depth, len(m.Profile), want)
			}
			w.Close()
		}
	}
}

func TestHEICWithoutDecoderSaysWhatToInstall(t *testing.T) {
	w := NewStandardWorker()
	defer w.Close()
	_, err := decodeWith(w, fixture(t, "rgb.heic"), ModeRGB)
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "libheif1") {
		t.Fatalf("got %v", err)
	}
	h, err := ReadHeader(fixture(t, "rgb.heic"), DefaultLimits)
	if err != nil || h.Width != 61 || h.Height != 47 {
		t.Fatalf("header %dx%d, %v", h.Width, h.Height, err)
	}
}

// TestHEIFCuts cuts files anywhere: none may give a picture.
func TestHEIFCuts(t *testing.T) {
	for _, name := range []string{"rgb.avif", "alpha.avif", "moving.avif", "rgb.heic", "alpha.heic"} {
		data := fixture(t, name)
		for _, w := range []*Worker{NewWorker(), NewStandardWorker()} {
			for n := 0; n < len(data); n += 7 {
				_, err := decodeWith(w, data[:n:n], ModeRGB)
				if err == nil {
					t.Errorf("%s cut to %d of %d bytes gave a picture", name, n, len(data))
				}
				if n > len(data)*2/3 && !errors.Is(err, ErrTruncated) {
					t.Errorf("%s cut to %d of %d bytes: %v; want truncated", name, n, len(data), err)
				}
			}
			w.Close()
		}
	}
}
