package executor

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice-data/sluice/dataset"
)

// examples is how many examples are kept of a class of failures or warnings.
const examples = 10

// failures counts failed rows and warnings by class.
type failures struct {
	policy dataset.ErrorPolicy
	limits ceilings
	read   *atomic.Int64 // rows read so far
	total  atomic.Int64
	mu     sync.Mutex
	rows   map[[2]string]*dataset.Failure
	warns  map[string]*dataset.Warning
}

// fatal says whether the first failing row ends the run.
func (f *failures) fatal() bool { return f.policy == dataset.OnErrorFail || f.policy == "" }

// add counts a failed row. A non-nil result ends the run: the policy is to fail, or a ceiling was reached.
func (f *failures) add(e *dataset.RowError) error {
	failed := f.total.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows == nil {
		f.rows = map[[2]string]*dataset.Failure{}
	}
	key := [2]string{e.Op, e.Class}
	c := f.rows[key]
	if c == nil {
		c = &dataset.Failure{Op: e.Op, Class: e.Class}
		f.rows[key] = c
	}
	c.Count++
	if len(c.Examples) < examples {
		where := "a row"
		if e.Row.File != nil {
			where = e.Row.File.Path
			if e.Row.Position > 0 {
				where = fmt.Sprintf("%s at %d", where, e.Row.Position)
			}
		}
		c.Examples = append(c.Examples, dataset.FailureExample{Where: where, Cause: e.Err.Error()})
	}
	if f.fatal() {
		return e
	}
	if over := f.limits.check(f.read.Load(), failed, false); over != nil {
		over.Last = e
		return over
	}
	return nil
}

// atEnd checks the ceilings when the last row was read.
func (f *failures) atEnd() error {
	if over := f.limits.check(f.read.Load(), f.total.Load(), true); over != nil && !f.fatal() {
		return over
	}
	return nil
}

// warn counts a warning.
func (f *failures) warn(class, example string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.warns == nil {
		f.warns = map[string]*dataset.Warning{}
	}
	w := f.warns[class]
	if w == nil {
		w = &dataset.Warning{Class: class}
		f.warns[class] = w
	}
	w.Count++
	if len(w.Examples) < examples && example != "" {
		w.Examples = append(w.Examples, example)
	}
}

// report copies the counts, most frequent first.
func (f *failures) report() (rows []dataset.Failure, warns []dataset.Warning) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.rows {
		d := *c
		d.Examples = slices.Clone(c.Examples)
		rows = append(rows, d)
	}
	for _, w := range f.warns {
		d := *w
		d.Examples = slices.Clone(w.Examples)
		warns = append(warns, d)
	}
	slices.SortFunc(rows, func(a, b dataset.Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Op+a.Class, b.Op+b.Class))
	})
	slices.SortFunc(warns, func(a, b dataset.Warning) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class))
	})
	return rows, warns
}
