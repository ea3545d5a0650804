package trace

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Bounds of a sample.
const (
	growth   = 8     // times more rows are read when none came out
	mostRead = 1_000 // rows of the source
	mostKept = 4_000 // rows that one step may give: flat maps
)

// Stage is the source or one step, and what it did with the sample.
type Stage struct {
	Node *dataset.Node
	Rows *Rows
	// In is how many rows it took; of the source, how many it was asked for.
	In int
	// Dropped are labels of rows that it took and that nothing was made of. Failed are those that it could not process.
	Dropped []string
	Failed  []Failed
	// Mixed says that the rows it gave come from no single one each: a barrier.
	Mixed bool
	// More says that it gave more rows than are kept.
	More bool
}

// Failed is a row that failed.
type Failed struct {
	Label string // of the row, or its place where it has none
	Class string
	Cause string
	Count int64 // of the same class, if not each of them is known
}

// Trace is what became of a sample, source first.
type Trace struct {
	Stages []*Stage
	Read   int  // rows of the source
	Ended  bool // the source has no more
}

// Release frees the rows.
func (t *Trace) Release() {
	for _, s := range t.Stages {
		s.Rows.release()
	}
}

// Run takes rows of the source of node through all steps up to node. opts are those of a run; every failing row is left out.
func Run(ctx context.Context, runner dataset.Runner, node *dataset.Node, rows int, opts dataset.Options) (*Trace, error) {
	chain, err := chainOf(node)
	if err != nil {
		return nil, err
	}
	opts.OnError, opts.MaxErrors, opts.MaxErrorRate = dataset.OnErrorSkip, 0, 0
	opts.Ordered = true
	for n := rows; ; n = min(n*growth, mostRead) {
		t, err := once(ctx, runner, chain, n, opts)
		if err != nil {
			return nil, err
		}
		last := t.Stages[len(t.Stages)-1]
		if last.Rows.Len() > 0 || t.Ended || n >= mostRead || stopped(chain) {
			return t, nil
		}
		t.Release()
	}
}

// chainOf lists the nodes from the source to node.
func chainOf(node *dataset.Node) ([]*dataset.Node, error) {
	var chain []*dataset.Node
	for n := node; ; n = n.Inputs[0] {
		chain = append(chain, n)
		if n.Source != nil {
			slices.Reverse(chain)
			return chain, nil
		}
		if len(n.Inputs) != 1 {
			return nil, dataset.Usagef("trace %s: it has %d inputs, and one can be followed", n.Name(), len(n.Inputs))
		}
	}
}

// stopped says that no number of rows gives one: a limit of none.
func stopped(chain []*dataset.Node) bool {
	return slices.ContainsFunc(chain, func(n *dataset.Node) bool {
		l, ok := n.Spec.(dataset.Limiter)
		return ok && l.Limit() == 0
	})
}

// once reads rows and runs every step on what the one before it gave.
func once(ctx context.Context, runner dataset.Runner, chain []*dataset.Node, rows int, opts dataset.Options) (t *Trace, err error) {
	t = &Trace{}
	defer func() {
		if err != nil {
			t.Release()
		}
	}()
	src, err := read(ctx, runner, chain[0], rows, opts)
	if err != nil {
		return nil, err
	}
	t.Stages, t.Read = append(t.Stages, src), src.Rows.Len()
	t.Ended = src.Rows.Len()+len(src.Failed) < rows
	for _, n := range chain[1:] {
		s, err := step(ctx, runner, n, t.Stages[len(t.Stages)-1].Rows, opts)
		if err != nil {
			return nil, err
		}
		t.Stages = append(t.Stages, s)
	}
	return t, nil
}

