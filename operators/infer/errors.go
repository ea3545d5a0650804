package infer

import (
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/operators/infer/internal/pool"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// rowError is why a row has no answer.
type rowError struct {
	model   string
	replica string // empty when no replica was asked
	tries   int
	class   string
	err     error
}

var _ dataset.Classed = (*rowError)(nil)

// Error implements error.
func (e *rowError) Error() string {
	if e.replica == "" {
		return fmt.Sprintf("%s: %v", e.model, e.err)
	}
	return fmt.Sprintf("%s on %s, try %d: %v", e.model, e.replica, e.tries, e.err)
}

// Unwrap returns the cause.
func (e *rowError) Unwrap() error { return e.err }

// Class implements dataset.Classed.
func (e *rowError) Class() string { return e.class }

// failed makes the rowError of a request of one row that was given up.
func (o *operator) failedRow(err error) error {
	e := &rowError{model: o.spec.address.model, class: "model", err: err}
	if f, ok := errors.AsType[*pool.Failure](err); ok {
		e.replica, e.tries, e.err = f.Replica, f.Tries, f.Err
		if !f.Request {
			e.class = "no replica could"
		}
	}
	if d, ok := errors.AsType[*child.Died](err); ok {
		e.class = d.Kind
	}
	return e
}

// badInput makes the rowError of a row that no input could be made of.
func (o *operator) badInput(err error) error {
	e := &rowError{model: o.spec.address.model, class: "input", err: err}
	if d, ok := errors.AsType[*child.Died](err); ok {
		e.class = d.Kind
	}
	return e
}

// leastRows is how many rows are looked at before max_error_rate ends a run.
const leastRows = 100

// rate ends the run when too many rows failed.
func (o *operator) rate(last bool) error {
	most := o.spec.params.MaxErrorRate
	if o.failed == 0 || !last && o.rows < leastRows || float64(o.failed) <= most*float64(o.rows) {
		return nil
	}
	return &dataset.FatalError{Err: fmt.Errorf("%d of %d rows failed, more than max_error_rate=%v allows", o.failed, o.rows, most)}
}
