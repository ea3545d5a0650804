package sluice

import (
	"runtime"
	"sync"
	"weak"

	"github.com/sluice-data/sluice/dataset"
)

// Stats returns the report of the last run of this dataset: what each stage took and gave, its waits by reason, p50 and p99 a block, memory,
// and which stage was the bottleneck. ok is false before a run of it has ended. Runs of datasets derived from it do not count, nor do those of
// several outputs at once.
func (d Dataset) Stats() (report dataset.Report, ok bool) {
	if d.s == nil || d.d.Node() == nil {
		return dataset.Report{}, false
	}
	s := d.s.stats
	s.mu.Lock()
	defer s.mu.Unlock()
	report, ok = s.last[weak.Make(d.d.Node())]
	return report, ok
}

// stats are the last reports by dataset. A dataset that nobody holds any more is forgotten.
type stats struct {
	mu   sync.Mutex
	last map[weak.Pointer[dataset.Node]]dataset.Report
}

func newStats() *stats { return &stats{last: map[weak.Pointer[dataset.Node]]dataset.Report{}} }

// keep remembers the report of a plan with one output.
func (s *stats) keep(p *dataset.Plan) {
	if len(p.Outputs) != 1 || p.Outputs[0].Node == nil {
		return
	}
	node := p.Outputs[0].Node
	key := weak.Make(node)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.last[key]; !known {
		runtime.AddCleanup(node, s.forget, key)
	}
	s.last[key] = *p.Report
}

func (s *stats) forget(key weak.Pointer[dataset.Node]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, key)
}
