package python

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/dataset/codec"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// result is what a function returned for a batch.
type result struct {
	cols    []arrow.Array // of layout.get
	fresh   []bool        // which of them lie in shared memory of their own
	rows    int
	parents []uint32      // nil: row for row
	failed  map[int]error // by row of the batch
}

func (r *result) release() {
	for _, c := range r.cols {
		c.Release()
	}
}

// returned is the schema of what the function returns.
func (l *layout) returned() *arrow.Schema { return arrow.NewSchema(l.get, nil) }

// read reads an answer: columns that were passed on are those of b, the others lie in room, which it takes over.
func (o *op) read(b *block.Block, r *reply, room *child.Slab) (*result, error) {
	defer func() { room.Return() }()
	passed := make([]int, len(o.lay.get))
	for i := range passed {
		passed[i] = -1
	}
	for _, p := range r.passed {
		if p[0] < 0 || p[0] >= len(passed) || p[1] < 0 || p[1] >= len(o.lay.seen) || r.rows != b.NumRows() || r.parents {
			return nil, fmt.Errorf("read result: column %d is none of the input", p[1])
		}
		passed[p[0]] = p[1]
	}
	fields := []arrow.Field{}
	for i, f := range o.lay.get {
		if passed[i] < 0 {
			fields = append(fields, f)
		}
	}
	if r.parents {
		fields = append(fields, arrow.Field{Name: parentColumn, Type: arrow.PrimitiveTypes.Uint32, Nullable: true})
	}
	if r.errors {
		fields = append(fields, arrow.Field{Name: errorColumn, Type: arrow.BinaryTypes.String, Nullable: true})
	}
	res := &result{rows: r.rows}
	var rec arrow.RecordBatch
	if len(fields) > 0 {
		d, err := o.decoder(fields)
		if err != nil {
			return nil, err
		}
		buf := room.Buffer(int(r.Len))
		room = nil
		rec, err = d.ViewStream(o.mem, buf, 0)
		buf.Release()
		if err != nil {
			return nil, err
		}
		defer rec.Release()
		if int(rec.NumRows()) != r.rows {
			return nil, fmt.Errorf("read result: %d rows, %d were announced", rec.NumRows(), r.rows)
		}
	}
	k := 0
	for i := range o.lay.get {
		c := arrow.Array(nil)
		if passed[i] >= 0 {
			var err error
			if c, err = passOn(b.Column(o.lay.seen[passed[i]]), o.lay.get[i]); err != nil {
				res.release()
				return nil, err
			}
		} else {
			c = rec.Column(k)
			c.Retain()
			k++
		}
		res.cols, res.fresh = append(res.cols, c), append(res.fresh, passed[i] < 0)
	}
	if err := o.finishResult(res, r, rec, k, b.NumRows()); err != nil {
		res.release()
		return nil, err
	}
	return res, nil
}

// passOn retains a column of the input that the function returned as it was given, as one of the type that its schema says: Python does not see
// that bytes are a picture, or does not say so.
func passOn(c arrow.Array, f arrow.Field) (arrow.Array, error) {
	if arrow.TypeEqual(c.DataType(), f.Type) {
		c.Retain()
		return c, nil
	}
	if e, ok := c.(array.ExtensionArray); ok && arrow.TypeEqual(e.Storage().DataType(), f.Type) {
		e.Storage().Retain()
		return e.Storage(), nil
	}
	if t, ok := f.Type.(arrow.ExtensionType); ok && arrow.TypeEqual(t.StorageType(), c.DataType()) {
		return array.NewExtensionArrayWithStorage(t, c), nil
	}
	return nil, &mistake{fmt.Sprintf("column %q is %s, its schema says %s", f.Name, c.DataType(), f.Type), ""}
}

