package lint

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Finding is one mistake or cost.
type Finding struct {
	Rule    string
	Pos     pipeline.Pos
	Message string // what is so, with names and numbers
	Remedy  string // what to write instead
}

// Rule looks for one kind of findings. Its error ends the check: the source could not be read.
type Rule struct {
	Name  string // as printed: "filter-late"
	Doc   string // one line for people
	Check func(ctx context.Context, j *Job) ([]Finding, error)
}

// rules is filled by the files of the rules.
var rules []Rule

func register(r Rule) { rules = append(rules, r) }

// Rules lists all rules by name.
func Rules() []Rule {
	out := slices.Clone(rules)
	slices.SortFunc(out, func(a, b Rule) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Check runs every rule and gives the findings in the order of the pipeline.
func Check(ctx context.Context, j *Job) ([]Finding, error) {
	if err := j.prepare(ctx); err != nil {
		return nil, err
	}
	var out []Finding
	for _, r := range Rules() {
		found, err := r.Check(ctx, j)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].Rule = r.Name
		}
		out = append(out, found...)
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column), cmp.Compare(a.Pos.Offset, b.Pos.Offset))
	})
	return out, nil
}

// expensive says whether a step costs much more a row than reading it: pictures, models, downloads, and what must see all rows.
func expensive(spec dataset.Spec) bool {
	needs := spec.Needs()
	_, barrier := spec.(dataset.Barrier)
	_, program := spec.(dataset.Composer)
	return barrier || program || needs.NoCPU || needs.MilliGPU > 0 || needs.OffHeapBytes > 0
}
