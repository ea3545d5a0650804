package imaging

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

const (
	hashSide  = 32 // the picture is shrunk to this square of luma first
	hashTerms = 8  // and described by this many frequencies in each direction
)

// dctTable holds the cosines of the lowest frequencies.
var dctTable = func() (t [hashTerms][hashSide]float32) {
	for u := range t {
		for x := range t[u] {
			t[u][x] = float32(math.Cos(math.Pi / hashSide * (float64(x) + 0.5) * float64(u)))
		}
	}
	return t
}()

// HashMethod is a way to make a perceptual hash. Hashes of different methods cannot be compared.
type HashMethod uint8

// The methods.
const (
	// HashLocal describes local structure: damage to a part of a picture (a cut corner, a caption) flips only
	// the bits of that part.
	HashLocal HashMethod = iota
	// HashDCT describes the whole picture by its lowest frequencies: it confuses different pictures even more rarely,
	// but a cut corner changes all of it.
	HashDCT
)

// ParseHashMethod reads a method's name; the empty name is local.
func ParseHashMethod(s string) (HashMethod, error) {
	switch s {
	case "", "local":
		return HashLocal, nil
	case "dct":
		return HashDCT, nil
	}
	return 0, fmt.Errorf("method %q is unknown; want local or dct", s)
}

// PerceptualHash is a 64-bit hash of what a picture looks like: pictures of the same subject that differ in
// size, compression, colour space or small retouches have hashes that differ in few bits (see Distance).
// Rotations, mirror images and crops of more than a few percent are other pictures to it. A picture of
// one colour hashes to 0.
func (w *Worker) PerceptualHash(m *Image, method HashMethod) (uint64, error) {
	slab, off := w.scratch.mark()
	defer w.scratch.release(slab, off)
	if method == HashDCT {
		return w.hashDCT(m)
	}
	return w.hashLocal(m)
}

// hashLocal shrinks the luma to 10x10. Each of the inner 8x8 cells gives one bit, by turns: whether it is brighter
// than its four neighbours, whether it gets brighter to the right, whether it gets brighter downwards. Three kinds of
// test that look at different neighbours depend on each other less than one kind (dHash) does.
func (w *Worker) hashLocal(m *Image) (uint64, error) {
	const side = 10
	g, err := w.smallLuma(m, side, side)
	if err != nil {
		return 0, err
	}
	at := func(x, y int) int { return int(g.Pix[0][y*g.Stride[0]+x]) }
	var h uint64
	for y := 1; y < side-1; y++ {
		for x := 1; x < side-1; x++ {
			var set bool
			switch (x - 1 + 2*(y-1)) % 3 {
			case 0:
				set = 4*at(x, y) > at(x-1, y)+at(x+1, y)+at(x, y-1)+at(x, y+1)
			case 1:
				set = at(x+1, y) > at(x-1, y)
			default:
				set = at(x, y+1) > at(x, y-1)
			}
			if set {
				h |= 1 << ((y-1)*8 + x - 1)
			}
		}
	}
	return h, nil
}

// hashDCT shrinks the luma to 32x32; bit 8v+u says whether the DCT coefficient of horizontal frequency u and
// vertical frequency v is above the median of the 64. (Zauner, "Implementation and Benchmarking of
// Perceptual Image Hash Functions", 2010.)
func (w *Worker) hashDCT(m *Image) (uint64, error) {
	small, err := w.smallLuma(m, hashSide, hashSide)
	if err != nil {
		return 0, err
	}
	var rows [hashSide][hashTerms]float32
	for y := range hashSide {
		line := small.Pix[0][y*small.Stride[0]:][:hashSide]
		for u := range hashTerms {
			var sum float32
			for x, c := range dctTable[u] {
				sum += c * float32(line[x])
			}
			rows[y][u] = sum
		}
	}
	var terms [hashTerms * hashTerms]float32
	for v := range hashTerms {
		for u := range hashTerms {
			var sum float32
			for y, c := range dctTable[v] {
				sum += c * rows[y][u]
			}
			terms[v*hashTerms+u] = sum
		}
	}
	return threshold(terms), nil
}

// threshold sets the bits of the terms above the median. Terms that are nothing but rounding are below it.
func threshold(terms [hashTerms * hashTerms]float32) uint64 {
	const noise = 64 // a sixteenth of a grey level in each of the 1024 samples
	terms[0] = 0     // the constant term is brightness, not structure
	sorted := terms
	slices.Sort(sorted[:])
	median := (sorted[31] + sorted[32]) / 2
	var h uint64
	for i, t := range terms {
		if t > median && math.Abs(float64(t)) > noise {
			h |= 1 << i
		}
	}
	return h
}

// Distance is the number of bits in which two hashes differ, 0 to 64.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// smallLuma shrinks the luma of a picture to w x h, upright.
func (w *Worker) smallLuma(m *Image, width, height int) (*Image, error) {
	m = w.luma(m)
	uw, uh := m.SrcW, m.SrcH
	if turns[m.Orient].swap {
		uw, uh = uh, uw
	}
	return w.Resample(m, Whole(uw, uh, width, height), Chroma444)
}

// luma gives the 8-bit luma of any picture, in its stored orientation.
func (w *Worker) luma(m *Image) *Image {
	if m.Depth == 16 {
		m = w.toDepth8(m)
	}
	if m.Model == RGBA {
		m = w.flatten(m)
	}
	return w.toGrey(m)
}