// finishResult reads the columns beside those of the schema, which begin at k.
func (o *op) finishResult(res *result, r *reply, rec arrow.RecordBatch, k, rows int) error {
	if r.parents {
		u, ok := rec.Column(k).(*array.Uint32)
		if !ok {
			return &mistake{fmt.Sprintf("column %q is %s", parentColumn, rec.Column(k).DataType()), ""}
		}
		res.parents = []uint32{}
		last := uint32(0)
		for _, p := range u.Uint32Values() {
			if int(p) >= rows || p < last {
				return &mistake{fmt.Sprintf("%s gave %s %d for a batch of %d rows, which are numbered from 0", o.spec.p.Target, parentColumn, p, rows), ""}
			}
			res.parents, last = append(res.parents, p), p
		}
		k++
	} else if r.rows != rows {
		return &mistake{fmt.Sprintf("%s returned %d rows for %d", o.spec.p.Target, r.rows, rows), ""}
	}
	if !r.errors {
		return nil
	}
	e, ok := rec.Column(k).(*array.String)
	if !ok {
		return &mistake{fmt.Sprintf("column %q is %s", errorColumn, rec.Column(k).DataType()), ""}
	}
	res.failed = map[int]error{}
	for i := range e.Len() {
		if e.IsNull(i) {
			continue
		}
		row := i
		if res.parents != nil {
			row = int(res.parents[i])
		}
		res.failed[row] = rowError{strings.Clone(e.Value(i))}
	}
	return nil
}

// decoder returns the decoder of records of some columns.
func (o *op) decoder(fields []arrow.Field) (*codec.Decoder, error) {
	schema := arrow.NewSchema(fields, nil)
	key := schema.String()
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.decoders[key]; d != nil {
		return d, nil
	}
	d, err := codec.NewDecoder(schema, maxResult)
	if err == nil {
		o.decoders[key] = d
	}
	return d, err
}

// maxResult is the most bytes that a function may return for a batch.
const maxResult = 1 << 40

// assemble makes the output of a batch, or nil if no row is left. Rows that failed are not in it.
func (o *op) assemble(b *block.Block, res *result) (*block.Block, error) {
	if err := o.settleMemory(res); err != nil {
		return nil, err
	}
	whole, err := o.join(b, res)
	if err != nil || len(res.failed) == 0 {
		return whole, err
	}
	defer whole.Release()
	keep := []uint32{}
	for i := range whole.NumRows() {
		row := i
		if res.parents != nil {
			row = int(res.parents[i])
		}
		if res.failed[row] == nil {
			keep = append(keep, uint32(i))
		}
	}
	if len(keep) == 0 {
		return nil, nil
	}
	return block.Take(o.mem, whole, keep)
}

// join puts the columns that are kept and those that came back side by side.
func (o *op) join(b *block.Block, res *result) (*block.Block, error) {
	cols := make([]arrow.Array, len(o.lay.from))
	var kept []int
	for k, i := range o.lay.from {
		if i < 0 {
			cols[k] = res.cols[-1-i]
		} else {
			cols[k] = b.Column(i)
			kept = append(kept, k)
		}
	}
	if res.parents == nil {
		return b.Replace(block.FromColumns(o.lay.out, cols, b.NumRows())), nil
	}
	if len(kept) > 0 {
		rest := make([]arrow.Array, len(kept))
		fields := make([]arrow.Field, len(kept))
		for x, k := range kept {
			rest[x], fields[x] = cols[k], o.lay.out.Field(k)
		}
		in := block.FromColumns(arrow.NewSchema(fields, nil), rest, b.NumRows())
		defer in.Release()
		taken, err := block.TakeRecord(o.mem, in, res.parents)
		if err != nil {
			return nil, err
		}
		defer taken.Release()
		for x, k := range kept {
			cols[k] = taken.Column(x)
		}
	}
	return b.FlatMap(block.FromColumns(o.lay.out, cols, res.rows), res.parents), nil
}

// settleMemory copies results out of shared memory when that is more than half used: blocks may live long, and calls under way need it.
func (o *op) settleMemory(res *result) error {
	if !o.slabs.Crowded() {
		return nil
	}
	for i, c := range res.cols {
		if !res.fresh[i] {
			continue
		}
		own, err := array.Concatenate([]arrow.Array{c}, o.mem)
		if err != nil {
			return fmt.Errorf("copy result: %w", err)
		}
		c.Release()
		res.cols[i] = own
	}
	return nil
}
