package isolate

import (
	"errors"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// order is a message to the child; Op says which of the others count.
type order struct {
	Op string `json:"op"`
	// open
	Steps      []step       `json:"steps,omitempty"`
	Schema     []byte       `json:"schema,omitempty"` // as codec.EncodeSchema makes it
	BlockBytes int64        `json:"block_bytes,omitempty"`
	BlockRows  int          `json:"block_rows,omitempty"`
	Parallel   int          `json:"parallel,omitempty"`
	Mark       *child.Place `json:"mark,omitempty"`
	// rows: a stream at In, of whose record the rows [From, To) are worked on
	In       *child.Place `json:"in,omitempty"`
	From, To int
	// room
	Out *child.Place `json:"out,omitempty"`
	// room, granted: why there is none
	Fault *fault `json:"fault,omitempty"`
	// model
	Model *modelOrder `json:"model,omitempty"`
}

// The orders.
const (
	orderOpen    = "open"
	orderRows    = "rows"
	orderRoom    = "room"    // answers needRoom
	orderGranted = "granted" // answers needReserve
	orderModel   = "model"   // the child runs a model from now on, and its orders are modelOrders
)

// step is one step of what the child runs, by the name of its definition.
type step struct {
	Name   string `json:"name"`
	Params []byte `json:"params"` // JSON
}

// report is a message of the child.
type report struct {
	Op string `json:"op"`
	// needRoom, results
	Len int64 `json:"len,omitempty"`
	// results: the rows of the block that the record at Len bytes of the room was made of
	Rows []uint32 `json:"rows,omitempty"`
	// failed
	Row int `json:"row,omitempty"`
	// needReserve, release
	ID    int   `json:"id,omitempty"`
	Bytes int64 `json:"bytes,omitempty"`
	// warn
	Class, Example string
	// failed, ended
	Fault *fault `json:"fault,omitempty"`
}

// The reports.
const (
	reportReady   = "ready"
	reportRoom    = "room"
	reportResults = "results"
	reportFailed  = "failed"
	reportReserve = "reserve"
	reportRelease = "release"
	reportWarn    = "warn"
	reportEnded   = "ended" // the order was carried out, or Fault says why not
)

// fault is an error on its way to the other process.
type fault struct {
	Text  string `json:"text"`
	Kind  string `json:"class,omitempty"`
	In    string `json:"step,omitempty"`
	Sort  string `json:"sort,omitempty"` // which type of dataset's it has
	Known bool   `json:"known,omitempty"`
	After int64  `json:"after,omitempty"` // of transient ones, in nanoseconds
}

// The sorts of faults that steer.
const (
	sortFatal     = "fatal"
	sortUsage     = "usage"
	sortTransient = "transient"
	sortRequest   = "request" // gpu.ErrRequest
)

// faultOf writes an error; nil is none.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	var c dataset.Classed
	if errors.As(err, &c) {
		f.Kind, f.Known = c.Class(), true
	}
	var s dataset.Stepped
	if errors.As(err, &s) {
		f.In = s.Step()
	}
	if _, ok := errors.AsType[*dataset.FatalError](err); ok {
		f.Sort = sortFatal
	} else if _, ok := errors.AsType[*dataset.UsageError](err); ok {
		f.Sort = sortUsage
	} else if t, ok := errors.AsType[*dataset.TransientError](err); ok {
		f.Sort, f.After = sortTransient, int64(t.After)
	} else if errors.Is(err, gpu.ErrRequest) {
		f.Sort = sortRequest
	}
	return f
}

// err makes the error again.
func (f *fault) err() error {
	if f == nil {
		return nil
	}
	var err error = errors.New(f.Text)
	if f.Known {
		err = classed{err, f.Kind}
	}
	if f.In != "" {
		err = stepped{err, f.In}
	}
	switch f.Sort {
	case sortFatal:
		return &dataset.FatalError{Err: err}
	case sortUsage:
		return &dataset.UsageError{Err: err}
	case sortTransient:
		return &dataset.TransientError{Err: err, After: time.Duration(f.After)}
	case sortRequest:
		return atFault{err}
	}
	return err
}

// atFault is an error that is also gpu.ErrRequest, and does not say so twice.
type atFault struct{ error }

// Is implements what errors.Is asks.
func (atFault) Is(target error) bool { return target == gpu.ErrRequest }

// Unwrap returns the cause.
func (e atFault) Unwrap() error { return e.error }

// classed is an error that is counted under a class.
type classed struct {
	error
	class string
}

// Class implements dataset.Classed.
func (e classed) Class() string { return e.class }

// stepped is an error of a step.
type stepped struct {
	error
	step string
}

// Step implements dataset.Stepped.
func (e stepped) Step() string { return e.step }

// Unwrap returns the cause.
func (e stepped) Unwrap() error { return e.error }

var (
	_ dataset.Classed = classed{}
	_ dataset.Stepped = stepped{}
)
