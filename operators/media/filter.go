package media

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/expr"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// headerFilter is a row filter that runs on headers, before any pixel is decoded.
type headerFilter struct {
	program *expr.Program
	schema  *arrow.Schema // just the columns that it reads
	source  []int         // where each is in the input, -1 for columns that decode adds
}

func newHeaderFilter(s *step, schema *arrow.Schema) (headerFilter, error) {
	f := headerFilter{}
	var fields []arrow.Field
	for _, name := range s.filter.Columns() {
		at, err := dataset.FieldIndex(schema, name)
		if err != nil {
			return f, err
		}
		fields = append(fields, schema.Field(at))
		if name == widthColumn || name == heightColumn || name == formatColumn {
			at = -1
		}
		f.source = append(f.source, at)
	}
	f.schema = arrow.NewSchema(fields, nil)
	var err error
	f.program, err = expr.Compile(s.filter, f.schema)
	return f, err
}

// apply leaves in r.rows the rows for which the filter is true. Rows for which it fails are reported.
func (f *headerFilter) apply(r *runner, b *block.Block) error {
	n := len(r.rows.index)
	if n == 0 {
		return nil
	}
	rec, err := f.record(r, b)
	if err != nil {
		return err
	}
	defer rec.Release()
	keep, all, failed, err := f.program.Select(r.rt.Allocator(), rec, nil)
	if err != nil {
		return err
	}
	for _, e := range failed {
		if err := r.rt.Fail(b, int(r.rows.index[e.Row]), &imageError{step: "where", class: dataset.ClassOf(e.Err), err: e.Err}); err != nil {
			return err
		}
	}
	if !all {
		r.rows.keep(keep)
	}
	return nil
}

// record makes the columns that the filter reads, for the rows that are still in.
func (f *headerFilter) record(r *runner, b *block.Block) (arrow.RecordBatch, error) {
	mem := r.rt.Allocator()
	cols := make([]arrow.Array, 0, len(f.source))
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, at := range f.source {
		if at < 0 {
			cols = append(cols, headerColumn(mem, f.schema.Field(i).Name, r.rows.headers))
			continue
		}
		c, err := takeRows(mem, b.Column(at), r.rows.index)
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
	}
	return block.FromColumns(f.schema, cols, len(r.rows.index)), nil
}

// headerColumn builds width, height or format; a row without a picture has null.
func headerColumn(mem memory.Allocator, name string, headers []imaging.Header) arrow.Array {
	if name == formatColumn {
		b := array.NewStringBuilder(mem)
		defer b.Release()
		b.Reserve(len(headers))
		for i := range headers {
			if headers[i].Format == imaging.Unknown {
				b.AppendNull()
			} else {
				b.Append(headers[i].Format.String())
			}
		}
		return b.NewArray()
	}
	b := array.NewInt32Builder(mem)
	defer b.Release()
	b.Reserve(len(headers))
	for i := range headers {
		switch {
		case headers[i].Format == imaging.Unknown:
			b.AppendNull()
		case name == widthColumn:
			b.Append(int32(headers[i].Width))
		default:
			b.Append(int32(headers[i].Height))
		}
	}
	return b.NewArray()
}

// takeRows gives the rows of a column: the column itself for all of them, a slice for a stretch, else a copy.
func takeRows(mem memory.Allocator, column arrow.Array, rows []uint32) (arrow.Array, error) {
	n := len(rows)
	if n > 0 && int(rows[n-1]-rows[0]) == n-1 {
		if n == column.Len() {
			column.Retain()
			return column, nil
		}
		return array.NewSlice(column, int64(rows[0]), int64(rows[0])+int64(n)), nil
	}
	return block.TakeArray(mem, column, rows)
}
