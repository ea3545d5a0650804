package executor

import (
	"fmt"
	"strconv"

	"github.com/sluice-data/sluice/dataset"
)

// rateFrom is the number of rows read from which on the share of failed rows is looked at while the run goes on.
const rateFrom = 1000

// CeilingError ends a run in which more rows failed than it allows.
type CeilingError struct {
	Failed, Read int64
	Flag, Limit  string            // the ceiling
	Last         *dataset.RowError // nil at the end of the run
}

func (e *CeilingError) Error() string {
	s := fmt.Sprintf("end run: %d of %d rows failed, more than %s %s allows; mend the input or the pipeline, or raise the ceiling and run again",
		e.Failed, e.Read, e.Flag, e.Limit)
	if e.Last != nil {
		s += "; the last one: " + e.Last.Error()
	}
	return s
}

// ceilings are how many rows may fail, over all attempts at a run.
type ceilings struct {
	most         int64
	rate         float64
	read, failed int64 // of earlier attempts
}

func newCeilings(o dataset.Options) ceilings {
	return ceilings{most: o.MaxErrors, rate: o.MaxErrorRate}
}

// check says whether a run may go on after so many rows. atEnd also looks at the share among few rows.
func (c *ceilings) check(read, failed int64, atEnd bool) *CeilingError {
	read, failed = read+c.read, failed+c.failed
	switch {
	case c.most > 0 && failed > c.most:
		return &CeilingError{Failed: failed, Read: read, Flag: "--max-errors", Limit: strconv.FormatInt(c.most, 10)}
	case c.rate > 0 && failed > 0 && (atEnd || read >= rateFrom) && float64(failed) > c.rate*float64(read):
		return &CeilingError{Failed: failed, Read: read, Flag: "--max-error-rate", Limit: strconv.FormatFloat(c.rate*100, 'g', 6, 64) + "%"}
	}
	return nil
}

// checkDeadLetters refuses to set rows aside where nothing keeps them.
func checkDeadLetters(p *dataset.Plan) error {
	if p.Options.OnError != dataset.OnErrorDeadLetter {
		return nil
	}
	for _, o := range p.Outputs {
		if _, ok := o.Sink.(dataset.Target); ok {
			continue
		}
		what := "the rows go to the caller"
		if o.Sink != nil {
			what = "the rows go to " + o.Sink.Name() + " on standard output or to a function"
		}
		return dataset.Usagef("--on-error dead-letter: dead letters are kept beside a result, and %s, beside which there is no place; write to a file or a folder, or use --on-error skip", what)
	}
	return nil
}
