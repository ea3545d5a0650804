package infer

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/infer/internal/cache"
	"github.com/sluice-data/sluice/operators/infer/internal/prep"
)

// What is ready at the front of a block whose other rows are under way is handed on when it has waited for so long.
const handOnAfter = 500 * time.Millisecond

// advance emits complete rows from the front: whole blocks, or as much as makes a block, or what has waited.
func (o *operator) advance(emit dataset.Emit) error {
	for len(o.queue) > 0 {
		p := o.queue[0]
		for p.ready < len(p.rows) && p.rows[p.ready].done {
			if p.ready > p.at && p.bytes > o.rt.BlockBytes() {
				if err := o.seal(p, emit); err != nil {
					return err
				}
			}
			if r := p.rows[p.ready].from; r != nil {
				p.bytes += r.each
			}
			p.ready++
		}
		if p.ready < len(p.rows) {
			o.gate.leave(p.pos + int64(p.ready)*p.each())
			if p.ready > p.at && time.Since(o.emitted) > handOnAfter {
				return o.seal(p, emit)
			}
			return nil
		}
		if err := o.seal(p, emit); err != nil {
			return err
		}
		o.queue = o.queue[1:]
		next := o.pos
		if len(o.queue) > 0 {
			next = o.queue[0].pos
		}
		p.b.Release()
		o.gate.leave(next)
	}
	return nil
}

// seal emits the complete rows of p that have not left, but the failed ones.
func (o *operator) seal(p *pending, emit dataset.Emit) error {
	from, to := p.at, p.ready
	if from == to {
		return nil
	}
	rows := p.rows[from:to]
	p.at, p.bytes, o.emitted = to, 0, time.Now()
	defer func() {
		for i := range rows {
			if rows[i].from != nil {
				rows[i].from.drop()
				rows[i].from = nil
			}
		}
	}()
	keep := make([]uint32, 0, len(rows))
	for i := range rows {
		if rows[i].err == nil {
			keep = append(keep, uint32(i))
			continue
		}
		if err := o.rt.Fail(p.b, from+i, rows[i].err); err != nil {
			return err
		}
	}
	if len(keep) == 0 {
		return nil
	}
	part := p.b.Slice(from, to-from)
	defer part.Release()
	left, err := block.Take(o.rt.Allocator(), part, keep)
	if err != nil {
		return err
	}
	defer left.Release()
	full, err := o.widen(left, rows, keep)
	if err != nil {
		return err
	}
	return emit(full)
}

// widen adds the answers to the rows of b, which are the kept ones.
func (o *operator) widen(b *block.Block, rows []outcome, keep []uint32) (*block.Block, error) {
	var recs []arrow.RecordBatch
	number := map[*result]uint32{}
	from, at := make([]uint32, len(keep)), make([]uint32, len(keep))
	for k, i := range keep {
		r := rows[i].from
		n, ok := number[r]
		if !ok {
			n = uint32(len(recs))
			number[r] = n
			recs = append(recs, r.rec)
		}
		from[k], at[k] = n, uint32(rows[i].row)
	}
	ans, err := block.Interleave(o.rt.Allocator(), recs, from, at)
	if err != nil {
		return nil, fmt.Errorf("gather answers: %w", err)
	}
	defer ans.Release()
	cols := append(append([]arrow.Array{}, b.Record().Columns()...), ans.Columns()...)
	return b.Replace(block.FromColumns(o.out, cols, b.NumRows())), nil
}

// null answers a row that has a null input.
func (o *operator) null(p *pending, i int) error {
	if o.nulls == nil {
		schema := o.resultSchema()
		b := array.NewRecordBuilder(o.rt.Allocator(), schema)
		defer b.Release()
		for _, f := range b.Fields() {
			f.AppendNull()
		}
		o.nulls = newResult(b.NewRecordBatch())
		o.nulls.users++ // the operator's own claim, until Close
	}
	o.nulls.users++
	p.rows[i] = outcome{done: true, from: o.nulls}
	return nil
}

// key tells equal inputs apart from others.
func (o *operator) key(r prep.Row) cache.Key {
	return cache.KeyOf(r.Block.Record(), o.bound.columns, r.Index)
}

// recall answers a row from the cache, if it knows.
func (o *operator) recall(p *pending, i int, k cache.Key) (known bool, err error) {
	if o.cache == nil {
		return false, nil
	}
	rec, row, ok, err := o.cache.Get(k)
	if err != nil || !ok {
		return false, err
	}
	if o.recalled == nil || o.recalled.rec != rec {
		if o.recalled != nil {
			o.recalled.drop()
		}
		rec.Retain()
		o.recalled = newResult(rec)
		o.recalled.users++ // the operator's own claim: the next rows are likely to be of the same frame
	}
	o.recalled.users++
	p.rows[i] = outcome{done: true, from: o.recalled, row: row}
	return true, nil
}
