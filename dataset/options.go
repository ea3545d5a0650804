package dataset

import "time"

// ErrorPolicy says what a failing row does to the run.
type ErrorPolicy string

// The policies.
const (
	OnErrorFail       ErrorPolicy = "fail"        // end the run
	OnErrorSkip       ErrorPolicy = "skip"        // leave the row out and count it
	OnErrorDeadLetter ErrorPolicy = "dead-letter" // set the row aside with its cause
)

// TargetMode says what to do with a target that has data.
type TargetMode string

// The modes. The zero value refuses whatever is not the same command again.
const (
	TargetDefault   TargetMode = ""
	TargetOverwrite TargetMode = "overwrite"
	TargetAppend    TargetMode = "append"
)

// ChangedPolicy says what an incremental run does about a file that was read before and is another version now.
type ChangedPolicy string

// The policies.
const (
	ChangedFail ChangedPolicy = "fail" // refuse to run, naming it; the default
	ChangedSkip ChangedPolicy = "skip" // leave it as it was read
)

// GrownPolicy says what an incremental run does about a file that was read before and only grew since.
type GrownPolicy string

// The policies. The zero value takes it for changed.
const (
	GrownTail GrownPolicy = "tail" // read what was added
)

// Options of one run. The zero value is a good default. None of them changes which rows come out, apart from Seed and OnError.
type Options struct {
	OnError      ErrorPolicy
	MaxErrors    int64   // failed rows that end the run when exceeded, under skip and dead-letter; 0: no ceiling
	MaxErrorRate float64 // the same as a share of the rows read, looked at from row 1,000 on and at the end; 0: no ceiling
	Target       TargetMode
	Ordered      bool          // sinks receive rows in source order
	Seed         uint64        // for sample and shuffle; with Ordered also fixes file bytes
	SeedSet      bool          // whether Seed was asked for
	PartBytes    int64         // a part is closed at this size; default 512 MiB
	CommitEvery  time.Duration // a generation takes no new ranges after this long; default 60 s
	Batch        struct {
		NoFuse     bool // keep every step a stage, for measuring
		NoCoalesce bool // leave small blocks as they are
	}
	// Incremental reads only files that no run on the target has read before, and adds their rows. Changed and Grown apply to it.
	Incremental bool
	Changed     ChangedPolicy
	Grown       GrownPolicy
	Command     string // the command as typed, for the log
	// Isolate runs decoders and models of this process in child processes: what takes such a process down costs one row. IsolateTimeout is how long a decoder
	// may take over one row there; 0: a minute.
	Isolate        bool
	IsolateTimeout time.Duration
}

// Report is what a run did, filled in while it runs.
type Report struct {
	Run          string // run id; empty without a target
	Complete     bool   // "already complete": nothing had to be done
	RowsRead     int64
	RowsWritten  int64
	RowsFailed   int64
	BytesRead    int64
	BytesWritten int64
	Wall         time.Duration
	PeakBytes    int64 // of the memory budget
	BudgetBytes  int64
	SpilledBytes int64
	Stages       []StageReport
	Warnings     []Warning
	Failures     []Failure
	Targets      []TargetReport
	Notes        []string // what a person should know of this run ("an unfinished run was discarded")
	Progress              // where it is now
}

// StageReport is what one stage did.
type StageReport struct {
	Name                string
	RowsIn, RowsOut     int64
	BlocksIn, BlocksOut int64
	BytesIn, BytesOut   int64
	Busy                time.Duration // slot held
	Failed              int64
	Workers             int                      // most instances at once
	Waits               map[string]time.Duration // that tasks waited, by reason
	Flow                                         // what it holds now and how fast it goes
}

// Warning is one class of warnings, counted, with up to ten examples.
type Warning struct {
	Class    string
	Count    int64
	Examples []string
}

// Failure is one class of failed rows, counted, with up to ten examples.
type Failure struct {
	Op, Class string
	Count     int64
	Examples  []FailureExample
}

// FailureExample is one failed row.
type FailureExample struct{ Where, Cause string }

// TargetReport is what became of one target.
type TargetReport struct {
	Locator string
	Rows    int64
	Bytes   int64
	Files   []string // relative names, at most a few
	Parts   int
	// DeadLetters is how many failed rows the run set aside; DeadAt is where they are, if that can be said.
	DeadLetters int64
	DeadAt      string
}
