package post

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/operators/media"
)

// Segments finds the stretches of a sound whose windows have a high probability: one begins at Threshold and ends when the probability has been
// below Threshold-0.15 for MinSilence seconds.
type Segments struct {
	Column, Tensor        string
	Seconds               float64 // of a window
	Threshold             float32 // default 0.5
	MinSpeech, MinSilence float64 // seconds; defaults 0.25 and 0.1
}

// segmentsType is the column.
var segmentsType = arrow.ListOf(arrow.StructOf(arrow.Field{Name: "start", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	arrow.Field{Name: "end", Type: arrow.PrimitiveTypes.Float64, Nullable: true}))

// hysteresis is how much lower the end's threshold is.
const hysteresis = 0.15

// Tensors implements Output.
func (s *Segments) Tensors() []string { return []string{s.Tensor} }

// Field implements Output.
func (s *Segments) Field(About) (arrow.Field, error) {
	return arrow.Field{Name: s.Column, Type: segmentsType, Nullable: true}, nil
}

// Bind implements Output.
func (s *Segments) Bind(m *Model) (Bound, error) {
	if _, err := m.output(s.Tensor); err != nil {
		return nil, err
	}
	return s, nil
}

// Builder implements Bound.
func (s *Segments) Builder(mem memory.Allocator, _ int) Builder {
	return &segmentBuilder{Segments: s, b: array.NewBuilder(mem, segmentsType).(*array.ListBuilder)}
}

type segmentBuilder struct {
	*Segments
	b    *array.ListBuilder
	prob []float32
}

// Append implements Builder.
func (s *segmentBuilder) Append(v []View, _ media.Geometry) error {
	var err error
	if s.prob, err = v[0].Floats(s.prob); err != nil {
		return err
	}
	for i, p := range s.prob {
		if p != p {
			return fmt.Errorf("output %q: probability %d is not a number", s.Tensor, i)
		}
	}
	s.b.Append(true)
	row := s.b.ValueBuilder().(*array.StructBuilder)
	for _, x := range s.find() {
		row.Append(true)
		row.FieldBuilder(0).(*array.Float64Builder).Append(x[0])
		row.FieldBuilder(1).(*array.Float64Builder).Append(x[1])
	}
	return nil
}

// find returns starts and ends in seconds.
func (s *segmentBuilder) find() (out [][2]float64) {
	start, quiet := -1, -1 // windows
	end := func(at int) {
		if float64(at-start)*s.Seconds >= s.MinSpeech {
			out = append(out, [2]float64{float64(start) * s.Seconds, float64(at) * s.Seconds})
		}
		start, quiet = -1, -1
	}
	for i, p := range s.prob {
		switch {
		case p >= s.Threshold:
			quiet = -1
			if start < 0 {
				start = i
			}
		case start >= 0 && p < s.Threshold-hysteresis:
			if quiet < 0 {
				quiet = i
			}
			if float64(i+1-quiet)*s.Seconds >= s.MinSilence {
				end(quiet)
			}
		}
	}
	if start >= 0 {
		if quiet < 0 {
			quiet = len(s.prob)
		}
		end(quiet)
	}
	return out
}

// NewArray implements Builder.
func (s *segmentBuilder) NewArray() arrow.Array { return s.b.NewArray() }

// Release implements Builder.
func (s *segmentBuilder) Release() { s.b.Release() }
