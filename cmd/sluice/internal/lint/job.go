package lint

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

// Bounds of what is read.
const (
	mostFiles  = 20_000
	listTime   = 3 * time.Second
	sampleRows = 2_000
	sampleTime = 5 * time.Second
)

// Job is a pipeline that checks, and the options it would run with.
type Job struct {
	Parsed  *pipeline.Pipeline
	Built   *pipeline.Built
	Runner  dataset.Runner
	Options dataset.Options
	Memory  int64 // bytes

	Steps []Step // without the source
	files *files
}

// Step is one step of the pipeline.
type Step struct {
	Text    string
	Pos     pipeline.Pos
	Node    *dataset.Node
	In, Out *arrow.Schema
	// Kept says that the optimizer leaves it where it was written, behind the step before it.
	Kept bool
	// Want are the columns of its output that are read behind it; nil means all.
	Want []string
}

// prepare finds the schema of every step, what is read of it, and what the optimizer moves.
func (j *Job) prepare(ctx context.Context) error {
	node := j.Built.Dataset.Node()
	nodes := make([]*dataset.Node, len(j.Parsed.Steps))
	for i := len(nodes) - 1; i >= 0; i-- {
		if node.Spec == nil || len(node.Inputs) != 1 {
			return fmt.Errorf("check pipeline: step %d has no input", i+1)
		}
		nodes[i], node = node, node.Inputs[0]
	}
	schemas := dataset.NewSchemas()
	for i, n := range nodes {
		out, err := schemas.Of(ctx, n)
		if err != nil {
			return err
		}
		in, err := schemas.Of(ctx, n.Inputs[0])
		if err != nil {
			return err
		}
		s := &j.Parsed.Steps[i]
		j.Steps = append(j.Steps, Step{Text: s.String(), Pos: s.Pos, Node: n, In: in, Out: out})
	}
	var want []string
	for i := len(j.Steps) - 1; i >= 0; i-- {
		s := &j.Steps[i]
		s.Want = want
		c, ok := s.Node.Spec.(dataset.Columner)
		if want = nil; ok {
			want = c.Columns(s.In, s.Want)
		}
	}
	return j.optimized(ctx)
}

// optimized looks where the filters end up.
func (j *Job) optimized(ctx context.Context) error {
	outs, err := dataset.Optimize(ctx, []dataset.Output{j.Built.Dataset.To(nil)})
	if err != nil {
		return err
	}
	kept := map[dataset.Spec]dataset.Spec{} // a step and the one before it
	for n := outs[0].Node; n.Spec != nil; n = n.Inputs[0] {
		kept[n.Spec] = n.Inputs[0].Spec
	}
	for i := range j.Steps {
		var before dataset.Spec
		if i > 0 {
			before = j.Steps[i-1].Node.Spec
		}
		now, ok := kept[j.Steps[i].Node.Spec]
		j.Steps[i].Kept = ok && now == before
	}
	return nil
}

// used says whether a column is read behind the step.
func (s *Step) used(column string) bool {
	if s.Want == nil {
		return true
	}
	for _, w := range s.Want {
		if w == column {
			return true
		}
	}
	return false
}

// fresh lists the columns that the step adds or changes.
func (s *Step) fresh() []string {
	var out []string
	for _, f := range s.Out.Fields() {
		old, ok := s.In.FieldsByName(f.Name)
		if !ok || !arrow.TypeEqual(old[0].Type, f.Type) {
			out = append(out, f.Name)
		}
	}
	return out
}

// files are those of the source, as far as they were listed.
type files struct {
	count   int
	more    bool // there are others
	whole   bool // each is one row
	largest int64
	path    string // of the largest
	paths   []string
}

// listed lists the files of the source once, for a bounded time.
func (j *Job) listed(ctx context.Context) (*files, error) {
	if j.files != nil {
		return j.files, nil
	}
	f := &files{whole: true}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	last := ""
	for s, err := range j.source().Splits(ctx, dataset.Cursor{}) {
		if ctx.Err() != nil {
			f.more = true
			break
		}
		if err != nil {
			return nil, err
		}
		for _, r := range s.Ranges {
			f.whole = f.whole && r.Start == 0 && r.End == 1
			if r.File.Path == last {
				continue
			}
			last = r.File.Path
			f.count++
			if len(f.paths) < 100 {
				f.paths = append(f.paths, last)
			}
			if r.File.Size > f.largest {
				f.largest, f.path = r.File.Size, last
			}
		}
		if f.count >= mostFiles {
			f.more = true
			break
		}
	}
	j.files = f
	return f, nil
}

// source is the source of the pipeline.
func (j *Job) source() dataset.Source {
	n := j.Built.Dataset.Node()
	for n.Source == nil {
		n = n.Inputs[0]
	}
	return n.Source
}
