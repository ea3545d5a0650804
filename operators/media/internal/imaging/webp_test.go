package imaging

import "testing"

// TestLossyWebPIsAsPillowReadsIt: samples of VP8 do not have the range of JFIF; taken for it, this file is 4.8 apart.
func TestLossyWebPIsAsPillowReadsIt(t *testing.T) {
	w := NewStandardWorker()
	defer w.Close()
	m := pixels(t, w, fixture(t, "range.webp"))
	for i, want := range [][3]byte{{0, 0, 0}, {255, 255, 255}, {128, 128, 128}, {255, 0, 0}, {0, 0, 255}} {
		p := m.Pix[0][8*m.Stride[0]+(i*16+8)*3:][:3]
		for c := range 3 {
			if d := int(p[c]) - int(want[c]); d < -3 || d > 3 {
				t.Errorf("stripe %d is %v, want %v", i, p, want)
				break
			}
		}
	}
}
