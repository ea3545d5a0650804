package backpressure

// The policies. Each is a value, so that a chain may leave one out and a test may ask one alone.
var (
	// PhasePolicy holds a stage whose only input waits at ports of a later phase.
	PhasePolicy = Policy{Phase,
		func(s *Snapshot) bool { return s.Items == 0 && s.WaitingItems > 0 },
		func(s *Snapshot) Reason {
			return Reason{Policy: Phase, Stage: s.PhaseStage, Have: s.WaitingItems, Unit: "blocks"}
		}}

	// InputPolicy holds a stage that has nothing to do.
	InputPolicy = Policy{Input,
		func(s *Snapshot) bool { return s.Items == 0 },
		func(s *Snapshot) Reason { return Reason{Policy: Input, Have: 0, Need: 1, Unit: "blocks"} }}

	// WorkersPolicy holds a stage all of whose workers are in a task.
	WorkersPolicy = Policy{Workers,
		func(s *Snapshot) bool { return s.Busy >= s.MaxWorkers },
		func(s *Snapshot) Reason {
			return Reason{Policy: Workers, Have: s.Busy, Need: s.MaxWorkers + 1, Unit: "workers"}
		}}

	// OutputPolicy holds a stage while any of its outgoing edges is over its room.
	OutputPolicy = Policy{Output,
		func(s *Snapshot) bool { return s.FullEdges > 0 },
		func(s *Snapshot) Reason {
			return Reason{Policy: Output, Stage: s.FullStage, Have: s.EdgeBytes, Need: s.EdgeRoom, Unit: "bytes"}
		}}

	// OrderPolicy holds an ordered stage that has begun too much behind a slow first task, so that what waits for it is bounded. The
	// first task itself is never held: without pending tasks the stage may always begin one.
	OrderPolicy = Policy{Order,
		func(s *Snapshot) bool {
			return s.Ordered && s.Pending > 0 && (s.Buffered > s.BufferRoom || s.Pending >= s.MostPending)
		},
		func(s *Snapshot) Reason {
			if s.Buffered > s.BufferRoom {
				return Reason{Policy: Order, Have: s.Buffered, Need: s.BufferRoom, Unit: "bytes"}
			}
			return Reason{Policy: Order, Have: s.Pending, Need: s.MostPending, Unit: "tasks"}
		}}

	// MemoryPolicy holds a stage that cannot get the memory its next task is predicted to need. A stage that does nothing else
	// begins with less, as long as that is enough for a small block: it will ask for more or seal early. Forced begins with anything.
	MemoryPolicy = Policy{Memory,
		func(s *Snapshot) bool {
			return s.Room < s.Need && !s.Forced && (s.Active > 0 || s.Room < s.LeastToBegin)
		},
		func(s *Snapshot) Reason {
			return Reason{Policy: Memory, Have: s.Room, Need: s.Need, Unit: "bytes"}
		}}

	// SlotPolicy holds a stage that computes while all CPU slots are taken.
	SlotPolicy = Policy{Slot,
		func(s *Snapshot) bool { return !s.NoCPU && s.SlotsBusy >= s.Slots },
		func(s *Snapshot) Reason {
			return Reason{Policy: Slot, Have: s.SlotsBusy, Need: s.Slots + 1, Unit: "slots"}
		}}
)
