package executor

import (
	"context"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// yieldOp is the end of an output without a sink: it hands blocks to the caller of Run, one at a time.
type yieldOp struct{ worker *worker }

var _ dataset.Operator = (*yieldOp)(nil)

func (*yieldOp) Open(context.Context, dataset.Runtime) error { return nil }

func (o *yieldOp) Process(_ context.Context, _ int, b *block.Block, _ dataset.Emit) error {
	r := o.worker.run
	return o.worker.blocking("the consumer", func() error {
		select {
		case r.yield <- b.Retain():
			<-r.yield // the consumer is done with it
			return nil
		case <-r.ctx.Done():
			b.Release()
			return r.cause()
		}
	})
}

func (*yieldOp) Flush(context.Context, dataset.Emit) error { return nil }

func (*yieldOp) Close() error { return nil }
