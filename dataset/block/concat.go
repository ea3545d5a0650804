package block

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Merge makes one block of the rows of all blocks, in order, with their identities joined. The blocks are borrowed and must have the
// same columns. A single block comes back retained, without a copy.
func Merge(mem memory.Allocator, blocks []*Block) (*Block, error) {
	if len(blocks) == 0 {
		return nil, errors.New("merge blocks: there is none")
	}
	if len(blocks) == 1 {
		return blocks[0].Retain(), nil
	}
	recs := make([]arrow.RecordBatch, len(blocks))
	ids := make([]Identity, len(blocks))
	named, rows := 0, 0
	for i, b := range blocks {
		recs[i], ids[i] = b.rec, b.id
		named += b.id.Len()
		rows += b.NumRows()
	}
	if named != 0 && named != rows {
		return nil, errors.New("merge blocks: some have row identity and some have none")
	}
	rec, err := MergeRecords(mem, recs)
	if err != nil {
		return nil, err
	}
	return New(rec, Concat(ids...)), nil
}

// MergeRecords makes one record of the rows of all records, in order. They must have the same columns.
func MergeRecords(mem memory.Allocator, recs []arrow.RecordBatch) (arrow.RecordBatch, error) {
	if len(recs) == 0 {
		return nil, errors.New("merge records: there is none")
	}
	schema := recs[0].Schema()
	rows := 0
	for k, r := range recs {
		if err := sameColumns(schema, r.Schema(), k); err != nil {
			return nil, fmt.Errorf("merge records: %w", err)
		}
		rows += int(r.NumRows())
	}
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
		c, err := MergeArrays(mem, parts)
		if err != nil {
			return nil, fmt.Errorf("merge column %q: %w", f.Name, err)
		}
		cols = append(cols, c)
	}
	return FromColumns(schema, cols, rows), nil
}

// MergeArrays makes one array of the elements of all arrays, in order. They must be of one type. The result shares no buffer with
// them other than dictionaries.
func MergeArrays(mem memory.Allocator, parts []arrow.Array) (arrow.Array, error) {
	w := &workshop{mem: mem}
	defer w.close()
	c := &concat{workshop: w}
	for _, p := range parts {
		d := p.Data().(*array.Data)
		c.add(d, d.Offset(), d.Len())
	}
	d, err := c.data()
	if err != nil {
		return nil, err
	}
	return array.MakeFromData(d), nil
}

// sameColumns compares names and types; nullability and metadata may differ.
func sameColumns(want, have *arrow.Schema, which int) error {
	if want == have {
		return nil
	}
	if want.NumFields() != have.NumFields() {
		return fmt.Errorf("record %d has %d columns, the first has %d", which, have.NumFields(), want.NumFields())
	}
	for i := range want.NumFields() {
		a, b := want.Field(i), have.Field(i)
		if a.Name != b.Name || !arrow.TypeEqual(a.Type, b.Type) {
			return fmt.Errorf("column %d of record %d is %s %s, in the first it is %s %s", i, which, b.Name, b.Type, a.Name, a.Type)
		}
	}
	return nil
}
