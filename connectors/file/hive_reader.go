package file

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// hiveReader adds the columns of folders to the blocks of another reader.
type hiveReader struct {
	dataset.Reader
	mem    memory.Allocator
	fields []hiveField
	schema *arrow.Schema // of the blocks with them
}

// Next implements dataset.Reader.
func (r *hiveReader) Next(ctx context.Context) (*block.Block, error) {
	b, err := r.Reader.Next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return r.add(b)
}

// add makes the block with the columns. Which file a row is of its identity says.
func (r *hiveReader) add(b *block.Block) (*block.Block, error) {
	if r.schema == nil {
		var err error
		if r.schema, err = withHive(b.Schema(), r.fields); err != nil {
			return nil, err
		}
	}
	builders := make([]array.Builder, len(r.fields))
	for i, f := range r.fields {
		builders[i] = array.NewBuilder(r.mem, f.typ)
		defer builders[i].Release()
		builders[i].Reserve(b.NumRows())
	}
	var last *block.File
	var values []any
	for row := range b.NumRows() {
		f, _, _ := b.Identity().Origin(row)
		if f != last || row == 0 {
			if f == nil {
				return nil, fmt.Errorf("read partitions: a row does not say of which file it is")
			}
			var err error
			if values, err = hiveValues(r.fields, f.Path); err != nil {
				return nil, err
			}
			last = f
		}
		for i, v := range values {
			appendHive(builders[i], v)
		}
	}
	cols := append([]arrow.Array{}, b.Record().Columns()...)
	for _, builder := range builders {
		a := builder.NewArray()
		defer a.Release()
		cols = append(cols, a)
	}
	return b.Replace(block.FromColumns(r.schema, cols, b.NumRows())), nil
}

// appendHive adds one value of hiveParsers.
func appendHive(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.StringBuilder:
		if s, ok := v.(string); ok {
			b.Append(s)
			return
		}
	case *array.Int64Builder:
		if n, ok := v.(int64); ok {
			b.Append(n)
			return
		}
	case *array.Float64Builder:
		if x, ok := v.(float64); ok {
			b.Append(x)
			return
		}
	case *array.BooleanBuilder:
		if x, ok := v.(bool); ok {
			b.Append(x)
			return
		}
	case *array.Date32Builder:
		if t, ok := v.(time.Time); ok {
			b.Append(arrow.Date32FromTime(t))
			return
		}
	}
	b.AppendNull()
}
