package executor

import (
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

const (
	rateEvery  = 250 * time.Millisecond // least time between samples
	rateWindow = 5 * time.Second        // that rates are taken over
	leftWindow = 30 * time.Second       // that the time left is taken over
)

// rates keeps samples of the counters, taken when somebody looks, to tell how fast things go.
type rates struct {
	mu      sync.Mutex
	samples []sample // oldest first; the first is at least leftWindow old, if the run is
}

// sample is what was counted up to a time.
type sample struct {
	at     time.Duration
	read   int64 // bytes of input
	stages []counted
}

// counted are the counters of a stage.
type counted struct{ rowsIn, bytesIn, rowsOut, bytesOut int64 }

// fill sets the rates of rep, which was filled at now, and remembers its counters.
func (s *rates) fill(rep *dataset.Report, now time.Duration) {
	cur := sample{at: now, read: rep.Input.ReadBytes, stages: make([]counted, len(rep.Stages))}
	for i := range rep.Stages {
		st := &rep.Stages[i]
		cur.stages[i] = counted{st.RowsIn, st.BytesIn, st.RowsOut, st.BytesOut}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		s.samples = append(s.samples, sample{stages: make([]counted, len(rep.Stages))})
	}
	old := s.before(now - rateWindow)
	if rep.State == dataset.RunEnded {
		old = &sample{stages: make([]counted, len(rep.Stages))}
	}
	if seconds := (now - old.at).Seconds(); seconds > 0 {
		for i := range rep.Stages {
			st, a, b := &rep.Stages[i], &old.stages[i], &cur.stages[i]
			st.In = dataset.Rate{Rows: float64(b.rowsIn-a.rowsIn) / seconds, Bytes: float64(b.bytesIn-a.bytesIn) / seconds}
			st.Out = dataset.Rate{Rows: float64(b.rowsOut-a.rowsOut) / seconds, Bytes: float64(b.bytesOut-a.bytesOut) / seconds}
		}
	}
	rep.Input.Left = s.left(&rep.Input, now)
	if now-s.samples[len(s.samples)-1].at < rateEvery {
		return
	}
	s.samples = append(s.samples, cur)
	drop := 0
	for drop+1 < len(s.samples) && s.samples[drop+1].at <= now-leftWindow {
		drop++
	}
	s.samples = append(s.samples[:0], s.samples[drop:]...)
}

// before is the youngest sample that is not younger than at, or else the oldest.
func (s *rates) before(at time.Duration) *sample {
	i := 0
	for i+1 < len(s.samples) && s.samples[i+1].at <= at {
		i++
	}
	return &s.samples[i]
}

// left is the time that the rest of the input will take.
func (s *rates) left(in *dataset.InputProgress, now time.Duration) time.Duration {
	old := s.before(now - leftWindow)
	done := in.ReadBytes - old.read
	switch {
	case !in.Listed || in.ListedBytes == 0:
		return -1
	case in.ReadBytes >= in.ListedBytes:
		return 0
	case done <= 0 || now-old.at < time.Second:
		return -1
	}
	return time.Duration(float64(in.ListedBytes-in.ReadBytes) / float64(done) * float64(now-old.at))
}
