package block

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Take makes the block of b's rows at indices, in their order. b is borrowed; indices are kept. Where the rows are one stretch of at
// least half of b, the result shares b's buffers instead of copying them.
func Take(mem memory.Allocator, b *Block, indices []uint32) (*Block, error) {
	rows := b.NumRows()
	if err := checkIndices(indices, rows); err != nil {
		return nil, fmt.Errorf("take rows: %w", err)
	}
	if off, ok := stretch(indices); ok && 2*len(indices) >= rows {
		if len(indices) == rows {
			return b.Retain(), nil
		}
		return b.Slice(off, len(indices)), nil
	}
	rec, err := TakeRecord(mem, b.rec, indices)
	if err != nil {
		return nil, err
	}
	return b.Select(rec, indices), nil
}

// TakeRecord makes a record of rec's rows at indices, in any order and as often as listed. The result shares no buffer with rec
// other than dictionaries.
func TakeRecord(mem memory.Allocator, rec arrow.RecordBatch, indices []uint32) (arrow.RecordBatch, error) {
	return gatherRecord(mem, []arrow.RecordBatch{rec}, nil, indices)
}

// TakeArray is TakeRecord for one array.
func TakeArray(mem memory.Allocator, a arrow.Array, indices []uint32) (arrow.Array, error) {
	if err := checkIndices(indices, a.Len()); err != nil {
		return nil, fmt.Errorf("take rows: %w", err)
	}
	return gatherArray(mem, []arrow.Array{a}, nil, indices)
}

// Interleave makes a record of rows out of several records of one schema: row i of the result is row rows[i] of recs[from[i]].
func Interleave(mem memory.Allocator, recs []arrow.RecordBatch, from, rows []uint32) (arrow.RecordBatch, error) {
	if len(recs) == 0 {
		return nil, errors.New("interleave rows: there is no record")
	}
	if len(from) != len(rows) {
		return nil, fmt.Errorf("interleave rows: %d records are named for %d rows", len(from), len(rows))
	}
	for i, f := range from {
		if int(f) >= len(recs) || int64(rows[i]) >= recs[f].NumRows() {
			return nil, fmt.Errorf("interleave rows: there is no row %d in record %d", rows[i], f)
		}
	}
	for k, r := range recs[1:] {
		if err := sameColumns(recs[0].Schema(), r.Schema(), k+1); err != nil {
			return nil, fmt.Errorf("interleave rows: %w", err)
		}
	}
	return gatherRecord(mem, recs, from, rows)
}

// stretch reports whether indices are off, off+1, off+2, ….
func stretch(indices []uint32) (off int, ok bool) {
	if len(indices) == 0 {
		return 0, true
	}
	first := indices[0]
	if indices[len(indices)-1]-first != uint32(len(indices)-1) {
		return 0, false
	}
	for i, x := range indices {
		if x != first+uint32(i) {
			return 0, false
		}
	}
	return int(first), true
}

func checkIndices(indices []uint32, rows int) error {
	top := uint32(0)
	for _, x := range indices {
		top = max(top, x)
	}
	if len(indices) > 0 && int(top) >= rows {
		return fmt.Errorf("there is no row %d among %d", top, rows)
	}
	return nil
}

func gatherRecord(mem memory.Allocator, recs []arrow.RecordBatch, from, rows []uint32) (arrow.RecordBatch, error) {
	if from == nil {
		if err := checkIndices(rows, int(recs[0].NumRows())); err != nil {
			return nil, fmt.Errorf("take rows: %w", err)
		}
	}
	schema := recs[0].Schema()
	cols := make([]arrow.Array, 0, schema.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	parts := make([]arrow.Array, len(recs))
	for i, f := range schema.Fields() {
		for k, r := range recs {
			parts[k] = r.Column(i)
		}
		c, err := gatherArray(mem, parts, from, rows)
		if err != nil {
			return nil, fmt.Errorf("take column %q: %w", f.Name, err)
		}
		cols = append(cols, c)
	}
	return FromColumns(schema, cols, len(rows)), nil
}

func gatherArray(mem memory.Allocator, parts []arrow.Array, from, rows []uint32) (arrow.Array, error) {
	w := &workshop{mem: mem}
	defer w.close()
	g := &gather{workshop: w, from: from, rows: rows}
	g.src = make([]*array.Data, len(parts))
	g.shift = make([]int, len(parts))
	for k, p := range parts {
		g.src[k] = p.Data().(*array.Data)
		g.shift[k] = g.src[k].Offset()
	}
	d, err := g.data()
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

// errOffsets says that 32-bit offsets do not reach.
func errOffsets(n int64, dt arrow.DataType) error {
	if n <= math.MaxInt32 {
		return nil
	}
	return fmt.Errorf("%d bytes or items do not fit the 32-bit offsets of %s; use smaller blocks or a large_ type", n, dt)
}

// storageOf returns the type that the buffers of dt have.
func storageOf(dt arrow.DataType) arrow.DataType {
	for {
		e, ok := dt.(arrow.ExtensionType)
		if !ok {
			return dt
		}
		dt = e.StorageType()
	}
}
