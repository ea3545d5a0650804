package numpy

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// rows reads a stretch of rows.
type rows struct {
	rt     dataset.Runtime
	o      *opened
	have   []*ndarray // the wanted ones, in the order of schema
	schema *arrow.Schema
	at, to int64
	step   int64
}

var _ tables.Rows = (*rows)(nil)

func newRows(rt dataset.Runtime, o *opened, r dataset.SplitRange, from uint64, want *arrow.Schema) *rows {
	s := &rows{rt: rt, o: o, at: int64(from), to: min(int64(min(r.End, math.MaxInt64)), o.rows)}
	var fields []arrow.Field
	size := int64(0)
	for _, f := range want.Fields() {
		for _, a := range o.arrays {
			if a.name == f.Name {
				s.have = append(s.have, a)
				fields = append(fields, arrow.Field{Name: a.name, Type: a.typ, Nullable: true})
				size += a.row
				break
			}
		}
	}
	s.schema = arrow.NewSchema(fields, nil)
	s.step = int64(max(rt.BlockRows(), 1))
	if size > 0 {
		s.step = max(1, min(s.step, rt.BlockBytes()/size))
	}
	return s
}

// Next implements tables.Rows.
func (r *rows) Next(ctx context.Context) (arrow.RecordBatch, []block.Run, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	n := min(r.step, r.to-r.at)
	if n <= 0 {
		return nil, nil, io.EOF
	}
	cols := make([]arrow.Array, 0, len(r.have))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	err := r.rt.Blocking("read file", func() error {
		for _, a := range r.have {
			c, err := a.read(r.rt.Allocator(), r.at, int(n))
			if err != nil {
				return fmt.Errorf("array %q, rows %d to %d: %w", a.name, r.at, r.at+n-1, err)
			}
			cols = append(cols, c)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	run := block.Run{First: uint64(r.at), N: uint32(n), Stride: 1}
	r.at += n
	return array.NewRecordBatch(r.schema, cols, n), []block.Run{run}, nil
}

// Check implements tables.Rows.
func (r *rows) Check() error { return r.o.in.Check() }

// Close implements tables.Rows.
func (r *rows) Close() error { return r.o.close() }
