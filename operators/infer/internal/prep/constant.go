package prep

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/gpu"
)

// Constant fills an input with one number: a state to begin from, a switch.
type Constant struct {
	Tensor string
	Shape  []int64 // of a row; nil means the model's
	Value  float64
}

// Columns implements Feature.
func (*Constant) Columns() []string { return nil }

// Check implements Feature.
func (*Constant) Check(*arrow.Schema) error { return nil }

// Bind implements Feature.
func (c *Constant) Bind(_ *arrow.Schema, m Target) (Bound, error) {
	in, ok := m.input(c.Tensor)
	if !ok || in.Type == gpu.Bytes {
		return nil, fmt.Errorf("the model has no input %q of numbers; it has %s", c.Tensor, inputNames(m.Inputs))
	}
	shape := c.Shape
	if shape == nil {
		shape = m.row(in)
	}
	n := 1
	for _, d := range shape {
		if d < 0 || d > 1<<28 || n > 1<<28/int(max(d, 1)) {
			return nil, fmt.Errorf("input %q takes %v: the card must say the shape", in.Name, m.row(in))
		}
		n *= int(d)
	}
	if !fits(m.row(in), shape) {
		return nil, fmt.Errorf("the card gives input %q the shape %v, and the model takes %v", in.Name, shape, m.row(in))
	}
	probe := make([]byte, in.Type.Size())
	if err := gpu.PutFloat(probe, in.Type, 0, c.Value); err != nil {
		return nil, fmt.Errorf("input %q: %w", in.Name, err)
	}
	return &constantBound{c, in, shape, n, m.Batched}, nil
}

type constantBound struct {
	*Constant
	in      gpu.TensorInfo
	shape   []int64
	n       int
	batched bool
}

// Tensors implements Bound.
func (b *constantBound) Tensors() []string { return []string{b.in.Name} }

// Null implements Bound.
func (*constantBound) Null(Row) bool { return false }

// Measure implements Bound.
func (b *constantBound) Measure(Row) (Size, error) {
	return Size{Bytes: int64(b.n * b.in.Type.Size())}, nil
}

// Loader implements Bound.
func (b *constantBound) Loader() Loader { return b }

// Begin implements Loader.
func (b *constantBound) Begin(rows []Row) ([]gpu.Tensor, error) {
	return []gpu.Tensor{{Name: b.in.Name, Type: b.in.Type, Shape: whole(b.batched, len(rows), b.shape)}}, nil
}

// Fill implements Loader.
func (b *constantBound) Fill(_ context.Context, slot int, _ Row, t []gpu.Tensor) error {
	dst := slotBytes(&t[0], slot, b.n*b.in.Type.Size())
	return each(b.n, func(i int) error { return gpu.PutFloat(dst, b.in.Type, i, b.Value) })
}

// Close implements Loader.
func (*constantBound) Close() {}
