package post

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

// Output is one column made of tensors of the answer.
type Output interface {
	// Tensors are the outputs that it reads; an empty name means the only one.
	Tensors() []string
	// Field is the column. Outputs whose type depends on the model ask for it.
	Field(about About) (arrow.Field, error)
	// Bind makes it ready for a model.
	Bind(m *Model) (Bound, error)
}

// About asks the model what it is.
type About func() (*Model, error)

// Model is what an output must know of the model.
type Model struct {
	Outputs []gpu.TensorInfo
	Batched bool // shapes begin with the batch dimension
	Meta    map[string]string
}

// Bound is an output of a model that is known.
type Bound interface {
	// Builder makes a builder of the column; rows is a hint.
	Builder(mem memory.Allocator, rows int) Builder
}

// Builder builds the column. It belongs to one goroutine.
type Builder interface {
	// Append adds the value of a row, made of views in the order of Tensors. pic is the picture that the row's input was made of, if it was.
	// An error is the row's, and nothing was added then.
	Append(v []View, pic media.Geometry) error
	// NewArray makes the array; the builder is not used after.
	NewArray() arrow.Array
	// Release frees what NewArray has not taken.
	Release()
}

// View is one row's share of a tensor. It aliases the answer.
type View struct {
	Type    gpu.DataType
	Shape   []int64
	Data    []byte
	Strings [][]byte
}

// Len is the number of elements.
func (v *View) Len() int {
	n := 1
	for _, d := range v.Shape {
		n *= int(d)
	}
	return n
}

// Floats reads the elements as float32 into dst, growing it.
func (v *View) Floats(dst []float32) ([]float32, error) {
	if v.Type == gpu.Bytes {
		return nil, fmt.Errorf("the model answered %s where numbers are needed", v.Type)
	}
	return gpu.Floats(slices.Grow(dst[:0], v.Len()), v.Data, v.Type), nil
}

// Rows divides a tensor into rows. Without a batch dimension it is one row.
func Rows(t *gpu.Tensor, batched bool, n int) ([]View, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if !batched {
		if n != 1 {
			return nil, fmt.Errorf("output %s has no batch dimension, and %d rows were asked", t.Name, n)
		}
		return []View{{t.Type, t.Shape, t.Data, t.Strings}}, nil
	}
	if len(t.Shape) == 0 || t.Shape[0] != int64(n) {
		return nil, fmt.Errorf("output %s has shape %v for %d rows; its first dimension must be that of the rows", t.Name, t.Shape, n)
	}
	out := make([]View, n)
	bytes, strings := len(t.Data)/n, len(t.Strings)/n
	for i := range out {
		out[i] = View{Type: t.Type, Shape: t.Shape[1:]}
		if t.Type == gpu.Bytes {
			out[i].Strings = t.Strings[i*strings : (i+1)*strings]
		} else {
			out[i].Data = t.Data[i*bytes : (i+1)*bytes]
		}
	}
	return out, nil
}

// output finds an output of the model by name; the empty name means the only one.
func (m *Model) output(name string) (gpu.TensorInfo, error) {
	if name == "" && len(m.Outputs) == 1 {
		return m.Outputs[0], nil
	}
	names := ""
	for i, o := range m.Outputs {
		if o.Name == name {
			return o, nil
		}
		if i > 0 {
			names += ", "
		}
		names += fmt.Sprintf("%s %s%v", o.Name, o.Type, o.Shape)
	}
	return gpu.TensorInfo{}, fmt.Errorf("the model has no output %q; it has %s", name, names)
}

// row is the shape of one row's share.
func (m *Model) row(o gpu.TensorInfo) []int64 {
	if m.Batched && len(o.Shape) > 0 {
		return o.Shape[1:]
	}
	return o.Shape
}
