package lint

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
)

func init() {
	register(Rule{"memory-short", "the memory budget is less than the plan needs", memoryShort})
}

// memoryShort asks the engine whether the plan can be scheduled, by running it over no rows, and compares the largest file that is one row with
// the largest row that the budget allows.
func memoryShort(ctx context.Context, j *Job) (out []Finding, err error) {
	schema, err := j.source().Schema(ctx)
	if err != nil {
		return nil, err
	}
	d := dataset.From(&nothing{schema}, j.Runner)
	for i := range j.Steps {
		d = d.Via(j.Steps[i].Node.Spec)
	}
	for _, err := range d.Blocks(ctx, dataset.Options{}) {
		if u, ok := errors.AsType[*dataset.UsageError](err); ok {
			out = append(out, Finding{Pos: j.Parsed.Source.Pos, Message: "the plan cannot run: " + u.Error(),
				Remedy: "run with more --memory, or with fewer steps that are stages of their own"})
		} else if err != nil {
			return nil, err
		}
	}
	f, err := j.listed(ctx)
	if err != nil || !f.whole || j.Memory <= 0 || f.largest <= j.Memory/4 {
		return out, err
	}
	return append(out, Finding{Pos: j.Parsed.Source.Pos,
		Message: fmt.Sprintf("%s is one row of %s, and a row above a quarter of the memory budget of %s fails",
			f.path, dataset.ByteSize(f.largest), dataset.ByteSize(j.Memory)),
		Remedy: fmt.Sprintf("run with --memory %s or more, or with --on-error skip", dataset.ByteSize((f.largest*4+(1<<20)-1)>>20<<20))}), nil
}

// nothing is a source without rows.
type nothing struct{ schema *arrow.Schema }

var _ dataset.Source = (*nothing)(nil)

func (*nothing) Name() string { return "nothing" }
func (*nothing) Version() int { return 1 }
func (*nothing) Params() any  { return struct{}{} }

// Schema implements dataset.Source.
func (n *nothing) Schema(context.Context) (*arrow.Schema, error) { return n.schema, nil }

// Splits implements dataset.Source: there are none.
func (*nothing) Splits(context.Context, dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(func(dataset.Split, error) bool) {}
}

// Open implements dataset.Source; without splits it is never called.
func (*nothing) Open(context.Context, dataset.Runtime, dataset.Split, uint64) (dataset.Reader, error) {
	return nil, errors.New("open nothing: it has no splits")
}
