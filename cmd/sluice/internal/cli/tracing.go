package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
	"github.com/sluice-data/sluice/executor/spans"
)

// tracing sends the trace of a run.
type tracing struct {
	j    *job
	t    *spans.Tracer
	done chan struct{}
	wg   sync.WaitGroup
}

// tracer is where slow blocks are told to, once the run is traced.
type tracer struct{ t atomic.Pointer[spans.Tracer] }

// slow tells of a slow block.
func (t *tracer) slow(b executor.SlowBlock) {
	if tr := t.t.Load(); tr != nil {
		tr.Slow(b)
	}
}

func (j *job) traceRun(ctx context.Context, _ dataset.Sink) (observer, error) {
	t, err := spans.Start(ctx, spans.Config{Endpoint: j.flags.see.otlp, Version: j.Version, Command: j.settings.Options.Command, Traceparent: os.Getenv("TRACEPARENT")})
	if err != nil {
		return nil, err
	}
	j.tracer.t.Store(t)
	j.look.begun = t.Look
	o := &tracing{j: j, t: t, done: make(chan struct{})}
	o.wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-o.done:
				return
			case <-tick.C:
				if r, ok := j.look.snapshot(); ok {
					t.Look(&r)
				}
			}
		}
	})
	return o, nil
}

// end implements observer.
func (o *tracing) end(r *dataset.Report, err error) {
	close(o.done)
	o.wg.Wait()
	if serr := o.t.End(r, err); serr != nil && !o.j.flags.quiet {
		fmt.Fprintf(o.j.Stderr, "warning: not all of the trace arrived: %v\n", serr)
	}
}
