package imaging

import "math"

// Scores are simple measures of a picture's quality.
type Scores struct {
	// Blur is the variance of the Laplacian of the luma, the usual measure of sharpness: below about
	// 100 a photo looks blurred, a picture of one colour has 0. It depends on the size of the picture.
	Blur float64
	// Brightness is the mean luma, 0 (black) to 1 (white).
	Brightness float64
	// Entropy is the Shannon entropy of the luma histogram in bits, 0 (one colour) to 8.
	Entropy float64
}

// Score measures a picture.
func (w *Worker) Score(m *Image) Scores {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	g := w.luma(m)
	var histogram [256]int64
	var total int64
	for y := range g.H {
		for _, v := range g.Pix[0][y*g.Stride[0]:][:g.W] {
			histogram[v]++
			total += int64(v)
		}
	}
	n := float64(g.W) * float64(g.H)
	s := Scores{Brightness: float64(total) / n / 255, Blur: laplacianVariance(g)}
	for _, count := range histogram {
		if count > 0 {
			p := float64(count) / n
			s.Entropy -= p * math.Log2(p)
		}
	}
	s.Entropy = max(s.Entropy, 0) // not -0
	return s
}

// laplacianVariance is the variance of the four-neighbour Laplacian over the inner pixels.
func laplacianVariance(g *Image) float64 {
	if g.W < 3 || g.H < 3 {
		return 0
	}
	var sum, squares int64
	for y := 1; y < g.H-1; y++ {
		up := g.Pix[0][(y-1)*g.Stride[0]:][:g.W]
		row := g.Pix[0][y*g.Stride[0]:][:g.W]
		down := g.Pix[0][(y+1)*g.Stride[0]:][:g.W]
		for x := 1; x < len(row)-1; x++ {
			l := int64(up[x]) + int64(down[x]) + int64(row[x-1]) + int64(row[x+1]) - 4*int64(row[x])
			sum += l
			squares += l * l
		}
	}
	n := float64(g.W-2) * float64(g.H-2)
	mean := float64(sum) / n
	return float64(squares)/n - mean*mean
}
