package sched

import "github.com/sluice-data/sluice/backpressure"

// waitKind numbers the reasons for waits, for counting.
type waitKind uint8

const (
	byNothing waitKind = iota
	byPhase
	byInput
	byWorkers
	byOutput
	byOrder
	byMemory
	bySlot
	byBlocking
	byAsync
	byRetry
	byUpstreamEnded
	waitKinds
)

var waitNames = [waitKinds]string{"", backpressure.Phase, backpressure.Input, backpressure.Workers, backpressure.Output, backpressure.Order,
	backpressure.Memory, backpressure.Slot, "blocking", "async", "retry", "upstream ended"}

// startKinds are the kinds of the policies of backpressure.Start.
var startKinds = [...]waitKind{byPhase, byInput, byWorkers, byOutput, byOrder, byMemory, bySlot}

// hold notes what a stage without a running task is held by, and for how long it was held by what it was.
func (m *Machine) hold(s *stage, by waitKind) {
	if s.running > 0 {
		by = byNothing
	}
	if by == s.held {
		return
	}
	s.stats.idle[s.held] += m.now - s.since
	s.held, s.since = by, m.now
}
