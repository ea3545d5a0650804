package operators

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/operators/internal/fetch"
)

// downloadOp keeps the blocks whose rows are under way, oldest first, and emits rows in their order.
type downloadOp struct {
	spec   *download
	out    *arrow.Schema
	url    int
	read   func(a arrow.Array, i int) string
	rt     dataset.Runtime
	client *fetch.Client
	gate   *gate
	seq    uint64 // rows started
	queue  []*pendingBlock
}

// pendingBlock is an input block and what became of its rows.
type pendingBlock struct {
	b     *block.Block
	first uint64 // the number of its first row
	rows  []downloaded
	at    int   // rows before it have left
	ready int   // rows before it are complete
	bytes int64 // of the complete rows that have not left
}

// downloaded is one row.
type downloaded struct {
	done bool
	null bool
	body *memory.Buffer
	held int64 // what the gate let in
	err  error
}

// Process implements dataset.Operator.
func (o *downloadOp) Process(_ context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	if b.NumRows() == 0 {
		return nil
	}
	p := &pendingBlock{b: b.Retain(), first: o.seq, rows: make([]downloaded, b.NumRows())}
	o.queue = append(o.queue, p)
	o.seq += uint64(b.NumRows())
	urls := b.Column(o.url)
	for i := range p.rows {
		if urls.IsNull(i) {
			p.rows[i] = downloaded{done: true, null: true}
			if err := o.advance(emit); err != nil {
				return err
			}
			continue
		}
		url := strings.Clone(o.read(urls, i)) // the call may outlive the block
		if err := o.rt.Async(o.fetch(p, i, url)); err != nil {
			return err
		}
	}
	return nil
}

// fetch makes the asynchronous call for one row. Until its result is delivered, nobody else touches the row.
func (o *downloadOp) fetch(p *pendingBlock, i int, url string) func(ctx context.Context) func(dataset.Emit) error {
	mem := o.rt.Allocator()
	return func(ctx context.Context) func(dataset.Emit) error {
		room := &bodyRoom{gate: o.gate, mem: mem, seq: p.first + uint64(i)}
		var body []byte
		err := o.gate.start(ctx, room.seq)
		if err == nil {
			body, err = o.client.Get(ctx, url, room)
		}
		row := &p.rows[i]
		if err == nil { // kept even if the result is not delivered: Close releases it
			row.body, row.held = memory.NewBufferWithAllocator(body, mem), room.held
		}
		return func(emit dataset.Emit) error {
			if err != nil && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			row.done, row.err = true, err
			return o.advance(emit)
		}
	}
}

// advance emits complete rows from the front: whole blocks, or as much as makes a block.
func (o *downloadOp) advance(emit dataset.Emit) error {
	for len(o.queue) > 0 {
		p := o.queue[0]
		for p.ready < len(p.rows) && p.rows[p.ready].done {
			if err := o.account(p, emit); err != nil {
				return err
			}
		}
		if p.ready < len(p.rows) {
			o.gate.leave(p.first + uint64(p.ready))
			return nil
		}
		if err := o.seal(p, emit); err != nil {
			return err
		}
		o.queue = o.queue[1:]
		p.b.Release()
		o.gate.leave(p.first + uint64(len(p.rows)))
	}
	return nil
}

// account counts one more complete row and emits what is there when it is enough.
func (o *downloadOp) account(p *pendingBlock, emit dataset.Emit) error {
	row := &p.rows[p.ready]
	n := int64(0)
	if row.body != nil {
		n = int64(row.body.Len())
	}
	if p.ready > p.at && (p.bytes+n > o.rt.BlockBytes() || p.ready-p.at >= o.rt.BlockRows()) {
		if err := o.seal(p, emit); err != nil {
			return err
		}
	}
	p.ready++
	p.bytes += n
	return nil
}

// seal emits the complete rows that have not left, but the failed ones.
func (o *downloadOp) seal(p *pendingBlock, emit dataset.Emit) error {
	from, to := p.at, p.ready
	p.at, p.bytes = to, 0
	if from == to {
		return nil
	}
	part := p.b.Slice(from, to-from)
	defer part.Release()
	rows := p.rows[from:to]
	defer o.drop(rows)
	col, err := bodies(o.rt.Allocator(), rows)
	if err != nil {
		return err
	}
	defer col.Release()
	cols := append(append([]arrow.Array{}, part.Record().Columns()...), col)
	full := part.Replace(block.FromColumns(o.out, cols, part.NumRows()))
	var gone []int
	for i := range rows {
		if rows[i].err != nil {
			gone = append(gone, i)
			if err := o.rt.Fail(p.b, from+i, rows[i].err); err != nil {
				full.Release()
				return err
			}
		}
	}
	if len(gone) == 0 {
		return emit(full)
	}
	defer full.Release()
	return emitWithout(o.rt, full, gone, emit)
}

// drop releases the bodies of rows.
func (o *downloadOp) drop(rows []downloaded) {
	for i := range rows {
		if r := &rows[i]; r.body != nil {
			r.body.Release()
			o.gate.add(-r.held)
			r.body = nil
		}
	}
}

// bodies makes the column of the rows' bodies. A single one is not copied.
func bodies(mem memory.Allocator, rows []downloaded) (arrow.Array, error) {
	total := int64(0)
	for i := range rows {
		if b := rows[i].body; b != nil {
			total += int64(b.Len())
		}
	}
	if total > maxBinary {
		return nil, fmt.Errorf("%d bytes in one block do not fit a binary column", total)
	}
	offs := memory.NewResizableBuffer(mem)
	defer offs.Release()
	offs.Resize(4 * (len(rows) + 1))
	valid := memory.NewResizableBuffer(mem)
	defer valid.Release()
	valid.Resize((len(rows) + 7) / 8)
	o := arrow.Int32Traits.CastFromBytes(offs.Bytes())
	bits := valid.Bytes()
	clear(bits)
	o[0] = 0
	nulls := 0
	for i := range rows {
		o[i+1] = o[i]
		if b := rows[i].body; b != nil {
			o[i+1] += int32(b.Len())
			bits[i/8] |= 1 << (i % 8)
		} else {
			nulls++
		}
	}
	values := joined(mem, rows, int(total))
	defer values.Release()
	d := array.NewData(arrow.BinaryTypes.Binary, len(rows), []*memory.Buffer{valid, offs, values}, nil, nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

// maxBinary is what 32-bit offsets reach.
const maxBinary = 1<<31 - 1

func joined(mem memory.Allocator, rows []downloaded, total int) *memory.Buffer {
	if len(rows) == 1 && rows[0].body != nil {
		rows[0].body.Retain()
		return rows[0].body
	}
	out := block.NewBuffer(mem, total)
	p := out.Bytes()
	for i := range rows {
		if b := rows[i].body; b != nil {
			p = p[copy(p, b.Bytes()):]
		}
	}
	return out
}

// Flush implements dataset.Operator: all calls were delivered, so all rows have left.
func (o *downloadOp) Flush(_ context.Context, emit dataset.Emit) error { return o.advance(emit) }

// Close implements dataset.Operator. The engine has waited for calls in flight.
func (o *downloadOp) Close() error {
	for _, p := range o.queue {
		o.drop(p.rows)
		p.b.Release()
	}
	o.queue = nil
	if o.client == nil {
		return nil
	}
	return o.client.Close()
}
