package lint

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"filter-late", "a filter comes after an expensive step that it needs nothing of", filterLate})
}

// filterLate finds filters that stay behind an expensive step, though all they read is there before it.
func filterLate(_ context.Context, j *Job) (out []Finding, err error) {
	for i := range j.Steps {
		s := &j.Steps[i]
		p, ok := s.Node.Spec.(dataset.Predicate)
		if !ok || !s.Kept {
			continue
		}
		columns := p.Predicate().Columns()
		at := -1 // the first expensive step that it could stand before
		for k := i - 1; k >= 0 && has(j.Steps[k].In, j.Steps[k].Out, columns) && !limits(j.Steps[k].Node.Spec); k-- {
			if expensive(j.Steps[k].Node.Spec) {
				at = k
			}
		}
		if at < 0 || len(columns) == 0 {
			continue
		}
		why := ""
		if p.Predicate().Fallible() {
			why = " (it is not moved by itself: its condition can fail on a row, and rows in between may be dropped before they reach it)"
		}
		out = append(out, Finding{Pos: s.Pos,
			Message: fmt.Sprintf("%s reads only %s, which is there before %s: the rows that it drops went through that for nothing%s",
				firstWord(s.Text), strings.Join(columns, ", "), j.Steps[at].Text, why),
			Remedy: fmt.Sprintf("put it before %s, unless what that gives depends on the rows dropped here", firstWord(j.Steps[at].Text))})
	}
	return out, nil
}

// has says whether a step leaves the columns as they are.
func has(in, out *arrow.Schema, columns []string) bool {
	for _, c := range columns {
		a, aok := in.FieldsByName(c)
		b, bok := out.FieldsByName(c)
		if !aok || !bok || !arrow.TypeEqual(a[0].Type, b[0].Type) {
			return false
		}
	}
	return true
}

// limits says whether a step passes only some rows on, so that a filter before it would let others pass.
func limits(spec dataset.Spec) bool {
	_, ok := spec.(dataset.Limiter)
	return ok
}
