package imaging

import (
	"fmt"
	"testing"
)

// programs are chains of steps that a run would compose.
var programs = [][]Step{
	{Resize{W: 224, H: 224}},
	{Resize{W: 225, H: 223, Fit: Fill}},
	{Resize{W: 64, H: 48, Fit: Inside}},
	{Resize{W: 700, H: 900}},
	{Crop{W: 81, H: 67, X: 5, Y: 3}},
	{Crop{W: 90, H: 80, Center: true}, Resize{W: 33, H: 31}},
	{Resize{W: 100, H: 101}, Crop{W: 51, H: 49, X: 7, Y: 9}},
	{Resize{W: 64, H: 64}, Resize{W: 40, H: 20}},
	{ToMode{ModeGrey}, Resize{W: 50, H: 50}},
	{Resize{W: 50, H: 50}, ToMode{ModeGrey}, ToMode{ModeRGB}},
	{ToMode{ModeRGBA}, Resize{W: 50, H: 51}},
	{Compress{EncodeOptions{JPEG, 90}}},
	{Resize{W: 224, H: 224}, Compress{EncodeOptions{JPEG, 75}}},
	{Resize{W: 57, H: 91}, Compress{EncodeOptions{JPEG, 75}}},
	{Crop{W: 77, H: 55, X: 3, Y: 1}, Compress{EncodeOptions{JPEG, 90}}},
	{Resize{W: 60, H: 60}, Hash{}, Measure{}, Compress{EncodeOptions{PNG, 0}}},
}

// samples stand for the kinds of pictures: sizes, formats, colour models, orientation.
var samples = []string{
	"coffee-progressive.jpg", "brick.jpg", "cat.jpg", "sub/astronaut-rotated.jpg", "sub/coffee-cmyk.jpg", "sub/camera-16bit.png", "sub/cat-alpha.png",
	"sub/cat-small.jpg", "sub/tiny.jpg", "sub/animated.gif",
}

func TestComposedEqualsStepwise(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		for _, steps := range programs {
			for _, name := range samples {
				data := photo(t, name)
				a, b := pixels(t, w, data, steps...), stepwise(t, w, data, steps...)
				if mean, psnr := difference(t, a, b); mean > ComposedTolerance || psnr < 35 {
					t.Errorf("%s, %s: mean difference %.2f, PSNR %.1f dB", name, describe(steps), mean, psnr)
				}
			}
		}
	})
}

func TestBackendsAgree(t *testing.T) {
	auto, standard := NewWorker(), NewStandardWorker()
	defer auto.Close()
	defer standard.Close()
	for _, steps := range append([][]Step{nil}, programs...) {
		for _, name := range samples {
			data := photo(t, name)
			a, b := pixels(t, auto, data, steps...), pixels(t, standard, data, steps...)
			if mean, psnr := difference(t, a, b); mean > ComposedTolerance || psnr < 35 {
				t.Errorf("%s, %s: mean difference %.2f, PSNR %.1f dB", name, describe(steps), mean, psnr)
			}
		}
	}
}

func describe(steps []Step) string {
	out := ""
	for _, s := range steps {
		out += fmt.Sprintf("%T%v ", s, s)
	}
	return out
}

func TestScaledDecodingIsUsed(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	data := photo(t, "hubble.jpg")
	h, err := ReadHeader(data, DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	m, err := w.Decode(data, h, DecodeOptions{Scale: 4})
	if err != nil {
		t.Fatal(err)
	}
	want := 4
	if !w.useTurbo {
		want = 1
	}
	if m.Scale != want || m.SrcW != 1000 || m.SrcH != 872 {
		t.Errorf("scale %d of %dx%d, want %d of 1000x872", m.Scale, m.SrcW, m.SrcH, want)
	}
	for _, tt := range []struct{ side, out, want int }{
		{500, 1000, 1}, {500, 167, 1}, {500, 166, 2}, {500, 84, 2}, {500, 83, 4}, {500, 42, 4}, {500, 41, 8}, {500, 1, 8},
		{2400, 1001, 1}, {2400, 1000, 2}, {2400, 501, 2}, {2400, 500, 4}, {2400, 201, 4}, {2400, 200, 8},
	} {
		if got := ScaleFor(Whole(tt.side, tt.side, tt.out, tt.out)); got != tt.want {
			t.Errorf("%d to %d is decoded at 1/%d, want 1/%d", tt.side, tt.out, got, tt.want)
		}
	}
}

func TestNeedCoversScratch(t *testing.T) {
	workers(t, func(t *testing.T, w *Worker) {
		grown := []Step{Resize{W: 30, H: 30}, Resize{W: 1500, H: 1200}, Compress{EncodeOptions{JPEG, 75}}}
		for _, steps := range append([][]Step{nil, grown}, programs...) {
			for _, name := range samples {
				data := photo(t, name)
				h, err := ReadHeader(data, DefaultLimits)
				if err != nil {
					t.Fatal(err)
				}
				p := &Program{Steps: steps}
				w.Trim()
				if _, err := w.Run(p, data, h); err != nil {
					t.Fatal(err)
				}
				if need, used := w.NeedBytes(p, h), int64(w.ScratchBytes()); used > need {
					t.Errorf("%s, %s: reserved %d bytes, used %d", name, describe(steps), need, used)
				}
				m := pixels(t, w, data)
				w.Trim()
				if _, err := w.RunPixels(p, m); err != nil {
					t.Fatal(err)
				}
				if need, used := w.NeedPixelBytes(p, m), int64(w.ScratchBytes()); used > need {
					t.Errorf("%s, %s of pixels: reserved %d bytes, used %d", name, describe(steps), need, used)
				}
			}
		}
	})
}

// TestNoGarbage pins what one photo costs the garbage collector on the way from JPEG to JPEG.
func TestNoGarbage(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	if !w.useTurbo {
		t.Log("the standard library allocates a picture a photo")
		return
	}
	data := photo(t, "coffee.jpg")
	p := &Program{Steps: []Step{Resize{W: 224, H: 224}, Compress{EncodeOptions{JPEG, 75}}}}
	n := testing.AllocsPerRun(50, func() {
		w.Reset()
		h, err := ReadHeader(data, DefaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Run(p, data, h); err != nil {
			t.Fatal(err)
		}
	})
	if n > 10 {
		t.Errorf("%v allocations a photo, want at most 10", n)
	}
}

// TestLargePhotos checks the wider use of scaled decoding on pictures of more than a megapixel, made of real ones.
func TestLargePhotos(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	for _, name := range []string{"hubble.jpg", "rocket.jpg", "coffee.jpg"} {
		big := pixels(t, w, photo(t, name), Resize{W: 1600, H: 1200})
		w.Reset()
		file, err := w.Encode(big, EncodeOptions{Format: JPEG, Quality: 92})
		if err != nil {
			t.Fatal(err)
		}
		data := append([]byte(nil), file...)
		for _, s := range []Resize{{W: 660, H: 500}, {W: 333, H: 250}, {W: 224, H: 224}, {W: 130, H: 100}} {
			a, b := pixels(t, w, data, s), stepwise(t, w, data, s)
			if mean, psnr := difference(t, a, b); mean > 1.5 || psnr < 38 {
				t.Errorf("%s to %dx%d: mean difference %.2f, PSNR %.1f dB", name, s.W, s.H, mean, psnr)
			}
		}
	}
}
