package sluice

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/rowfn"
)

// MapRows calls fn once for each row and makes a row of what it returns. Struct fields are columns, by the tag `sluice:"name"` or else their own
// name in snake case; an Out that embeds In keeps its columns. An error or a panic fails the row only. fn is called from several
// goroutines at once. Package rowfn has the rules.
func MapRows[In, Out any](d Dataset, fn func(ctx context.Context, in In) (Out, error), opts ...StepOption) Dataset {
	c := stepOptions(opts)
	return d.function(rowfn.Map(fn, c.function...), c)
}

// FlatMapRows is MapRows for functions that return any number of rows, none included.
func FlatMapRows[In, Out any](d Dataset, fn func(ctx context.Context, in In) ([]Out, error), opts ...StepOption) Dataset {
	c := stepOptions(opts)
	return d.function(rowfn.FlatMap(fn, c.function...), c)
}

// FilterRows keeps the rows for which fn is true.
func FilterRows[In any](d Dataset, fn func(ctx context.Context, in In) (bool, error), opts ...StepOption) Dataset {
	c := stepOptions(opts)
	return d.function(rowfn.Filter(fn, c.function...), c)
}

// BatchFunc is a function on Arrow records: it borrows in and returns a record that the caller releases, whose buffers come from mem or are
// shared with in. The record has in's number of rows, row for row, or a uint32 column ParentColumn that says where each row comes from.
type BatchFunc = rowfn.BatchFunc

// SchemaFunc says at plan time which columns a BatchFunc returns.
type SchemaFunc = rowfn.SchemaFunc

// ParentColumn is the name of the column that a BatchFunc returns besides its own when rows do not correspond one to one.
const ParentColumn = rowfn.ParentColumn

// SameSchema is the SchemaFunc of functions that change values only.
var SameSchema SchemaFunc = rowfn.SameSchema

// MapBatches calls fn with the record of each block; BatchSize bounds its rows. A batch that fails is divided until the rows that make it fail are
// found.
func MapBatches(d Dataset, schema SchemaFunc, fn BatchFunc, opts ...StepOption) Dataset {
	c := stepOptions(opts)
	return d.function(rowfn.BatchMap(schema, fn, c.function...), c)
}

func (d Dataset) function(spec dataset.Spec, c stepConfig) Dataset {
	return d.append(&step{from: d.d, spec: spec, opts: c.hints})
}
