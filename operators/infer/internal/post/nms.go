package post

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/operators/media"
)

// Detections picks boxes out of many overlapping ones (non-maximum suppression): the best of each class first, those that overlap it left out.
type Detections struct {
	Column        string
	Boxes, Scores string // tensors of n boxes, and of n rows of class scores
	Form          string // of a box: "xyxy" (two corners) or "cxcywh" (middle and size), in pixels of the model's input
	Labels        Labels
	Least         float32 // of a score; default 0.25
	Overlap       float64 // intersection by union above which the worse is left out; default 0.45
	Most          int     // boxes a picture; default 100
}

// Tensors implements Output.
func (d *Detections) Tensors() []string { return []string{d.Boxes, d.Scores} }

// Field implements Output.
func (d *Detections) Field(About) (arrow.Field, error) {
	return arrow.Field{Name: d.Column, Type: BoxesType(true), Nullable: true}, nil
}

// Bind implements Output.
func (d *Detections) Bind(m *Model) (Bound, error) {
	for _, t := range d.Tensors() {
		if _, err := m.output(t); err != nil {
			return nil, err
		}
	}
	labels, err := d.Labels(m)
	if err != nil {
		return nil, err
	}
	return &detectionsBound{d, labels}, nil
}

type detectionsBound struct {
	*Detections
	labels []string
}

// Builder implements Bound.
func (b *detectionsBound) Builder(mem memory.Allocator, _ int) Builder {
	return &detectionsBuilder{detectionsBound: b, list: newBoxList(mem, true)}
}

type detectionsBuilder struct {
	*detectionsBound
	list          *boxList
	boxes, scores []float32
}

// Append implements Builder.
func (d *detectionsBuilder) Append(v []View, pic media.Geometry) error {
	var err error
	if d.boxes, err = v[0].Floats(d.boxes); err != nil {
		return err
	}
	if d.scores, err = v[1].Floats(d.scores); err != nil {
		return err
	}
	n, classes := len(d.boxes)/4, len(d.labels)
	if len(d.boxes)%4 != 0 || classes == 0 || len(d.scores) != n*classes {
		return fmt.Errorf("outputs %q and %q have %v and %v values a row; boxes have 4, and one score for each of %d labels", d.Boxes, d.Scores,
			v[0].Shape, v[1].Shape, classes)
	}
	if pic.W == 0 {
		return fmt.Errorf("output %q has boxes, and the input was no picture", d.Boxes)
	}
	sx, sy := float64(pic.Width)/float64(pic.UsedW), float64(pic.Height)/float64(pic.UsedH)
	var all []Box
	for i := range n {
		best := 0
		row := d.scores[i*classes : (i+1)*classes]
		for c, s := range row {
			if s > row[best] {
				best = c
			}
		}
		if !(row[best] >= d.Least) {
			continue
		}
		a, b, c, e := float64(d.boxes[4*i]), float64(d.boxes[4*i+1]), float64(d.boxes[4*i+2]), float64(d.boxes[4*i+3])
		box := Box{X: a, Y: b, W: c - a, H: e - b}
		if d.Form == "cxcywh" {
			box = Box{X: a - c/2, Y: b - e/2, W: c, H: e}
		}
		all = append(all, Box{box.X * sx, box.Y * sy, box.W * sx, box.H * sy, row[best], d.labels[best]})
	}
	d.list.append(suppress(all, d.Overlap, d.Most), pic.Width, pic.Height)
	return nil
}

// most boxes that are compared with each other: the best ones.
const candidates = 3000

// suppress keeps the best boxes that do not overlap a better one of their class.
func suppress(all []Box, overlap float64, most int) []Box {
	slices.SortStableFunc(all, func(a, b Box) int { return cmp.Compare(b.Score, a.Score) })
	var kept []Box
	for _, b := range all[:min(len(all), candidates)] {
		if len(kept) == most {
			break
		}
		if !slices.ContainsFunc(kept, func(k Box) bool { return k.Label == b.Label && union(k, b) > overlap }) {
			kept = append(kept, b)
		}
	}
	return kept
}

// union is the intersection of two boxes by their union.
func union(a, b Box) float64 {
	w := min(a.X+a.W, b.X+b.W) - max(a.X, b.X)
	h := min(a.Y+a.H, b.Y+b.H) - max(a.Y, b.Y)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h / (a.W*a.H + b.W*b.H - w*h)
}

// NewArray implements Builder.
func (d *detectionsBuilder) NewArray() arrow.Array { return d.list.b.NewArray() }

// Release implements Builder.
func (d *detectionsBuilder) Release() { d.list.b.Release() }
