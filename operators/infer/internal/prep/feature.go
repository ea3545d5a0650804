package prep

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

// Feature makes tensors of the request from one column.
type Feature interface {
	// Columns are those that the feature reads.
	Columns() []string
	// Check says whether it can read columns of the schema.
	Check(s *arrow.Schema) error
	// Bind makes it ready for rows of the schema and a model.
	Bind(s *arrow.Schema, m Target) (Bound, error)
	// Largest gives the tensors of one row of the largest size, of zeros; ok is false where only rows tell.
	Largest(m Target) (ts []gpu.Tensor, ok bool)
}

// Target is what a feature must know of the model.
type Target struct {
	Inputs  []gpu.TensorInfo
	Batched bool // tensors begin with the batch dimension, which Inputs show as -1
	// Elsewhere gives what decodes encoded pictures in another process; nil: they are decoded here.
	Elsewhere func(rule *media.InputRule) (*media.Elsewhere, error)
}

// Row is one row of a block that the caller holds.
type Row struct {
	Block *block.Block
	Index int
}

// Size is what one row needs.
type Size struct {
	Key     string // rows of different keys cannot share a request
	Bytes   int64  // of its share of the tensors, at most
	Scratch int64  // while it is loaded; rows of one request are loaded one after the other
}

// Bound is a feature for the rows of one schema.
type Bound interface {
	// Tensors are the inputs of the model that it fills.
	Tensors() []string
	// Null says whether the row has nothing to load: its results are null.
	Null(r Row) bool
	// Measure is called before Load, on the operator's goroutine. An error is the row's.
	Measure(r Row) (Size, error)
	// Loader makes a loader.
	Loader() Loader
}

// Loader fills tensors. It belongs to one goroutine at a time.
type Loader interface {
	// Begin looks at the rows of a request and returns its tensors without data: names, types and shapes for all rows.
	Begin(rows []Row) ([]gpu.Tensor, error)
	// Fill writes row r, which is one of those Begin was given, into place slot of the tensors, whose Data or Strings are made. An error is the
	// row's; its slot is used for the next then.
	Fill(ctx context.Context, slot int, r Row, t []gpu.Tensor) error
	// Close frees what the loader holds.
	Close()
}

// input finds an input of the model by name; the empty name means the only one.
func (m Target) input(name string) (gpu.TensorInfo, bool) {
	if name == "" && len(m.Inputs) == 1 {
		return m.Inputs[0], true
	}
	for _, in := range m.Inputs {
		if in.Name == name {
			return in, true
		}
	}
	return gpu.TensorInfo{}, false
}

// row returns the shape of one row's share of an input.
func (m Target) row(in gpu.TensorInfo) []int64 {
	if m.Batched && len(in.Shape) > 0 {
		return in.Shape[1:]
	}
	return in.Shape
}

// whole makes the shape of n rows out of that of one.
func whole(batched bool, n int, row []int64) []int64 {
	if !batched {
		return append([]int64(nil), row...)
	}
	return append([]int64{int64(n)}, row...)
}

// slotBytes is place slot of n places of a tensor's data.
func slotBytes(t *gpu.Tensor, slot, size int) []byte { return t.Data[slot*size : (slot+1)*size] }
