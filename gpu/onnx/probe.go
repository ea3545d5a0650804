//go:build onnx && cgo

package onnx

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-data/sluice/gpu"
)

var _ gpu.Prober = (*model)(nil)

// probing is held by one probe at a time: what it sees is of the whole process.
var probing sync.Mutex

// lookEvery is how often a probe looks.
const lookEvery = 500 * time.Microsecond

// Probe implements gpu.Prober. It counts what is allocated outside of Go's heap while the request runs; what else allocates there meanwhile is counted too.
func (m *model) Probe(ctx context.Context, req *gpu.Request) (int64, error) {
	if _, err := m.Info(ctx); err != nil {
		return 0, err
	}
	probing.Lock()
	defer probing.Unlock()
	before, ok := allocated()
	if !ok {
		return 0, gpu.ErrUnsupported
	}
	ended, seen := make(chan struct{}), make(chan int64)
	go func() { // waited for below
		most := int64(0)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			n, _ := allocated()
			most = max(most, n-before)
			select {
			case <-ended:
				seen <- most
				return
			case <-tick.C:
			}
		}
	}()
	resp, err := m.Infer(ctx, req)
	close(ended) // while the answer is there, which is part of it
	most := <-seen
	if err != nil {
		return 0, err
	}
	resp.Release()
	return most, nil
}
