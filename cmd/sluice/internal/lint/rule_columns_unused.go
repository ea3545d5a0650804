package lint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"columns-unused", "a step makes columns that nothing reads", columnsUnused})
}

// columnsUnused finds steps all of whose new columns are left out later. Steps that change the number of rows, or set failing rows aside by
// decoding, have an effect of their own.
func columnsUnused(_ context.Context, j *Job) (out []Finding, err error) {
	for i := range j.Steps {
		s := &j.Steps[i]
		fresh := s.fresh()
		if o, ok := s.Node.Spec.(dataset.OneToOne); !ok || !o.RowsOneToOne() || len(fresh) == 0 || isPixels(s, fresh) {
			continue
		}
		if slices.ContainsFunc(fresh, s.used) || renames(s) {
			continue
		}
		out = append(out, Finding{Pos: s.Pos,
			Message: fmt.Sprintf("%s makes %s, and nothing behind it reads that", firstWord(s.Text), strings.Join(fresh, ", ")),
			Remedy:  "leave the step out, or keep the column in the select behind it"})
	}
	return out, nil
}

// renames says whether a step only gives other names: as many columns as before.
func renames(s *Step) bool {
	_, columner := s.Node.Spec.(dataset.Columner)
	return columner && s.In.NumFields() >= s.Out.NumFields()
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
