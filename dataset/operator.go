package dataset

import (
	"context"
	"log/slog"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
)

// Spec describes one operator of a plan. It is immutable plain data plus code, is shared by all instances, and is asked at plan
// time; what it can do beyond this is told by the small interfaces in capability.go. A Spec never starts anything.
type Spec interface {
	// Name is the stable name, as in pipeline strings: "filter" prints as "where".
	Name() string
	// Version is the semantic version of the results: it changes when the same input would give other rows.
	Version() int
	// Params is the operator's parameter struct, JSON-marshalable; it is part of the plan fingerprint.
	Params() any
	// Check computes the output schema from the input schemas, one a port. An error names the column, and is given the operator's
	// name by the caller.
	Check(in []*arrow.Schema) (*arrow.Schema, error)
	// Needs says what one instance occupies while it runs.
	Needs() Resources
	// Instances says how many instances may share the work.
	Instances() Instances
	// New makes one instance for inputs of the given schemas, which passed Check.
	New(in []*arrow.Schema) (Operator, error)
}

// Instances says how the work of an operator may be divided.
type Instances int

// The kinds of division.
const (
	Any   Instances = iota // any number of instances, each taking whatever block comes
	One                    // exactly one instance sees every row
	Keyed                  // rows of one key go to one instance
)

// Resources is what one instance of an operator occupies. Zero values mean the default: one CPU slot and nothing else.
type Resources struct {
	NoCPU        bool  // waits more than it computes (downloads, remote models): holds no CPU slot while it waits
	MilliGPU     int   // thousandths of a device
	OffHeapBytes int64 // native memory and child processes, reserved for the life of the instance
	Window       int   // how many Async calls one instance keeps in flight; default 16
	MinWorkers   int   // default 1
	MaxWorkers   int   // default: the machine's parallelism; for NoCPU operators 1
}

// Operator is one running instance. Its methods are called by one goroutine at a time, never concurrently, in the order Open,
// then any number of Process, then Flush once, then Close; Close is called exactly once whenever Open was called, also after an
// error or a panic. Operators see no channels and start no goroutines of their own (Runtime.Async does that for them).
type Operator interface {
	// Open prepares the instance. rt stays valid until Close returns.
	Open(ctx context.Context, rt Runtime) error
	// Process consumes one block of the given input port. The block is borrowed: it is valid until Process returns, and an operator
	// that keeps it, or emits it itself, calls Retain. What it emits, it hands over. Errors: ErrStop (from emit or its own) ends the
	// operator early and stops what feeds it; *TransientError is retried by the engine with the same block; anything else ends the
	// run. A row that cannot be processed goes through Runtime.Fail instead.
	Process(ctx context.Context, port int, b *block.Block, emit Emit) error
	// Flush emits what is held back, after the last Process and after all Async deliveries. Calls that it starts are delivered before Close.
	Flush(ctx context.Context, emit Emit) error
	// Close frees what the instance holds. No call of Async is in flight any more, however the run ends.
	Close() error
}

// Emit hands a block downstream and gives up its ownership, also when it returns an error. It may wait for memory or for room,
// giving the CPU slot back meanwhile. ErrStop means that nobody wants more; any other error must be returned as it is.
type Emit func(*block.Block) error

// Runtime is what the engine does for one operator instance. Its methods are called from the operator's own goroutine only, apart
// from Allocator, whose result may be used anywhere.
type Runtime interface {
	// Fail reports that a row of b cannot be processed. The row must not be in the output; the rest goes on. A non-nil result must
	// be returned from Process: the policy of the run is to stop at the first failure, or a ceiling was reached.
	Fail(b *block.Block, row int, err error) error
	// Async runs fn on a goroutine owned by the engine and later calls what it returns on the operator's goroutine, between or
	// within calls of Process, Async and Flush; results arrive in order of completion. It waits while Window calls are in flight. fn must obey its
	// context, must not touch the operator's state, and may use only Allocator and blocks it retained. An error returned by the delivery counts as
	// an error of Process. A nil delivery is allowed.
	Async(fn func(ctx context.Context) (deliver func(emit Emit) error)) error
	// Blocking runs fn on the caller's goroutine with the CPU slot given back. reason says what is waited for.
	Blocking(reason string, fn func() error) error
	// Allocator gives the memory of the stage's budget: buffers are charged when made and refunded when released.
	Allocator() memory.Allocator
	// Reserve waits for n bytes of budget for memory that the allocator does not see (off-heap scratch, maps, state) and returns
	// the function that gives them back.
	Reserve(ctx context.Context, n int64) (release func(), err error)
	// TryReserve is Reserve without the wait; ok is false when the budget has no room, and the operator should spill or seal.
	TryReserve(n int64) (release func(), ok bool)
	// Scratch makes a temporary file in the run's spill folder, already unlinked where the system allows it, counted against
	// --temp-limit as it grows.
	Scratch() (*ScratchFile, error)
	// BlockBytes is the size that an emitted block should have; RowsHint the row cap. Builders seal a block when either is reached.
	BlockBytes() int64
	BlockRows() int
	// Parallel is how many slots the whole stage may use: how far code inside one instance may divide its own work is 1.
	Parallel() int
	// Logger is for rare events; never a line a row.
	Logger() *slog.Logger
	// Warn counts a warning of the given class; at most ten examples a class are kept and shown once, at the end.
	Warn(class, example string)
}

// RowMarker is implemented by a Runtime that wants to know which row of its block an operator works on. Operators that are Isolable say so
// before they touch what lies in the row, as often as they come back to it.
type RowMarker interface{ MarkRow(row int) }

// ScratchFile is a temporary file whose growth is metered. Write appends; ReadAt is safe for concurrent use.
type ScratchFile struct {
	*os.File
	// Grow is asked before every write of n bytes and fails when the disk budget is used up.
	Grow func(n int64) error
	size int64
}

// Write appends p.
func (s *ScratchFile) Write(p []byte) (int, error) {
	if s.Grow != nil {
		if err := s.Grow(int64(len(p))); err != nil {
			return 0, err
		}
	}
	n, err := s.File.WriteAt(p, s.size)
	s.size += int64(n)
	return n, err
}

// Size returns the bytes written so far.
func (s *ScratchFile) Size() int64 { return s.size }
