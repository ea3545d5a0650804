package dataset

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset/block"
)

// ErrStop tells a producer that no more output is wanted: a limit is reached. It is not a failure.
var ErrStop = errors.New("stop")

// ErrCanceled is the cause of a run that a person interrupted.
var ErrCanceled = errors.New("interrupted")

// ErrChanged is what every error is that says that a file is not the version that was listed.
var ErrChanged = errors.New("the file changed while it was read")

// TransientError is a failure that may go away by itself; the engine tries again, not before After.
type TransientError struct {
	Err   error
	After time.Duration
}

// Error implements error.
func (e *TransientError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *TransientError) Unwrap() error { return e.Err }

// FatalError ends the run whatever the error policy.
type FatalError struct{ Err error }

// Error implements error.
func (e *FatalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FatalError) Unwrap() error { return e.Err }

// UsageError is a mistake in what was asked for: a plan that does not check, an unknown option, a refused target. Exit code 2.
type UsageError struct{ Err error }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, a ...any) error { return &UsageError{fmt.Errorf(format, a...)} }

// RowError is the failure of one row: data, not an accident. Class groups failures for counting ("decode: truncated").
type RowError struct {
	Op    string
	Row   block.RowID
	Class string
	Err   error
}

// Error implements error.
func (e *RowError) Error() string {
	var s strings.Builder
	s.WriteString(e.Op)
	if e.Row.File != nil {
		fmt.Fprintf(&s, ": %s", e.Row.File.Path)
		if e.Row.Position > 0 || len(e.Row.Child) > 0 {
			fmt.Fprintf(&s, " at %d", e.Row.Position)
		}
		for _, c := range e.Row.Child {
			fmt.Fprintf(&s, ".%d", c)
		}
	}
	fmt.Fprintf(&s, ": %v", e.Err)
	return s.String()
}

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// PanicError is a panic caught at a stage boundary: a bug of ours or of a user function. The stack goes to the run log.
type PanicError struct {
	Op    string
	Where string // file and row, as far as known
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string {
	return fmt.Sprintf("internal error in %s at %s: %v", e.Op, e.Where, e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error { err, _ := e.Value.(error); return err }

// Stepped is implemented by errors that know which step failed where several steps were composed into one operator.
type Stepped interface{ Step() string }

// Classed is implemented by errors that know the class they are counted under.
type Classed interface{ Class() string }

// ClassOf returns the class of an error: its own, or a short form of its first words.
func ClassOf(err error) string {
	var c Classed
	if errors.As(err, &c) {
		return c.Class()
	}
	if _, ok := errors.AsType[*PanicError](err); ok {
		return "internal error"
	}
	s := err.Error()
	if i := strings.LastIndex(s, ": "); i >= 0 {
		s = s[i+2:]
	}
	if len(s) > 60 {
		s = s[:60]
	}
	return s
}
