package imaging

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// referencePlane is the triangle filter in floating point, one output sample at a time.
func referencePlane(src []byte, w, h int, g Geometry) []float64 {
	one := func(pos float64, scale float64, lo, hi int, at func(int) float64) float64 {
		width := max(scale, 1)
		sum, weights := 0.0, 0.0
		for j := lo; j < hi; j++ {
			if v := 1 - math.Abs(float64(j)+0.5-pos)/width; v > 0 {
				sum, weights = sum+v*at(j), weights+v
			}
		}
		return sum / weights
	}
	sx, sy := float64(g.From.W)/float64(g.W), float64(g.From.H)/float64(g.H)
	out := make([]float64, 0, g.Out.W*g.Out.H)
	for y := g.Out.Y; y < g.Out.Y+g.Out.H; y++ {
		for x := g.Out.X; x < g.Out.X+g.Out.W; x++ {
			out = append(out, one(float64(g.From.Y)+(float64(y)+0.5)*sy, sy, g.From.Y, g.From.Y+g.From.H, func(j int) float64 {
				return one(float64(g.From.X)+(float64(x)+0.5)*sx, sx, g.From.X, g.From.X+g.From.W, func(i int) float64 {
					return float64(src[j*w+i])
				})
			}))
		}
	}
	return out
}

func TestResampleEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.IntRange(1, 70)
		w, h := side.Draw(t, "w"), side.Draw(t, "h")
		channels := rapid.SampledFrom([]int{1, 3, 4}).Draw(t, "channels")
		depth := rapid.SampledFrom([]int{8, 16}).Draw(t, "depth")
		g := Geometry{W: side.Draw(t, "outW"), H: side.Draw(t, "outH")}
		g.From = rectIn(t, "from", w, h)
		g.Out = rectIn(t, "out", g.W, g.H)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		planes := make([][]byte, channels)
		pix := make([]byte, w*h*channels*depth/8)
		for c := range planes {
			planes[c] = make([]byte, w*h)
			for i := range planes[c] {
				v := byte(r.IntN(256))
				if channels == 4 && c == 3 {
					v = 255 // colours are weighted by alpha, see TestAlphaDoesNotBleed
				}
				planes[c][i] = v
				if depth == 16 {
					binary.LittleEndian.PutUint16(pix[(i*channels+c)*2:], uint16(v)*257)
				} else {
					pix[i*channels+c] = v
				}
			}
		}
		m, err := Wrap(pix, w, h, channels, depth, nil)
		if err != nil {
			t.Fatal(err)
		}
		worker := NewStandardWorker()
		out, err := worker.Resample(m, g, Chroma444)
		if err != nil {
			t.Fatal(err)
		}
		if depth == 16 {
			out = worker.toDepth8(out)
		}
		for c := range planes {
			for i, want := range referencePlane(planes[c], w, h, g) {
				x, y := i%g.Out.W, i/g.Out.W
				got := float64(out.Pix[0][y*out.Stride[0]+x*channels+c])
				// Weights have 8 bits: half a step for each of some taps in both directions, then rounding.
				if math.Abs(got-want) > 4 {
					t.Fatalf("channel %d at %d,%d is %v, want %.2f", c, x, y, got, want)
				}
			}
		}
	})
}

func rectIn(t *rapid.T, label string, w, h int) Rect {
	r := Rect{W: rapid.IntRange(1, w).Draw(t, label+"W"), H: rapid.IntRange(1, h).Draw(t, label+"H")}
	r.X, r.Y = rapid.IntRange(0, w-r.W).Draw(t, label+"X"), rapid.IntRange(0, h-r.H).Draw(t, label+"Y")
	return r
}

func TestWeightsSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "have")
		lo := rapid.IntRange(0, n-1).Draw(t, "lo")
		s := span{lo: lo, hi: rapid.IntRange(lo+1, n).Draw(t, "hi"), start: rapid.Float64Range(-10, 3010).Draw(t, "start"),
			scale: rapid.Float64Range(0.001, 900).Draw(t, "scale"), n: rapid.IntRange(1, 50).Draw(t, "n")}
		table := makeTaps(s)
		for i := range s.n {
			first, weights := table.at(i)
			sum := 0
			for _, v := range weights {
				sum += int(v)
			}
			if sum != weightOne || first < s.lo || first+len(weights) > s.hi || first < table.lo || first+len(weights) > table.hi {
				t.Fatalf("output %d: weights %v from %d sum to %d within [%d,%d)", i, weights, first, sum, s.lo, s.hi)
			}
		}
	})
}

