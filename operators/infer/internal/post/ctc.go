package post

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/operators/media"
)

// CTC reads text from scores of letters at each step: the best letter of each, equal neighbours once, blanks left out.
type CTC struct {
	Column, Tensor string
	Alphabet       Labels // letter 1, 2, …; letter 0 is the blank
	Confidence     bool   // the mean score of the letters instead of the text
}

// Tensors implements Output.
func (c *CTC) Tensors() []string { return []string{c.Tensor} }

// Field implements Output.
func (c *CTC) Field(About) (arrow.Field, error) {
	if c.Confidence {
		return arrow.Field{Name: c.Column, Type: arrow.PrimitiveTypes.Float32, Nullable: true}, nil
	}
	return arrow.Field{Name: c.Column, Type: arrow.BinaryTypes.String, Nullable: true}, nil
}

// Bind implements Output.
func (c *CTC) Bind(m *Model) (Bound, error) {
	o, err := m.output(c.Tensor)
	if err != nil {
		return nil, err
	}
	b := &ctcBound{CTC: c}
	if b.letters, err = c.Alphabet(m); err != nil {
		return nil, err
	}
	row := m.row(o)
	if len(row) != 2 || row[1] > 0 && row[1] != int64(len(b.letters)+1) && row[1] != int64(len(b.letters)+2) {
		return nil, fmt.Errorf("output %q of the model is %v a row, and the alphabet has %d letters and the blank", o.Name, row, len(b.letters))
	}
	return b, nil
}

type ctcBound struct {
	*CTC
	letters []string
}

// Builder implements Bound.
func (b *ctcBound) Builder(mem memory.Allocator, _ int) Builder {
	f, _ := b.Field(nil)
	return &ctcBuilder{ctcBound: b, b: array.NewBuilder(mem, f.Type)}
}

type ctcBuilder struct {
	*ctcBound
	b      array.Builder
	scores []float32
}

// Append implements Builder.
func (c *ctcBuilder) Append(v []View, _ media.Geometry) error {
	var err error
	if c.scores, err = v[0].Floats(c.scores); err != nil {
		return err
	}
	if len(v[0].Shape) != 2 || v[0].Shape[1] < 2 || int(v[0].Shape[1]) > len(c.letters)+2 {
		return fmt.Errorf("output %q has shape %v a row for %d letters and the blank", c.Tensor, v[0].Shape, len(c.letters))
	}
	n := int(v[0].Shape[1])
	var text strings.Builder
	sum, count, last := float32(0), 0, 0
	for at := 0; at+n <= len(c.scores); at += n {
		best := 0
		for i, s := range c.scores[at : at+n] {
			if s > c.scores[at+best] {
				best = i
			}
		}
		if best != 0 && best != last {
			if best <= len(c.letters) {
				text.WriteString(c.letters[best-1])
			} else {
				text.WriteByte(' ') // models of this family have the blank space behind the alphabet
			}
			sum += c.scores[at+best]
			count++
		}
		last = best
	}
	if !c.Confidence {
		c.b.(*array.StringBuilder).Append(text.String())
		return nil
	}
	if count == 0 {
		c.b.AppendNull()
		return nil
	}
	c.b.(*array.Float32Builder).Append(sum / float32(count))
	return nil
}

// NewArray implements Builder.
func (c *ctcBuilder) NewArray() arrow.Array { return c.b.NewArray() }

// Release implements Builder.
func (c *ctcBuilder) Release() { c.b.Release() }
