package post

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/operators/media"
)

// Box is a place in a picture, in its pixels.
type Box struct {
	X, Y, W, H float64
	Score      float32
	Label      string
}

// BoxesType is a column of boxes; label is there where boxes have one.
func BoxesType(labels bool) arrow.DataType {
	var f []arrow.Field
	for _, n := range []string{"x", "y", "width", "height"} {
		f = append(f, arrow.Field{Name: n, Type: arrow.PrimitiveTypes.Int32, Nullable: true})
	}
	f = append(f, arrow.Field{Name: "score", Type: arrow.PrimitiveTypes.Float32, Nullable: true})
	if labels {
		f = append(f, arrow.Field{Name: "label", Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.ListOf(arrow.StructOf(f...))
}

// Regions finds the boxes of regions in a map of probabilities (DBNet's, for lines of text). Boxes are upright: lines that are not are covered by
// larger ones.
type Regions struct {
	Column, Tensor string
	Threshold      float32 // of a pixel; default 0.3
	BoxThreshold   float32 // of the mean of a region; default 0.5
	Grow           float64 // how much a box grows: area times this by perimeter, on each side; default 1.6
	Least          int     // of a side, in pixels of the map; default 3
}

// Tensors implements Output.
func (r *Regions) Tensors() []string { return []string{r.Tensor} }

// Field implements Output.
func (r *Regions) Field(About) (arrow.Field, error) {
	return arrow.Field{Name: r.Column, Type: BoxesType(false), Nullable: true}, nil
}

// Bind implements Output.
func (r *Regions) Bind(m *Model) (Bound, error) {
	o, err := m.output(r.Tensor)
	if err != nil {
		return nil, err
	}
	if row := m.row(o); len(row) < 2 {
		return nil, fmt.Errorf("output %q of the model is %v a row, no map", o.Name, row)
	}
	return r, nil
}

// Builder implements Bound.
func (r *Regions) Builder(mem memory.Allocator, _ int) Builder {
	return &regionBuilder{Regions: r, list: newBoxList(mem, false)}
}

type regionBuilder struct {
	*Regions
	list *boxList
	prob []float32
	seen []bool
}

// Append implements Builder.
func (r *regionBuilder) Append(v []View, pic media.Geometry) error {
	var err error
	if r.prob, err = v[0].Floats(r.prob); err != nil {
		return err
	}
	s := v[0].Shape
	h, w := int(s[len(s)-2]), int(s[len(s)-1])
	if h*w != len(r.prob) {
		return fmt.Errorf("output %q has shape %v a row; a map has one channel", r.Tensor, s)
	}
	if pic.W == 0 {
		pic = media.Geometry{Width: w, Height: h, W: w, H: h, UsedW: w, UsedH: h}
	}
	boxes := r.find(w, h)
	sx, sy := float64(pic.Width)/float64(pic.UsedW)*float64(pic.W)/float64(w), float64(pic.Height)/float64(pic.UsedH)*float64(pic.H)/float64(h)
	for i := range boxes {
		b := &boxes[i]
		b.X, b.W, b.Y, b.H = b.X*sx, b.W*sx, b.Y*sy, b.H*sy
	}
	inReadingOrder(boxes)
	r.list.append(boxes, pic.Width, pic.Height)
	return nil
}

// find floods the regions above the threshold.
func (r *regionBuilder) find(w, h int) []Box {
	r.seen = append(r.seen[:0], make([]bool, w*h)...)
	var boxes []Box
	var stack []int
	for start, p := range r.prob {
		if p <= r.Threshold || r.seen[start] {
			continue
		}
		x0, y0, x1, y1, sum, n := w, h, 0, 0, 0.0, 0
		stack = append(stack[:0], start)
		r.seen[start] = true
		for len(stack) > 0 {
			at := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			x, y := at%w, at/w
			x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
			sum += float64(r.prob[at])
			n++
			for yy := max(0, y-1); yy <= min(h-1, y+1); yy++ {
				for xx := max(0, x-1); xx <= min(w-1, x+1); xx++ {
					if k := yy*w + xx; !r.seen[k] && r.prob[k] > r.Threshold {
						r.seen[k] = true
						stack = append(stack, k)
					}
				}
			}
		}
		bw, bh, score := float64(x1-x0+1), float64(y1-y0+1), float32(sum/float64(n))
		if score < r.BoxThreshold || min(bw, bh) < float64(r.Least) {
			continue
		}
		d := bw * bh * r.Grow / (2 * (bw + bh))
		boxes = append(boxes, Box{X: float64(x0) - d, Y: float64(y0) - d, W: bw + 2*d, H: bh + 2*d, Score: score})
	}
	return boxes
}

// inReadingOrder sorts boxes by lines, and within a line from left to right. A box is of a line if their middles are closer than half its height.
func inReadingOrder(boxes []Box) {
	slices.SortStableFunc(boxes, func(a, b Box) int { return cmp.Compare(a.Y+a.H/2, b.Y+b.H/2) })
	for from := 0; from < len(boxes); {
		to := from + 1
		middle := boxes[from].Y + boxes[from].H/2
		for to < len(boxes) && math.Abs(boxes[to].Y+boxes[to].H/2-middle) < min(boxes[from].H, boxes[to].H)/2 {
			to++
		}
		slices.SortStableFunc(boxes[from:to], func(a, b Box) int { return cmp.Compare(a.X, b.X) })
		from = to
	}
}

// NewArray implements Builder.
func (r *regionBuilder) NewArray() arrow.Array { return r.list.b.NewArray() }

// Release implements Builder.
func (r *regionBuilder) Release() { r.list.b.Release() }

// boxList builds a column of boxes.
type boxList struct {
	b      *array.ListBuilder
	s      *array.StructBuilder
	labels bool
}

func newBoxList(mem memory.Allocator, labels bool) *boxList {
	b := array.NewBuilder(mem, BoxesType(labels)).(*array.ListBuilder)
	return &boxList{b, b.ValueBuilder().(*array.StructBuilder), labels}
}

// append adds a row of boxes, cut to a picture of w x h.
func (l *boxList) append(boxes []Box, w, h int) {
	l.b.Append(true)
	for _, b := range boxes {
		x0, y0 := math.Max(0, math.Floor(b.X)), math.Max(0, math.Floor(b.Y))
		x1, y1 := math.Min(float64(w), math.Ceil(b.X+b.W)), math.Min(float64(h), math.Ceil(b.Y+b.H))
		if x1 <= x0 || y1 <= y0 {
			continue
		}
		l.s.Append(true)
		for i, v := range []float64{x0, y0, x1 - x0, y1 - y0} {
			l.s.FieldBuilder(i).(*array.Int32Builder).Append(int32(v))
		}
		l.s.FieldBuilder(4).(*array.Float32Builder).Append(b.Score)
		if l.labels {
			l.s.FieldBuilder(5).(*array.StringBuilder).Append(b.Label)
		}
	}
}