// read takes the first rows of a source.
func read(ctx context.Context, runner dataset.Runner, n *dataset.Node, rows int, opts dataset.Options) (*Stage, error) {
	src := n.Source
	if h, ok := src.(dataset.LimitHint); ok {
		src = h.LimitHint(int64(rows))
	}
	schema, err := n.Source.Schema(ctx)
	if err != nil {
		return nil, err
	}
	s := &Stage{Node: n, In: rows, Rows: &Rows{Schema: schema}}
	ids, report, err := gather(ctx, runner, dataset.From(src, runner), s, rows, opts)
	if err != nil {
		return nil, err
	}
	for i := range count(ids) {
		s.Rows.Labels = append(s.Rows.Labels, strconv.Itoa(i+1))
	}
	for _, f := range report.Failures {
		for _, x := range f.Examples {
			s.Failed = append(s.Failed, Failed{Label: x.Where, Class: f.Class, Cause: x.Cause, Count: 1})
		}
	}
	s.More = false
	return s, nil
}

// step runs one operator on rows.
func step(ctx context.Context, runner dataset.Runner, n *dataset.Node, in *Rows, opts dataset.Options) (*Stage, error) {
	d := dataset.From(&sample{in}, runner).Via(n.Spec)
	schema, err := d.Schema(ctx)
	if err != nil {
		return nil, err
	}
	_, barrier := n.Spec.(dataset.Barrier)
	s := &Stage{Node: n, In: in.Len(), Mixed: barrier, Rows: &Rows{Schema: schema}}
	if in.Len() == 0 {
		return s, nil
	}
	ids, report, err := gather(ctx, runner, d, s, mostKept, opts)
	if err != nil {
		return nil, err
	}
	used := s.label(in, ids)
	s.failures(in, report, used)
	if !barrier && !s.More {
		for i, label := range in.Labels {
			if !used[i] {
				s.Dropped = append(s.Dropped, label)
			}
		}
	}
	return s, nil
}

// gather runs a dataset and keeps the first rows in s.
func gather(ctx context.Context, runner dataset.Runner, d dataset.Dataset, s *Stage, most int, opts dataset.Options) ([]block.Identity, *dataset.Report, error) {
	plan, err := dataset.NewPlan(opts, d.To(nil))
	if err != nil {
		return nil, nil, err
	}
	var g gathered
	defer g.release()
	for b, err := range runner.Run(ctx, plan) {
		if err != nil {
			return nil, nil, err
		}
		room, err := g.add(b, most)
		if err != nil {
			return nil, nil, err
		}
		if !room {
			s.More = true
			break
		}
	}
	s.Rows.Record, err = g.record()
	return g.ids, plan.Report, err
}

func count(ids []block.Identity) int {
	n := 0
	for _, id := range ids {
		n += id.Len()
	}
	return n
}

// label names the rows that came out by those that went in, and says which of these are among them.
func (s *Stage) label(in *Rows, ids []block.Identity) (used []bool) {
	used = make([]bool, in.Len())
	for _, id := range ids {
		for i := range id.Len() {
			row := id.At(i)
			at := int(row.Position) - 1
			if s.Mixed || row.File == nil || row.File.Path != samplePath || at < 0 || at >= len(used) {
				s.Rows.Labels = append(s.Rows.Labels, "")
				continue
			}
			used[at] = true
			label := in.Labels[at]
			for _, c := range row.Child {
				label = fmt.Sprintf("%s.%d", label, c+1)
			}
			s.Rows.Labels = append(s.Rows.Labels, label)
		}
	}
	if s.Rows.Record != nil { // blocks whose identity the engine gave
		for n := int(s.Rows.Record.NumRows()); len(s.Rows.Labels) < n; {
			s.Rows.Labels = append(s.Rows.Labels, "")
		}
	}
	return used
}

// failures names the rows that failed, and marks them as accounted for.
func (s *Stage) failures(in *Rows, report *dataset.Report, used []bool) {
	for _, f := range report.Failures {
		for _, x := range f.Examples {
			bad := Failed{Label: x.Where, Class: f.Class, Cause: x.Cause, Count: 1}
			if place, ok := strings.CutPrefix(x.Where, samplePath+" at "); ok {
				if at, err := strconv.Atoi(place); err == nil && at >= 1 && at <= in.Len() {
					bad.Label, used[at-1] = in.Labels[at-1], true
				}
			}
			s.Failed = append(s.Failed, bad)
		}
		if more := f.Count - int64(len(f.Examples)); more > 0 {
			s.Failed = append(s.Failed, Failed{Class: f.Class, Count: more})
		}
	}
}
