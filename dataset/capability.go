package dataset

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/expr"
)

// The interfaces below are optional powers of a Spec. Optimizer rules and the compiler ask for them and never name an operator.

// Columner tells which input columns an operator needs when only some of its output columns are wanted. want nil means all. The
// result nil means all of the input columns. Operators without it need all.
type Columner interface {
	Columns(in *arrow.Schema, want []string) (need []string)
}

// OneToOne is implemented by operators that emit exactly one row for each input row, in the same order; limits move across them.
// An operator whose rows may fail is still one to one.
type OneToOne interface{ RowsOneToOne() bool }

// Backend is a Spec whose results may differ in single bits with the library that it found on this machine.
type Backend interface {
	Spec
	// Backend names that library, for the log of the run: a run that goes on with another one says so.
	Backend() string
}

// FilterCommuter says whether a filter that reads the given columns of the output may run before the operator instead, on columns of the
// same names and values. It must return false if the operator adds or changes one of them.
type FilterCommuter interface {
	CommutesWithFilter(columns []string) bool
}

// Predicate is implemented by operators that are a row filter.
type Predicate interface{ Predicate() *expr.Expr }

// Limiter is implemented by operators that pass at most so many rows on.
type Limiter interface{ Limit() int64 }

// Composer is implemented by operators that can take over the operator that follows them: adjacent image steps become one program
// a row. The composed Spec must give the rows that the two give one after the other. The plan's fingerprint is taken before.
type Composer interface {
	Compose(next Spec) (Spec, bool)
}

// Nondeterministic is implemented by operators that may give other rows for the same input; a retry of theirs holds the output back
// until Process has returned.
type Nondeterministic interface{ Nondeterministic() bool }

// NotFusible is implemented by operators that must be a stage of their own.
type NotFusible interface{ NotFusible() bool }

// Memory says what an operator holds, for explain: "streams", "spills", or "holds state: …".
type Memory interface{ Holds() string }

// Resizer is implemented by operators that exist to change the size of blocks; the engine then leaves their output as it is.
type Resizer interface{ ResizesBlocks() bool }

// WantsOrder is implemented by operators whose result depends on the order of rows; the engine then delivers blocks in source order
// to them even in a run that is not ordered. It implies One.
type WantsOrder interface{ WantsOrder() bool }

// Ordered is implemented by operators whose output has an order of its own that must hold up to the sink (sort).
type Ordered interface{ OutputOrdered() bool }

// PortPhases is implemented by multi-input operators that do not accept all ports at once (a join takes its build side first, an
// ordered union one input after the other). Ports of a higher phase are accepted when all of lower phases have ended.
type PortPhases interface{ PortPhase(port int) int }

// Barrier is implemented by operators whose output begins after their input ended: sort, group, join. It runs in phases. First
// the instances consume the input, each ending with Flush, which emits nothing; each instance is a BarrierOperator and hands over its
// state. Then Merge plans the second phase from all states: partitions that run as tasks of their own, in parallel, whose outputs
// follow each other in the order of the result. Blocks that partitions emit have no identity; the engine gives them one.
type Barrier interface {
	Merge(ctx context.Context, rt Runtime, in []*arrow.Schema, states []any) ([]Partition, error)
}

// BarrierOperator is the instance of a Barrier.
type BarrierOperator interface {
	Operator
	// State is called once, after Flush, and hands over what the instance gathered (spilled runs, partial aggregates). The engine
	// calls Close only after all partitions ended.
	State() any
}

// Partition is one task of the second phase of a Barrier.
type Partition interface {
	// Run emits the rows of the partition. It is called once, on one goroutine.
	Run(ctx context.Context, rt Runtime, emit Emit) error
	// Close frees what the partition holds; it is called exactly once, whether or not Run was.
	Close() error
}

// Batched is implemented by operators whose result for a row may depend on the rows beside it, without being a Barrier: functions on
// whole batches. Rows cannot be tried again by themselves behind them.
type Batched interface{ SeesBatch() bool }

// Seeded is implemented by operators that draw by hash of a seed and of row identities (sample, shuffle). WithSeed returns the operator under
// the run's seed, unless it was given one of its own.
type Seeded interface{ WithSeed(seed uint64) Spec }

// Isolable is implemented by operators that may be run in a child process, as what they call may take a process down with it: decoders, models. It is
// asked after the optimizer. Such an operator works on rows one after the other, tells a RowMarker of each, and gives rows in the order of its input, at
// most one for each; it makes no asynchronous calls and wants no scratch files.
type Isolable interface {
	Spec
	// Recipe tells how the Spec is built again: from the definitions of that name and with these parameters, each step composed into the one before. None
	// means that it need not or cannot run elsewhere.
	Recipe() []Ingredient
}

// Weighed is implemented by operators whose native memory has to be measured: models in this process. It is asked once a run, after the plan was checked, and
// never for plans that are only looked at by name. What it says is added to Needs().OffHeapBytes, so a budget that cannot hold it refuses the plan with the
// number that could. The error is the plan's.
type Weighed interface {
	Weigh(ctx context.Context) (bytes int64, err error)
}

// PartIsolable is implemented by operators that cannot run in a child process as a whole, and can have done there what may take a process down: models,
// decoders of pictures. Isolated returns the operator that does; it is asked before the plan is checked. timeout is how long a child may take over one
// file; 0 means the default.
type PartIsolable interface {
	Spec
	Isolated(timeout time.Duration) Spec
}

// Ingredient is one step of a recipe. Params is, or points to, a parameter struct of the Def of that name.
type Ingredient struct {
	Name   string
	Params any
}
