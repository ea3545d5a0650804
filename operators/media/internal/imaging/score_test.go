package imaging

import (
	"math"
	"testing"
)

func TestScores(t *testing.T) {
	checker, half := make([]byte, 64), make([]byte, 64)
	for i := range checker {
		checker[i] = byte(255 * ((i%8 + i/8) % 2))
		if i%8 >= 4 {
			half[i] = 255
		}
	}
	flat := make([]byte, 64)
	for i := range flat {
		flat[i] = 51
	}
	for name, tt := range map[string]struct {
		pix  []byte
		want Scores
	}{
		"one colour":   {flat, Scores{0, 0.2, 0}},
		"checkerboard": {checker, Scores{1020 * 1020, 0.5, 1}},
		"two halves":   {half, Scores{21675, 0.5, 1}},
	} {
		m, err := Wrap(tt.pix, 8, 8, 1, 8, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWorker()
		got := w.Score(m)
		w.Close()
		for _, d := range []float64{got.Blur - tt.want.Blur, got.Brightness - tt.want.Brightness, got.Entropy - tt.want.Entropy} {
			if math.Abs(d) > 1e-6 {
				t.Errorf("%s: %+v, want %+v", name, got, tt.want)
				break
			}
		}
	}
}

func TestScoresTellSharpFromFlat(t *testing.T) {
	w := NewWorker()
	defer w.Close()
	sharp, flat := pixels(t, w, photo(t, "grass.png")), pixels(t, w, photo(t, "sub/flat.jpg"))
	if a, b := w.Score(sharp), w.Score(flat); a.Blur < 100 || b.Blur > 1 || a.Entropy < 5 || b.Entropy > 0.5 {
		t.Errorf("grass %+v, flat %+v", a, b)
	}
}

func TestNormalizer(t *testing.T) {
	pix := []byte{0, 51, 255, 102, 204, 0}
	m, err := Wrap(pix, 2, 1, 3, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	for layout, want := range map[Layout][]float32{
		CHW: {-1, -0.2, 0.2, 0.8, 1, 0},
		HWC: {-1, 0.2, 1, -0.2, 0.8, 0},
	} {
		n, err := NewNormalizer(layout, 3, []float32{0.5, 0, 0}, []float32{0.5, 1, 1})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 6)
		if err := n.Fill(got, m); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 1e-6 {
				t.Errorf("layout %d: %v, want %v", layout, got, want)
				break
			}
		}
		if err := n.Fill(got[:5], m); err == nil {
			t.Error("five values took a picture of six")
		}
	}
}
