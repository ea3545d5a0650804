package backpressure

// Names of the reasons that policies give. The scheduler adds some of its own for waits that are no policy's.
const (
	Input   = "input"
	Phase   = "phase"
	Workers = "workers"
	Output  = "output"
	Order   = "order"
	Memory  = "memory"
	Slot    = "slot"
)

// Snapshot is one stage at one moment, in plain numbers. Zero limits hold everything back, so that a forgotten field is noticed.
type Snapshot struct {
	Items int64 // blocks (or splits, deliveries, partitions) that could be taken now

	// WaitingItems are queued at ports that are not accepted yet; PhaseStage is whose end they wait for.
	WaitingItems int64
	PhaseStage   string

	Busy, MaxWorkers int64 // workers in a task, and the most there may be
	IdleOpen         int64 // open workers without a task

	// FullEdges is how many outgoing edges are over their room. FullStage, EdgeBytes and EdgeRoom describe one of them.
	FullEdges           int64
	FullStage           string
	EdgeBytes, EdgeRoom int64

	// Buffered are bytes that wait for an older task of an ordered stage, Pending the tasks begun and not yet passed on; Active is
	// how many of them run or wait.
	Ordered                  bool
	Buffered, BufferRoom     int64
	Pending, MostPending     int64
	Active                   int64
	Need, Room, LeastToBegin int64 // bytes wanted to begin, bytes to be had, and what is enough for a stage that does nothing else
	Forced                   bool  // nothing else in the run can go on: begin with what there is

	NoCPU            bool
	SlotsBusy, Slots int64
}

// Reason says which policy holds a stage, and the numbers that would have to change.
type Reason struct {
	Policy string
	Stage  string // the stage that holds it back, if another
	Have   int64
	Need   int64
	Unit   string
}

// Verdict is the answer to whether a stage may begin one more task.
type Verdict struct {
	Go     bool
	Reason Reason // empty when Go
}

// Policy is one rule. Holds is asked on every decision and must be cheap; Why is asked only after Holds said true.
type Policy struct {
	Name  string
	Holds func(*Snapshot) bool
	Why   func(*Snapshot) Reason
}

// Chain is a composition of policies: all of them must let a stage go. The order decides only which reason is given.
type Chain []Policy

// Start is the chain that a stage must pass to begin a task. The slot comes last, because whatever waits for it alone is work that
// more CPUs would do.
var Start = Chain{PhasePolicy, InputPolicy, WorkersPolicy, OutputPolicy, OrderPolicy, MemoryPolicy, SlotPolicy}

// Held returns the index of the first policy that holds s back, or -1.
func (c Chain) Held(s *Snapshot) int {
	for i := range c {
		if c[i].Holds(s) {
			return i
		}
	}
	return -1
}

// Decide is Held with the reason in words and numbers.
func (c Chain) Decide(s *Snapshot) Verdict {
	i := c.Held(s)
	if i < 0 {
		return Verdict{Go: true}
	}
	return Verdict{Reason: c[i].Why(s)}
}
