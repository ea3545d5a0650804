package triton

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// sampleEvery is the least time between two readings that are compared; calls within it get the last answer.
const sampleEvery = 20 * time.Millisecond

// A window that is to correct the configured parallelism holds at least so many requests, and lasts so many times as long as one.
const (
	enoughRequests = 16
	enoughTimes    = 4
)

// counters are sums since the server started.
type counters struct {
	at           time.Time
	requests     uint64
	queue, spent time.Duration // over all requests: waiting, and being worked on
}

// loads turns counters into a gpu.Load.
type loads struct {
	mu       sync.Mutex
	last     counters
	answer   gpu.Load
	parallel int // the most requests that were seen to be worked on at once
}

// corrected is a model's parallelism by its configuration, or what was measured if that is more.
func (l *loads) corrected(configured int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(configured, l.parallel)
}

// Load implements gpu.Model from the server's statistics: by Little's law, the mean number of requests in a place is the time spent there by all of
// them divided by the time that passed. So it covers what happened since the last call, other clients' requests included. The first call knows only
// what this client has under way.
func (m *Model) Load(ctx context.Context) (gpu.Load, error) {
	call, cancel := m.bounded(ctx)
	defer cancel()
	r, err := m.conns.rpc().ModelStatistics(call, &pb.ModelStatisticsRequest{Name: m.name, Version: m.version})
	if err != nil {
		return gpu.Load{}, m.optional(ctx, "ask for the load of model "+m.name, err)
	}
	now := counters{at: time.Now()}
	for _, s := range r.ModelStats {
		now.add(s.InferenceStats)
	}
	d, err := m.details(ctx)
	if err != nil {
		return gpu.Load{}, err
	}
	return m.load.next(now, int(m.inFlight.Load()), d.info.Parallel), nil
}

func (c *counters) add(s *pb.InferStatistics) {
	c.requests += s.GetSuccess().GetCount()
	c.queue += time.Duration(s.GetQueue().GetNs())
	c.spent += time.Duration(s.GetComputeInput().GetNs() + s.GetComputeInfer().GetNs() + s.GetComputeOutput().GetNs())
}

// next compares with the last reading.
func (l *loads) next(now counters, inFlight, parallel int) gpu.Load {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.last
	passed := now.at.Sub(before.at)
	switch {
	case before.at.IsZero() || now.requests < before.requests: // the first, or the server was restarted
		before, passed = counters{}, 0
	case passed < sampleEvery:
		return l.answer
	}
	l.last = now
	n := now.requests - before.requests
	queue, spent := now.queue-before.queue, now.spent-before.spent
	if n > 0 {
		l.answer.QueueTime = queue / time.Duration(n)
		l.answer.ComputeTime = spent / time.Duration(n)
	}
	if passed == 0 {
		running := inFlight
		if parallel > 0 {
			running = min(inFlight, parallel)
		}
		l.answer.Running, l.answer.Waiting = running, inFlight-running
		return l.answer
	}
	// A request's whole time is added when it ends, so a window shorter than a request says too much.
	l.answer.Running = int(math.Round(float64(spent) / float64(max(passed, l.answer.ComputeTime))))
	l.answer.Waiting = int(math.Round(float64(queue) / float64(max(passed, l.answer.QueueTime))))
	if n >= enoughRequests && passed > enoughTimes*l.answer.ComputeTime {
		l.parallel = max(l.parallel, l.answer.Running)
	}
	return l.answer
}
