package imaging

import "fmt"

// Fit says what a resize does with proportions.
type Fit uint8

// The fits: exact stretches, fit gives the largest picture that lies inside the box, fill the smallest that
// covers it, cropped to the box around its centre.
const (
	Exact Fit = iota
	Inside
	Fill
)

// ParseFit reads a fit's name; the empty name is exact.
func ParseFit(s string) (Fit, error) {
	switch s {
	case "", "exact":
		return Exact, nil
	case "fit":
		return Inside, nil
	case "fill":
		return Fill, nil
	}
	return 0, fmt.Errorf("fit %q is unknown; want exact, fit or fill", s)
}

// Step is one step of a Program: Resize, Crop, ToMode, Hash, Measure or Compress.
type Step interface{ step() }

// Resize scales to W x H.
type Resize struct {
	W, H int
	Fit  Fit
}

// Crop cuts out W x H pixels at X, Y, or around the centre.
type Crop struct {
	W, H, X, Y int
	Center     bool
}

// ToMode converts to rgb, grey or rgba.
type ToMode struct{ Mode Mode }

// Hash computes the perceptual hash of the picture at this point.
type Hash struct{ Method HashMethod }

// Measure computes the quality scores of the picture at this point.
type Measure struct{}

// Compress encodes the picture. It is the last step.
type Compress struct{ Options EncodeOptions }

func (Resize) step()   {}
func (Crop) step()     {}
func (ToMode) step()   {}
func (Hash) step()     {}
func (Measure) step()  {}
func (Compress) step() {}

// Program is what happens to one picture from its file (or its pixels) to the result. Running it gives what the
// steps give one by one, within ComposedTolerance, but decodes no more than the steps need.
type Program struct {
	Mode  Mode // of the decode that begins it
	Steps []Step
}

// ComposedTolerance is the largest mean absolute difference, in grey levels of 255 over all samples, between
// a program and its steps run one by one, and between libjpeg-turbo and the standard library. Scaled decoding filters a
// little differently, rounding happens at other places, and JPEG encoders enlarge small differences of strong textures; photos
// of usual size stay below 1.5.
const ComposedTolerance = 3.0

// Result is what a program gave. Image is set unless the program ends in Compress, Data if it does. Both live
// until the worker's next Reset.
type Result struct {
	Image  *Image
	Data   []byte
	Hash   uint64
	Scores Scores
}

// geometry folds crops and one resize at the start of steps, applied to a picture of w x h, into one
// resample. done is the number of steps folded, resized whether one of them is a resize.
func geometry(steps []Step, w, h int) (g Geometry, done int, resized bool, err error) {
	g = Whole(w, h, w, h)
	for ; done < len(steps); done++ {
		switch s := steps[done].(type) {
		case Crop:
			r, err := s.rect(g.Out.W, g.Out.H)
			if err != nil {
				return g, done, resized, err
			}
			g.Out.X, g.Out.Y, g.Out.W, g.Out.H = g.Out.X+r.X, g.Out.Y+r.Y, r.W, r.H
		case Resize:
			if resized {
				return g, done, resized, nil
			}
			resized = true
			g = s.geometry(g.Out)
		default:
			return g, done, resized, nil
		}
	}
	return g, done, resized, nil
}

func (s Resize) geometry(from Rect) Geometry {
	g := Geometry{From: from, W: s.W, H: s.H, Out: Rect{0, 0, s.W, s.H}}
	switch s.Fit {
	case Inside:
		g.W, g.H = FitSize(from.W, from.H, s.W, s.H)
		g.Out = Rect{0, 0, g.W, g.H}
	case Fill:
		g.W, g.H = FillSize(from.W, from.H, s.W, s.H)
		g.Out.X, g.Out.Y = (g.W-s.W)/2, (g.H-s.H)/2
	}
	return g
}

// rect places the crop in a picture of w x h.
func (s Crop) rect(w, h int) (Rect, error) {
	r := Rect{s.X, s.Y, s.W, s.H}
	if s.Center {
		r.X, r.Y = (w-s.W)/2, (h-s.H)/2
	}
	if !r.inside(w, h) {
		return r, fmt.Errorf("crop image: %dx%d at %d,%d leaves the picture of %dx%d", r.W, r.H, r.X, r.Y, w, h)
	}
	return r, nil
}
