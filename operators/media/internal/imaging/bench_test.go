package imaging

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/sluice-data/sluice/operators/media/internal/turbo"
)

// benchPhoto makes a photo-like JPEG of the given size out of a real photo.
func benchPhoto(b *testing.B, width, height int) []byte {
	b.Helper()
	w := NewStandardWorker()
	defer w.Close()
	m := pixels(b, w, photo(b, "coffee.jpg"), Resize{W: width, H: height})
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		// A little noise, so that entropy decoding has the work of a camera's picture.
		n := byte(i * 2654435761 >> 13 & 7)
		img.SetRGBA(i%width, i/width, color.RGBA{m.Pix[0][i*3] | n, m.Pix[0][i*3+1] | n, m.Pix[0][i*3+2] | n, 255})
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 85}); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

var sizes = []struct {
	name string
	w, h int
}{{"500x375", 500, 375}, {"1920x1080", 1920, 1080}}

// BenchmarkThumbnail is decode, resize to 224x224 and encode, per photo.
func BenchmarkThumbnail(b *testing.B) {
	p := &Program{Steps: []Step{Resize{W: 224, H: 224}, Compress{EncodeOptions{JPEG, 75}}}}
	for _, size := range sizes {
		data := benchPhoto(b, size.w, size.h)
		for name, w := range map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()} {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				defer w.Close()
				b.ReportAllocs()
				b.SetBytes(int64(len(data)))
				for b.Loop() {
					w.Reset()
					h, err := ReadHeader(data, DefaultLimits)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := w.Run(p, data, h); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkLibraryLoop is the physical limit of BenchmarkThumbnail: only the calls into libjpeg-turbo.
func BenchmarkLibraryLoop(b *testing.B) {
	if !turbo.Available() {
		b.Log(turbo.Describe())
		return
	}
	for _, size := range sizes {
		data := benchPhoto(b, size.w, size.h)
		b.Run(size.name, func(b *testing.B) {
			w := NewWorker()
			defer w.Close()
			scale := ScaleFor(Whole(size.w, size.h, 224, 224))
			h, err := ReadHeader(data, DefaultLimits)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				w.Reset()
				m, err := w.Decode(data, h, DecodeOptions{Scale: scale})
				if err != nil {
					b.Fatal(err)
				}
				small := w.newImage(224, 224, YCbCr, 8, Chroma420)
				_ = m
				if _, err := w.compressJPEG(small, 75); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResample(b *testing.B) {
	w := NewWorker()
	defer w.Close()
	m := w.newImage(500, 375, YCbCr, 8, Chroma420)
	b.ReportAllocs()
	b.SetBytes(500 * 375)
	for b.Loop() {
		slab, off := w.scratch.mark()
		if _, err := w.Resample(m, Whole(500, 375, 224, 224), Chroma420); err != nil {
			b.Fatal(err)
		}
		w.scratch.release(slab, off)
	}
}

// BenchmarkHEIF is decode to RGB, per picture: with libheif, if the machine has it, and AVIF in the sandbox.
func BenchmarkHEIF(b *testing.B) {
	for _, name := range []string{"rgb.avif", "rgb.heic"} {
		data := fixture(b, name)
		for kind, w := range map[string]*Worker{"auto": NewWorker(), "standard": NewStandardWorker()} {
			if _, err := decodeWith(w, data, ModeRGB); err != nil {
				w.Close()
				continue // nothing here decodes it
			}
			b.Run(name+"/"+kind, func(b *testing.B) {
				defer w.Close()
				b.ReportAllocs()
				b.SetBytes(61 * 47 * 3)
				for b.Loop() {
					if _, err := decodeWith(w, data, ModeRGB); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkFrames plays an animation, all frames to RGB; bytes are those of its pixels.
func BenchmarkFrames(b *testing.B) {
	for _, name := range []string{"moving.gif", "moving.webp", "moving.png"} {
		data := fixture(b, name)
		b.Run(name, func(b *testing.B) {
			w := NewWorker()
			defer w.Close()
			b.ReportAllocs()
			b.SetBytes(6 * 40 * 30 * 3)
			for b.Loop() {
				if got, _, err := shown(w, data, ModeRGB); err != nil || len(got) != 6 {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
