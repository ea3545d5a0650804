package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// sourceReader reads the ranges of one split, one row group after the other.
type sourceReader struct {
	src    *Source
	rt     dataset.Runtime
	ctx    context.Context // of Open: files stay open across calls
	schema *arrow.Schema
	ranges []dataset.SplitRange
	first  string // file of the first range, which offset is about
	offset uint64

	cur    dataset.SplitRange
	handle file.Handle
	file   *File
	have   []string // columns of the schema that the file has
	next   uint64   // row of the file to go on with
	reader *Reader
	lazy   *lazyGroup // instead of reader, under a filter
	base   uint64     // row of the file that the row group begins at
	end    uint64     // and that lazy ends at
}

// Next implements dataset.Reader.
func (r *sourceReader) Next(ctx context.Context) (*block.Block, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if r.lazy != nil {
			b, err := r.nextLazy()
			if b != nil || err != nil {
				return b, err
			}
			continue
		}
		if r.reader == nil {
			if err := r.advance(); err != nil {
				return nil, err
			}
			continue
		}
		b, err := r.reader.Next()
		if errors.Is(err, io.EOF) {
			err = r.reader.Close()
			r.reader = nil
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.cur.File.Path, err)
		}
		rec, err := r.complete(b)
		if err != nil {
			return nil, err
		}
		n := rec.NumRows()
		id := block.FromRuns(block.Run{File: r.cur.ID, First: r.next, N: uint32(n), Stride: 1})
		r.next += uint64(n)
		return block.New(rec, id), nil
	}
}

// nextLazy reads on in a row group under a filter; nil without an error says that it is over.
func (r *sourceReader) nextLazy() (*block.Block, error) {
	b, rows, err := r.lazy.next()
	if errors.Is(err, io.EOF) {
		if err = r.closeLazy(); err == nil {
			r.next = r.end
			return nil, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r.cur.File.Path, err)
	}
	rec, err := r.complete(b)
	if err != nil {
		return nil, err
	}
	runs := make([]block.Run, len(rows))
	for i, x := range rows {
		runs[i] = block.Run{File: r.cur.ID, First: r.base + uint64(x.from), N: uint32(x.to - x.from), Stride: 1}
	}
	r.src.pin.skipped.late.Add(rec.NumRows())
	return block.New(rec, block.FromRuns(runs...)), nil
}

func (r *sourceReader) closeLazy() error {
	if r.lazy == nil {
		return nil
	}
	r.src.pin.skipped.rows.Add(r.lazy.read)
	err := r.lazy.close()
	r.lazy = nil
	return err
}

// advance opens the next row group with rows of the range, the next range, or
// gives io.EOF.
func (r *sourceReader) advance() error {
	for r.handle != nil && r.next < r.cur.End {
		first := uint64(0)
		for g := range r.file.NumRowGroups() {
			end := first + uint64(r.file.RowGroupRows(g))
			if r.next < end {
				return r.openGroup(g, first, min(end, r.cur.End))
			}
			first = end
		}
		return fmt.Errorf("read %s: rows %d to %d were listed, the file has %d", r.cur.File.Path, r.cur.Start, r.cur.End, r.file.NumRows())
	}
	if r.handle != nil {
		if err := r.finish(); err != nil {
			return err
		}
	}
	if len(r.ranges) == 0 {
		return io.EOF
	}
	return r.openRange()
}

func (r *sourceReader) openGroup(g int, first, end uint64) error {
	opts := ReadOptions{
		Columns: r.have, From: int64(r.next - first), To: int64(end - first),
		BatchRows: r.rt.BlockRows(), BatchBytes: r.rt.BlockBytes(), Allocator: r.rt.Allocator(),
		MaxBytes: readBytes(r.rt.Allocator()), Scratch: r.rt.Scratch, Check: func() error { return context.Cause(r.ctx) },
	}
	lazy, ok, err := r.openLazy(g, opts)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.cur.File.Path, err)
	}
	if r.src.predicate != nil && !ok {
		r.announce(r.have, g, g+1)
	}
	if ok {
		r.lazy, r.base, r.end = lazy, first, end
		if lazy == nil { // no row of it can match
			r.next = end
		}
		return nil
	}
	reader, err := r.file.Read(g, opts)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.cur.File.Path, err)
	}
	r.reader = reader
	return nil
}

// readShare is the part of the memory budget that one reader's windows and pages may take.
const readShare = 4

// readBytes is how much one reader may hold besides what it gives out; 0 means any amount.
func readBytes(mem memory.Allocator) int64 {
	if b, ok := mem.(interface{ Budget() int64 }); ok {
		return b.Budget() / readShare
	}
	return 0
}

