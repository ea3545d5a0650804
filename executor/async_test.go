package executor

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// calling is a step that starts a call for each block, which ends only with the run, and notes whether Close came before.
type calling struct {
	*step
	started, early atomic.Int64
}

func (c *calling) New([]*arrow.Schema) (dataset.Operator, error) {
	return &callingOp{stepOp: &stepOp{step: c.step}, c: c}, nil
}

type callingOp struct {
	*stepOp
	c      *calling
	flying atomic.Int64
}

func (o *callingOp) Process(_ context.Context, _ int, b *block.Block, _ dataset.Emit) error {
	return o.rt.Async(func(ctx context.Context) func(dataset.Emit) error {
		o.c.started.Add(1)
		o.flying.Add(1)
		defer o.flying.Add(-1)
		<-ctx.Done()
		for range 100 {
			runtime.Gosched()
		}
		return nil
	})
}

func (o *callingOp) Close() error {
	o.c.early.Add(o.flying.Load())
	return nil
}

// TestCloseWaitsForCalls: however a run ends, an operator is closed only when none of its calls is in flight, because they read what it holds.
func TestCloseWaitsForCalls(t *testing.T) {
	for name, end := range map[string]error{"cancelled": context.Canceled, "failed": errPulled} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c := &calling{step: &step{name: "ask", needs: dataset.Resources{NoCPU: true, Window: 4}}}
			l := newLocal(t, 32<<20, 2)
			var opts dataset.Options
			opts.Batch.NoCoalesce = true
			p, err := dataset.NewPlan(opts, dataset.From(&ints{files: 5, perFile: 100, perBlock: 7}, l).Via(c).To(nil))
			if err != nil {
				t.Fatal(err)
			}
			l.cfg.Watch = func(w Watcher) {
				go func() {
					for c.started.Load() < 4 && ctx.Err() == nil {
						runtime.Gosched()
					}
					cancel(end)
				}()
			}
			if err := dataset.Drain(ctx, l, p); !errors.Is(err, end) {
				t.Errorf("ended with %v", err)
			}
			if n := c.early.Load(); n > 0 {
				t.Errorf("closed with %d calls in flight", n)
			}
		})
	}
}
