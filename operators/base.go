package operators

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// rowwise is the part of a Spec that operators without state share: any number of instances, one CPU slot each.
type rowwise struct{}

func (rowwise) Version() int                 { return 1 }
func (rowwise) Needs() dataset.Resources     { return dataset.Resources{} }
func (rowwise) Instances() dataset.Instances { return dataset.Any }
func (rowwise) Holds() string                { return "streams" }

// stateless is the Operator of specs that handle each block by itself.
type stateless struct {
	rt      dataset.Runtime
	process func(ctx context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error
}

var _ dataset.Operator = (*stateless)(nil)

// Open implements dataset.Operator.
func (s *stateless) Open(_ context.Context, rt dataset.Runtime) error {
	s.rt = rt
	return nil
}

// Process implements dataset.Operator.
func (s *stateless) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	return s.process(ctx, s.rt, b, emit)
}

// Flush implements dataset.Operator.
func (*stateless) Flush(context.Context, dataset.Emit) error { return nil }

// Close implements dataset.Operator.
func (*stateless) Close() error { return nil }

// one returns the schema of the only input.
func one(in []*arrow.Schema) (*arrow.Schema, error) {
	if len(in) != 1 {
		return nil, fmt.Errorf("it takes one input, not %d", len(in))
	}
	return in[0], nil
}

// pick makes a schema of the columns of s at the given places.
func pick(s *arrow.Schema, at []int) *arrow.Schema {
	f := make([]arrow.Field, len(at))
	for i, x := range at {
		f[i] = s.Field(x)
	}
	md := s.Metadata()
	return arrow.NewSchema(f, &md)
}

// project makes a block of the columns of b at the given places, under the names of schema.
func project(b *block.Block, schema *arrow.Schema, at []int) *block.Block {
	cols := make([]arrow.Array, len(at))
	for i, x := range at {
		cols[i] = b.Column(x)
	}
	return b.Replace(block.FromColumns(schema, cols, b.NumRows()))
}

// needed adds to want, which may be nil for all, the columns that an operator reads itself.
func needed(want []string, own ...string) []string {
	if want == nil {
		return nil
	}
	out := slices.Clone(want)
	for _, c := range own {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}