func (r *sourceReader) openRange() error {
	r.cur, r.ranges = r.ranges[0], r.ranges[1:]
	if r.next = r.cur.Start; r.cur.File.Path == r.first {
		r.next = max(r.next, r.offset)
	}
	if r.next >= r.cur.End {
		return nil
	}
	m, err := r.src.pin.footer(r.ctx, r.cur.File)
	if err != nil {
		return err
	}
	s, err := schema.FromFileAs(m, r.schema)
	if err != nil {
		return fmt.Errorf("read %s: %w", r.cur.File.Path, err)
	}
	h, err := r.src.set.FS().Open(r.ctx, r.cur.File)
	if err != nil {
		return err
	}
	r.handle, r.file = h, &File{r: h, size: r.cur.File.Size, meta: m, schema: s}
	if err := r.match(); err != nil {
		return err
	}
	if r.src.predicate == nil {
		from, to := r.file.groups(r.next, r.cur.End)
		r.announce(r.have, from, to)
	}
	return nil
}

// announce tells a file that is far away which columns of its row groups [from, to) will be read.
func (r *sourceReader) announce(columns []string, from, to int) {
	a, ok := r.handle.(file.Announcer)
	if !ok {
		return
	}
	var parts []file.Part
	for g := from; g < to; g++ {
		parts = append(parts, r.file.parts(g, columns)...)
	}
	a.Announce(parts)
}

// match pairs the columns of the file with those of the schema.
func (r *sourceReader) match() error {
	r.have = []string{}
	got := r.file.Schema()
	for _, want := range r.schema.Fields() {
		if r.isPath(want.Name) {
			continue
		}
		at := got.FieldIndices(want.Name)
		if len(at) == 0 {
			r.rt.Warn("column is missing and read as null", fmt.Sprintf("%s has no column %q", r.cur.File.Path, want.Name))
			continue
		}
		if t := got.Field(at[0]).Type; !arrow.TypeEqual(t, want.Type) && !widens(t, want.Type) {
			return &TypeError{Path: r.cur.File.Path, Column: want.Name, Want: want.Type, Got: t}
		}
		r.have = append(r.have, want.Name)
	}
	if r.src.columns == nil {
		for _, f := range got.Fields() {
			if !r.schema.HasField(f.Name) {
				r.rt.Warn("column is not in the first file and left out", fmt.Sprintf("%s has the column %q", r.cur.File.Path, f.Name))
			}
		}
	}
	for _, w := range r.file.Warnings() {
		r.rt.Warn("odd Parquet file", r.cur.File.Path+": "+w)
	}
	return nil
}

func (r *sourceReader) isPath(name string) bool { return r.src.opt.WithPath && name == PathColumn }

// complete turns a batch of the file's columns into one of the schema; it
// consumes b.
func (r *sourceReader) complete(b arrow.RecordBatch) (arrow.RecordBatch, error) {
	return r.completeAs(r.schema, b)
}

// completeAs is complete for some of the columns.
func (r *sourceReader) completeAs(schema *arrow.Schema, b arrow.RecordBatch) (arrow.RecordBatch, error) {
	defer b.Release()
	alloc := r.rt.Allocator()
	n := int(b.NumRows())
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for i, want := range schema.Fields() {
		at := b.Schema().FieldIndices(want.Name)
		switch {
		case r.isPath(want.Name):
			cols = append(cols, constant(alloc, r.cur.File.Path, n))
		case len(at) == 0:
			cols = append(cols, block.Nulls(alloc, want.Type, n))
		case arrow.TypeEqual(b.Column(at[0]).DataType(), want.Type):
			c := b.Column(at[0])
			c.Retain()
			cols = append(cols, c)
		default:
			c, err := widen(alloc, b.Column(at[0]), want.Type)
			if err != nil {
				return nil, fmt.Errorf("read %s: column %q: %w", r.cur.File.Path, schema.Field(i).Name, err)
			}
			cols = append(cols, c)
		}
	}
	return array.NewRecordBatch(schema, cols, int64(n)), nil
}

// constant makes a column of one value.
func constant(alloc memory.Allocator, v string, n int) arrow.Array {
	b := array.NewStringBuilder(alloc)
	defer b.Release()
	b.Reserve(n)
	b.ReserveData(min(n*len(v), math.MaxInt32))
	for range n {
		b.Append(v)
	}
	return b.NewArray()
}

// finish ends a range: a file that changed meanwhile is an error.
func (r *sourceReader) finish() error {
	err := errors.Join(r.handle.Check(), r.handle.Close())
	r.handle, r.file = nil, nil
	return err
}

// Close implements dataset.Reader.
func (r *sourceReader) Close() error {
	var err error
	if r.reader != nil {
		err = r.reader.Close()
		r.reader = nil
	}
	err = errors.Join(err, r.closeLazy())
	if r.handle != nil {
		err = errors.Join(err, r.handle.Close())
		r.handle = nil
	}
	r.ranges = nil
	return err
}
