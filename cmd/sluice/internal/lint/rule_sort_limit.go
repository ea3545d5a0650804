package lint

import (
	"context"
	"fmt"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"sort-limit", "all rows are sorted, and then a few of them kept", sortLimit})
}

// fewRows is a limit that a threshold can stand for.
const fewRows = 100_000

// sortLimit finds a limit behind an ordered barrier.
func sortLimit(_ context.Context, j *Job) (out []Finding, err error) {
	for i := range j.Steps {
		o, ok := j.Steps[i].Node.Spec.(dataset.Ordered)
		if _, barrier := j.Steps[i].Node.Spec.(dataset.Barrier); !ok || !barrier || !o.OutputOrdered() {
			continue
		}
		for k := i + 1; k < len(j.Steps); k++ {
			spec := j.Steps[k].Node.Spec
			if l, ok := spec.(dataset.Limiter); ok {
				if l.Limit() > 0 && l.Limit() <= fewRows {
					out = append(out, Finding{Pos: j.Steps[i].Pos,
						Message: fmt.Sprintf("%s orders every row with all its columns, to disk if need be, and %s keeps %d of them",
							firstWord(j.Steps[i].Text), j.Steps[k].Text, l.Limit()),
						Remedy: "where the order of magnitude is known, put a where before the sort (score > 0.9); select the columns that are needed before it, not after"})
				}
				break
			}
			if one, ok := spec.(dataset.OneToOne); !ok || !one.RowsOneToOne() {
				break
			}
		}
	}
	return out, nil
}