func TestConstantPicturesStayConstant(t *testing.T) {
	for _, v := range []byte{0, 1, 127, 128, 254, 255} {
		pix := make([]byte, 37*53*3)
		for i := range pix {
			pix[i] = v
		}
		m, err := Wrap(pix, 37, 53, 3, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := NewStandardWorker()
		for _, size := range [][2]int{{1, 1}, {5, 9}, {37, 53}, {100, 3}, {400, 401}} {
			out, err := w.Resample(m, Whole(37, 53, size[0], size[1]), Chroma444)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range clone(t, out).Pix[0] {
				if got != v {
					t.Fatalf("%v: a sample of %d became %d", size, v, got)
				}
			}
		}
	}
}

func TestAlphaDoesNotBleed(t *testing.T) {
	pix := make([]byte, 8*8*4)
	for i := range 64 {
		if i%8 < 4 {
			copy(pix[i*4:], []byte{200, 10, 10, 255}) // red on the left
		} else {
			copy(pix[i*4:], []byte{0, 255, 0, 0}) // invisible green on the right
		}
	}
	m, err := Wrap(pix, 8, 8, 4, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := NewStandardWorker()
	out, err := w.Resample(m, Whole(8, 8, 3, 3), Chroma444)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := 0, clone(t, out).Pix[0]; i < len(c); i += 4 {
		if c[i+3] > 8 && (c[i] < 190 || c[i+1] > 20) {
			t.Errorf("pixel %d is %v: green bled into it", i/4, c[i:i+4])
		}
	}
}

func TestSizes(t *testing.T) {
	for _, tt := range []struct{ w, h, boxW, boxH, fitW, fitH, fillW, fillH int }{
		{500, 375, 224, 224, 224, 168, 299, 224}, {375, 500, 224, 224, 168, 224, 224, 299}, {10, 10, 20, 30, 20, 20, 30, 30},
		{1000, 1, 10, 10, 10, 1, 10000, 10}, {1, 1000, 7, 7, 1, 7, 7, 7000}, {224, 224, 224, 224, 224, 224, 224, 224}, {3, 2, 100, 100, 100, 67, 150, 100},
	} {
		if w, h := FitSize(tt.w, tt.h, tt.boxW, tt.boxH); w != tt.fitW || h != tt.fitH {
			t.Errorf("fit %dx%d into %dx%d: %dx%d, want %dx%d", tt.w, tt.h, tt.boxW, tt.boxH, w, h, tt.fitW, tt.fitH)
		}
		if w, h := FillSize(tt.w, tt.h, tt.boxW, tt.boxH); w != tt.fillW || h != tt.fillH {
			t.Errorf("fill %dx%d into %dx%d: %dx%d, want %dx%d", tt.w, tt.h, tt.boxW, tt.boxH, w, h, tt.fillW, tt.fillH)
		}
	}
}

func TestGeometryErrors(t *testing.T) {
	w := NewStandardWorker()
	m, err := Wrap(make([]byte, 30), 5, 6, 1, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Step{Crop{W: 6, H: 1, Center: true}, Crop{W: 2, H: 2, X: 4}, Crop{W: 2, H: 2, Y: -1}, Resize{W: 0, H: 1}, Resize{W: 1 << 30, H: 1}} {
		if _, err := w.RunPixels(&Program{Steps: []Step{s}}, m); err == nil {
			t.Errorf("%T%v worked on a picture of 5x6", s, s)
		}
	}
	for _, bad := range []struct{ n, w, h, c, d int }{{5, 5, 6, 1, 8}, {0, 0, 5, 1, 8}, {30, 5, 6, 2, 8}, {30, 5, 6, 1, 12}, {4, -2, -2, 1, 8}, {0, 1 << 30, 1 << 30, 1, 8}} {
		if _, err := Wrap(make([]byte, bad.n), bad.w, bad.h, bad.c, bad.d, nil); err == nil {
			t.Errorf("%v was taken for pixels", bad)
		}
	}
}
