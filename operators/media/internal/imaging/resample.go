package imaging

import (
	"fmt"
	"math"
)

// Rect is a part of a picture in whole pixels.
type Rect struct{ X, Y, W, H int }

// Geometry says which part of a picture becomes which part of a resized one. All numbers refer to the
// upright picture at full size, also when it was decoded at a smaller scale.
type Geometry struct {
	// From is the part that is resized; filters see nothing beyond it.
	From Rect
	// W and H are what From is resized to.
	W, H int
	// Out is the part of the result that is wanted.
	Out Rect
}

// Whole is the geometry that resizes a picture of sw x sh to w x h.
func Whole(sw, sh, w, h int) Geometry {
	return Geometry{From: Rect{0, 0, sw, sh}, W: w, H: h, Out: Rect{0, 0, w, h}}
}

// Ratio is how many source pixels one output pixel covers in the direction that shrinks least.
func (g Geometry) Ratio() float64 {
	return min(float64(g.From.W)/float64(g.W), float64(g.From.H)/float64(g.H))
}

// check refuses geometry that leaves the picture.
func (g Geometry) check(sw, sh int) error {
	if g.W <= 0 || g.H <= 0 || g.W > maxSide || g.H > maxSide {
		return fmt.Errorf("resize image: target size %dx%d is out of range 1..%d", g.W, g.H, maxSide)
	}
	if !g.From.inside(sw, sh) {
		return fmt.Errorf("crop image: %dx%d at %d,%d leaves the picture of %dx%d", g.From.W, g.From.H, g.From.X, g.From.Y, sw, sh)
	}
	if !g.Out.inside(g.W, g.H) {
		return fmt.Errorf("crop image: %dx%d at %d,%d leaves the picture of %dx%d", g.Out.W, g.Out.H, g.Out.X, g.Out.Y, g.W, g.H)
	}
	return nil
}

func (r Rect) inside(w, h int) bool {
	return r.W > 0 && r.H > 0 && r.X >= 0 && r.Y >= 0 && r.W <= w && r.H <= h && r.X <= w-r.W && r.Y <= h-r.H
}

// axis is one direction of a geometry in stored coordinates.
type axis struct {
	from, fromN int  // source window
	full        int  // what the window is resized to
	out, outN   int  // wanted part of it
	flip        bool // the result is turned around afterwards
}

// axes maps upright geometry to the stored axes of a picture.
func (g Geometry) axes(t turn) (x, y axis) {
	x = axis{from: g.From.X, fromN: g.From.W, full: g.W, out: g.Out.X, outN: g.Out.W}
	y = axis{from: g.From.Y, fromN: g.From.H, full: g.H, out: g.Out.Y, outN: g.Out.H}
	if t.swap {
		x, y = y, x
	}
	x.flip, y.flip = t.flipX, t.flipY
	return x, y
}

// span gives the filter span of one plane along the axis. srcN is the stored size of the picture at full
// scale, have the samples of the plane, srcStep and dstStep the pixels that one sample of the source
// and of the output covers.
func (a axis) span(srcN, have, srcStep, dstStep int) span {
	from, out := a.from, a.out
	n := ceilDiv(a.outN, dstStep)
	if a.flip {
		from, out = srcN-a.from-a.fromN, a.full-a.out-a.outN
		// The last chroma sample of the upright picture may hang over its edge; seen from the other
		// end, the first one does.
		out += a.outN - n*dstStep
	}
	ratio := float64(a.fromN) / float64(a.full)
	return span{
		lo:    from / srcStep,
		hi:    min(ceilDiv(from+a.fromN, srcStep), have),
		start: (float64(from) + float64(out)*ratio) / float64(srcStep),
		scale: float64(dstStep) * ratio / float64(srcStep),
		n:     n,
	}
}

// Resample crops and resizes, and applies a pending orientation. A YCbCr picture gets the given chroma
// subsampling: chroma is resized once, straight to what the next step needs.
func (w *Worker) Resample(m *Image, g Geometry, chroma Chroma) (*Image, error) {
	t := turns[m.Orient]
	sw, sh := m.SrcW, m.SrcH
	if t.swap {
		sw, sh = sh, sw
	}
	if err := g.check(sw, sh); err != nil {
		return nil, err
	}
	ax, ay := g.axes(t)
	if t.swap {
		chroma = Chroma{chroma.V, chroma.H}
	}
	out := w.newImage(ax.outN, ay.outN, m.Model, m.Depth, chroma)
	out.Profile, out.Orient = m.Profile, m.Orient
	for i := range m.planes() {
		have, rows := m.planeSize(i)
		sx, sy, dx, dy := m.Scale, m.Scale, 1, 1
		if i > 0 {
			sx, sy, dx, dy = sx*m.Chroma.H, sy*m.Chroma.V, chroma.H, chroma.V
		}
		tx := w.taps(ax.span(m.SrcW, have, sx, dx))
		ty := w.taps(ay.span(m.SrcH, rows, sy, dy))
		w.resizeSamples(out, m, i, tx, ty)
	}
	return w.turned(out, t), nil
}

// turned applies an orientation to a picture whose chroma was already aligned for it.
func (w *Worker) turned(m *Image, t turn) *Image {
	m.Orient = 1
	if t == (turn{}) {
		return m
	}
	uw, uh, chroma := m.W, m.H, m.Chroma
	if t.swap {
		uw, uh, chroma = uh, uw, Chroma{chroma.V, chroma.H}
	}
	out := w.newImage(uw, uh, m.Model, m.Depth, chroma)
	out.Profile = m.Profile
	for i := range m.planes() {
		pw, ph := m.planeSize(i)
		turnPlane(out.Pix[i], out.Stride[i], m.Pix[i], m.Stride[i], pw, ph, planePixelBytes(m), t)
	}
	return out
}

// resizeSamples resizes plane i of m into out with the kernel for its layout.
func (w *Worker) resizeSamples(out, m *Image, i int, tx, ty *taps) {
	switch {
	case m.Depth == 16:
		w.resizePacked16(out, m, tx, ty)
	case m.Model == RGB:
		w.resizePacked(out.Pix[0], out.Stride[0], m.Pix[0], m.Stride[0], 3, tx, ty)
	case m.Model == RGBA:
		w.resizeAlpha(out, m, tx, ty)
	default:
		w.resizePlane(out.Pix[i], out.Stride[i], m.Pix[i], m.Stride[i], tx, ty)
	}
}

// FitSize is the largest size with the proportions of w x h that fits into boxW x boxH.
func FitSize(w, h, boxW, boxH int) (int, int) {
	return proportional(w, h, min(float64(boxW)/float64(w), float64(boxH)/float64(h)), boxW, boxH, false)
}

// FillSize is the smallest size with the proportions of w x h that covers boxW x boxH.
func FillSize(w, h, boxW, boxH int) (int, int) {
	return proportional(w, h, max(float64(boxW)/float64(w), float64(boxH)/float64(h)), boxW, boxH, true)
}

func proportional(w, h int, f float64, boxW, boxH int, cover bool) (int, int) {
	ow, oh := max(1, int(math.Round(float64(w)*f))), max(1, int(math.Round(float64(h)*f)))
	if cover {
		return max(ow, boxW), max(oh, boxH)
	}
	return min(ow, boxW), min(oh, boxH)
}
