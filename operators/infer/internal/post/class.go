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

// What is applied to scores before they are compared.
const (
	Softmax = "softmax"
	Sigmoid = "sigmoid"
)

// Labels gives the names of classes.
type Labels func(m *Model) ([]string, error)

// Kinds of Class.
const (
	KindLabel = "label" // the name of the best class
	KindScore = "score" // its score
	KindIndex = "index" // its number
	KindTop   = "top"   // the best classes: a list of label and score
)

// Class tells the best of the classes of a row of scores.
type Class struct {
	Column, Tensor, Kind string
	Labels               Labels // for label and top
	Apply                string
	K                    int     // of top
	Least                float32 // score below which there is no label: null, or left out of top
}

// topType is the column of KindTop.
var topType = arrow.ListOf(arrow.StructOf(arrow.Field{Name: "label", Type: arrow.BinaryTypes.String, Nullable: true},
	arrow.Field{Name: "score", Type: arrow.PrimitiveTypes.Float32, Nullable: true}))

// Tensors implements Output.
func (c *Class) Tensors() []string { return []string{c.Tensor} }

// Field implements Output.
func (c *Class) Field(About) (arrow.Field, error) {
	t := map[string]arrow.DataType{KindLabel: arrow.BinaryTypes.String, KindScore: arrow.PrimitiveTypes.Float32, KindIndex: arrow.PrimitiveTypes.Int32, KindTop: topType}[c.Kind]
	return arrow.Field{Name: c.Column, Type: t, Nullable: true}, nil
}

// Bind implements Output.
func (c *Class) Bind(m *Model) (Bound, error) {
	o, err := m.output(c.Tensor)
	if err != nil {
		return nil, err
	}
	b := &classBound{Class: c}
	if c.Kind == KindLabel || c.Kind == KindTop {
		if b.labels, err = c.Labels(m); err != nil {
			return nil, err
		}
		row := m.row(o)
		n := int64(1)
		for _, d := range row {
			n *= d
		}
		if n > 0 && n != int64(len(b.labels)) {
			return nil, fmt.Errorf("output %q of the model has %d classes, and there are %d labels", o.Name, n, len(b.labels))
		}
	}
	return b, nil
}

type classBound struct {
	*Class
	labels []string
}

// Builder implements Bound.
func (b *classBound) Builder(mem memory.Allocator, _ int) Builder {
	f, _ := b.Field(nil)
	return &classBuilder{classBound: b, b: array.NewBuilder(mem, f.Type)}
}

type classBuilder struct {
	*classBound
	b      array.Builder
	scores []float32
	order  []int
}

// Append implements Builder.
func (c *classBuilder) Append(v []View, _ media.Geometry) error {
	var err error
	if c.scores, err = v[0].Floats(c.scores); err != nil {
		return err
	}
	if len(c.scores) == 0 {
		return fmt.Errorf("output %q has no scores", c.Tensor)
	}
	if c.labels != nil && len(c.scores) != len(c.labels) {
		return fmt.Errorf("output %q has %d scores a row for %d labels", c.Tensor, len(c.scores), len(c.labels))
	}
	for i, s := range c.scores {
		if s != s {
			return fmt.Errorf("output %q: score %d is not a number", c.Tensor, i)
		}
	}
	apply(c.Apply, c.scores)
	best := 0
	for i, s := range c.scores {
		if s > c.scores[best] {
			best = i
		}
	}
	switch b := c.b.(type) {
	case *array.StringBuilder:
		if c.scores[best] < c.Least {
			b.AppendNull()
		} else {
			b.Append(c.labels[best])
		}
	case *array.Float32Builder:
		b.Append(c.scores[best])
	case *array.Int32Builder:
		b.Append(int32(best))
	case *array.ListBuilder:
		c.top(b)
	}
	return nil
}

// top appends the best classes.
func (c *classBuilder) top(b *array.ListBuilder) {
	c.order = c.order[:0]
	for i := range c.scores {
		c.order = append(c.order, i)
	}
	slices.SortStableFunc(c.order, func(x, y int) int { return cmp.Compare(c.scores[y], c.scores[x]) })
	b.Append(true)
	s := b.ValueBuilder().(*array.StructBuilder)
	for _, i := range c.order[:min(c.K, len(c.order))] {
		if c.scores[i] < c.Least {
			break
		}
		s.Append(true)
		s.FieldBuilder(0).(*array.StringBuilder).Append(c.labels[i])
		s.FieldBuilder(1).(*array.Float32Builder).Append(c.scores[i])
	}
}

// NewArray implements Builder.
func (c *classBuilder) NewArray() arrow.Array { return c.b.NewArray() }

// Release implements Builder.
func (c *classBuilder) Release() { c.b.Release() }

// apply turns scores into probabilities in place.
func apply(how string, s []float32) {
	switch how {
	case Sigmoid:
		for i, x := range s {
			s[i] = float32(1 / (1 + math.Exp(-float64(x))))
		}
	case Softmax:
		most, sum := slices.Max(s), 0.0
		for _, x := range s {
			sum += math.Exp(float64(x - most))
		}
		for i, x := range s {
			s[i] = float32(math.Exp(float64(x-most)) / sum)
		}
	}
}
