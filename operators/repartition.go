package operators

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// RepartitionParams are the parameters of repartition.
type RepartitionParams struct {
	Rows int64 `json:"rows" arg:"word" doc:"rows a block"`
}

func init() {
	define(dataset.Def{
		Name: "repartition",
		Doc:  "cut the rows into blocks of N rows",
		Help: "Every block that follows has exactly N rows, the last one what is left. It is a number of rows and not of blocks, because the number of " +
			"all rows is not known before the end and the rows keep streaming. Blocks that would exceed 256 MiB are cut short.",
		Example: "repartition 1000",
	}, RepartitionParams{}, Repartition)
}

// repartitionBytes bounds a block whatever the number of rows asked for.
const repartitionBytes = 256 << 20

// Repartition cuts the rows into blocks of a number of rows.
func Repartition(p RepartitionParams) (dataset.Spec, error) {
	if p.Rows == 0 {
		return nil, errors.New("it needs a number of rows a block: repartition 10000")
	}
	if p.Rows < 1 || p.Rows > 1<<31 {
		return nil, fmt.Errorf("it needs a number of rows a block, 1 to %d; have %d", 1<<31, p.Rows)
	}
	return &repartition{rows: int(p.Rows)}, nil
}

type repartition struct {
	rowwise
	rows int
}

var (
	_ dataset.Resizer        = (*repartition)(nil)
	_ dataset.Columner       = (*repartition)(nil)
	_ dataset.OneToOne       = (*repartition)(nil)
	_ dataset.FilterCommuter = (*repartition)(nil)
)

func (*repartition) Name() string { return "repartition" }

func (r *repartition) Params() any { return RepartitionParams{int64(r.rows)} }

// Instances is One: each instance would leave a short block behind.
func (*repartition) Instances() dataset.Instances { return dataset.One }

// ResizesBlocks implements dataset.Resizer.
func (*repartition) ResizesBlocks() bool { return true }

// Columns implements dataset.Columner.
func (*repartition) Columns(_ *arrow.Schema, want []string) []string { return want }

// RowsOneToOne implements dataset.OneToOne.
func (*repartition) RowsOneToOne() bool { return true }

// CommutesWithFilter is false: a filter after it would see full blocks and leave short ones, as the user wrote it.
func (*repartition) CommutesWithFilter([]string) bool { return false }

func (*repartition) Check(in []*arrow.Schema) (*arrow.Schema, error) { return one(in) }

func (r *repartition) New([]*arrow.Schema) (dataset.Operator, error) {
	return &repartitionOp{rows: r.rows, most: repartitionBytes}, nil
}

// repartitionOp holds slices of input blocks until they make a whole one.
type repartitionOp struct {
	rt    dataset.Runtime
	rows  int
	most  int64
	held  []*block.Block
	have  int
	bytes int64
}

// Open implements dataset.Operator.
func (o *repartitionOp) Open(_ context.Context, rt dataset.Runtime) error {
	o.rt = rt
	return nil
}

// Process implements dataset.Operator.
func (o *repartitionOp) Process(_ context.Context, _ int, b *block.Block, emit dataset.Emit) error {
	for at := 0; at < b.NumRows(); {
		n := min(o.rows-o.have, b.NumRows()-at)
		piece := b.Slice(at, n)
		at += n
		o.held = append(o.held, piece)
		o.have += n
		o.bytes += piece.Bytes()
		if o.have == o.rows || o.bytes >= o.most {
			if err := o.seal(emit); err != nil {
				return err
			}
		}
	}
	return nil
}

// seal emits what is held as one block.
func (o *repartitionOp) seal(emit dataset.Emit) error {
	if len(o.held) == 0 {
		return nil
	}
	out, err := block.Merge(o.rt.Allocator(), o.held)
	o.release()
	if err != nil {
		return err
	}
	return emit(out)
}

func (o *repartitionOp) release() {
	for _, b := range o.held {
		b.Release()
	}
	o.held, o.have, o.bytes = o.held[:0], 0, 0
}

// Flush implements dataset.Operator.
func (o *repartitionOp) Flush(_ context.Context, emit dataset.Emit) error { return o.seal(emit) }

// Close implements dataset.Operator.
func (o *repartitionOp) Close() error {
	o.release()
	return nil
}
