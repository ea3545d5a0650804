package rowfn

import (
	"context"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// FlatMap calls fn once for each row and makes a row of each element that it returns; none is allowed. An error fails the input row, which then
// has no output rows. fn is called from several goroutines at once.
func FlatMap[In, Out any](fn func(ctx context.Context, in In) ([]Out, error), opts ...Option) dataset.Spec {
	return &flatSpec[In, Out]{newRowSpec[In, Out]("flat-map", fn, opts), fn}
}

type flatSpec[In, Out any] struct {
	rowSpec
	fn func(context.Context, In) ([]Out, error)
}

// New implements dataset.Spec.
func (f *flatSpec[In, Out]) New(in []*arrow.Schema) (dataset.Operator, error) {
	r, o, err := f.bind(in)
	if err != nil {
		return nil, err
	}
	return &flatOp[In, Out]{instance{op: f.name, reader: r, output: o}, f.fn}, nil
}

type flatOp[In, Out any] struct {
	instance
	fn func(context.Context, In) ([]Out, error)
}

// Process implements dataset.Operator.
func (o *flatOp[In, Out]) Process(ctx context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	src := o.reader.on(b.Record())
	g := &children{instance: &o.instance, parent: b, emit: emit, cols: o.output.builders(o.rt.Allocator())}
	defer g.cols.release()
	var (
		in, zero In
		outs     []Out
		i        int
	)
	call := func() (err error) {
		if err = src.read(i, unsafe.Pointer(&in)); err == nil {
			outs, err = o.fn(ctx, in)
		}
		return err
	}
	for i = range b.NumRows() {
		in, outs = zero, nil
		ok, err := o.row(ctx, b, i, call)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if err := g.begin(uint32(i), len(outs)); err != nil {
			return err
		}
		for k := range outs {
			g.cols.add(unsafe.Pointer(&outs[k]))
			if o.full(g.cols) {
				if err := g.seal(); err != nil {
					return err
				}
			}
		}
		clear(outs)
	}
	return g.seal()
}

// children gathers rows derived from the rows of one block. A row's children may be spread over several blocks; all blocks of a group share one
// identity, so that the ordinals of the children go on from block to block.
type children struct {
	*instance
	parent  *block.Block
	emit    dataset.Emit
	cols    *columns
	parents []uint32 // of the group: for each child the row it comes from
	done    int      // how many of them were emitted
	group   block.Identity
	sealed  bool // the group has its identity: it is in the middle of a row
}

// begin announces n children of a row.
func (g *children) begin(row uint32, n int) error {
	if g.sealed { // what is left of the group goes first: its identity is made
		if err := g.seal(); err != nil {
			return err
		}
		g.parents, g.done, g.sealed = nil, 0, false
	}
	for range n {
		g.parents = append(g.parents, row)
	}
	return nil
}

// seal emits what was built.
func (g *children) seal() error {
	n := g.cols.rows
	if n == 0 {
		return nil
	}
	if !g.sealed {
		g.group, g.sealed = g.parent.Identity().FlatMap(g.parents), true
	}
	at := g.parents[g.done : g.done+n]
	var rest arrow.RecordBatch
	if g.output.passes() {
		var err error
		if rest, err = block.TakeRecord(g.rt.Allocator(), g.parent.Record(), at); err != nil {
			return err
		}
		defer rest.Release()
	}
	id := g.group.Slice(g.done, n)
	g.done += n
	return g.emit(block.New(g.cols.seal(rest), id))
}
