package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// reader reads the ranges of one split.
type reader struct {
	src    *Source
	rt     dataset.Runtime
	ctx    context.Context // of Open: files stay open across calls
	schema *arrow.Schema
	want   *arrow.Schema // without the path
	path   bool
	ranges []dataset.SplitRange
	offset uint64 // positions of the first range below it are skipped
	left   int64  // rows still wanted; negative: all

	cur  dataset.SplitRange
	rows Rows
}

// Next implements dataset.Reader.
func (r *reader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.left == 0 {
			return nil, io.EOF
		}
		if r.rows == nil {
			if len(r.ranges) == 0 {
				return nil, io.EOF
			}
			if err := r.open(); err != nil {
				return nil, err
			}
			continue
		}
		rec, runs, err := r.rows.Next(ctx)
		if err == io.EOF {
			if err := r.finish(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, r.src.named(r.cur.File, err)
		}
		return r.block(rec, runs)
	}
}

func (r *reader) open() error {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	from := max(r.cur.Start, r.offset)
	r.offset = 0
	if from >= r.cur.End {
		return nil
	}
	rows, err := r.src.format.Open(r.ctx, r.rt, r.src.set, r.cur, from, r.want)
	if err != nil {
		return r.src.named(r.cur.File, err)
	}
	r.rows = rows
	return nil
}

// finish ends a range: a file that changed meanwhile is an error.
func (r *reader) finish() error {
	err := errors.Join(r.rows.Check(), r.rows.Close())
	r.rows = nil
	return err
}

// block makes a block of what a format read; it consumes rec.
func (r *reader) block(rec arrow.RecordBatch, runs []block.Run) (*block.Block, error) {
	defer rec.Release()
	n := int(rec.NumRows())
	for i := range runs {
		runs[i].File = r.cur.ID
	}
	cols := make([]arrow.Array, 0, r.schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	have := 0
	for _, f := range r.want.Fields() {
		if have < int(rec.NumCols()) && rec.ColumnName(have) == f.Name {
			c := rec.Column(have)
			have++
			if !arrow.TypeEqual(c.DataType(), f.Type) {
				return nil, &TypeError{Path: r.cur.File.Path, Column: f.Name, Want: f.Type, Got: c.DataType()}
			}
			c.Retain()
			cols = append(cols, c)
			continue
		}
		cols = append(cols, block.Nulls(r.rt.Allocator(), f.Type, n))
	}
	if have != int(rec.NumCols()) {
		return nil, fmt.Errorf("read %s: internal error: the file gave the column %q, which was not wanted", r.cur.File.Path, rec.ColumnName(have))
	}
	if r.path {
		cols = append(cols, constant(r.rt.Allocator(), r.cur.File.Path, n))
	}
	b := block.New(block.FromColumns(r.schema, cols, n), block.FromRuns(runs...))
	if r.left > 0 && int64(n) > r.left {
		cut := b.Slice(0, int(r.left))
		b.Release()
		b = cut
	}
	if r.left > 0 {
		r.left -= int64(b.NumRows())
	}
	return b, nil
}

// constant makes a column of one value.
func constant(mem memory.Allocator, v string, n int) arrow.Array {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.Reserve(n)
	b.ReserveData(min(n*len(v), math.MaxInt32))
	for range n {
		b.Append(v)
	}
	return b.NewArray()
}

// Close implements dataset.Reader.
func (r *reader) Close() error {
	r.ranges = nil
	if r.rows == nil {
		return nil
	}
	err := r.rows.Close()
	r.rows = nil
	return err
}
