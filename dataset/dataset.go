package dataset

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset/block"
)

// Node is one step of a logical plan: a source, or an operator on inputs. Nodes are immutable and shared; a node used as the input
// of two others is read once and its blocks go to both.
type Node struct {
	Source Source // exactly one of Source and Spec is set
	Spec   Spec
	Inputs []*Node
	Hints  Hints
}

// Name is the name of the source or operator.
func (n *Node) Name() string {
	if n.Source != nil {
		return n.Source.Name()
	}
	return n.Spec.Name()
}

// Hints are wishes for one step that change how it runs, never what it gives.
type Hints struct {
	MinWorkers, MaxWorkers int  // 0: automatic
	BatchRows              int  // rows a block that Process receives, at most; 0: as they come
	Separate               bool // keep the step a stage of its own
}

// Option changes the hints of one step.
type Option func(*Hints)

// Concurrency sets the least and the most instances of a step; equal numbers fix it.
func Concurrency(least, most int) Option {
	return func(h *Hints) { h.MinWorkers, h.MaxWorkers = least, most }
}

// BatchSize sets the most rows that a step receives at once.
func BatchSize(rows int) Option { return func(h *Hints) { h.BatchRows = rows } }

// Separate keeps a step a stage of its own, not fused with its neighbours.
func Separate() Option { return func(h *Hints) { h.Separate = true } }

// Dataset is a lazy, immutable description of rows. Nothing runs until a terminal method. Mistakes made while building are kept and
// returned by the terminal. The zero value is not usable; start with From.
type Dataset struct {
	node   *Node
	runner Runner
	err    error
}

// From starts a dataset at a source.
func From(src Source, r Runner) Dataset { return Dataset{node: &Node{Source: src}, runner: r} }

// Failed makes a dataset whose terminals return err.
func Failed(err error, r Runner) Dataset { return Dataset{err: err, runner: r} }

// Err returns the first mistake made while building.
func (d Dataset) Err() error { return d.err }

// Node returns the root of the plan so far.
func (d Dataset) Node() *Node { return d.node }

// Via appends an operator. Further inputs are its ports 1, 2, ….
func (d Dataset) Via(s Spec, more ...Dataset) Dataset { return d.ViaWith(s, nil, more...) }

// ViaWith is Via with options.
func (d Dataset) ViaWith(s Spec, opts []Option, more ...Dataset) Dataset {
	if d.err != nil {
		return d
	}
	n := &Node{Spec: s, Inputs: []*Node{d.node}}
	for _, m := range more {
		if m.err != nil {
			return Dataset{err: m.err, runner: d.runner}
		}
		n.Inputs = append(n.Inputs, m.node)
	}
	for _, o := range opts {
		o(&n.Hints)
	}
	return Dataset{node: n, runner: d.runner}
}

// To ends the dataset in a sink.
func (d Dataset) To(s Sink) Output {
	return Output{Node: d.node, Sink: s, err: d.err, runner: d.runner}
}

// Output is a dataset bound to a sink, or to nothing (its blocks then go to the caller of the runner).
type Output struct {
	Node   *Node
	Sink   Sink
	err    error
	runner Runner
}

// Plan is what a Runner runs: outputs that may share steps, and options.
type Plan struct {
	Outputs []Output
	Options Options
	// Report is filled in while the plan runs and is complete when the runner's sequence ends.
	Report *Report
}

// NewPlan makes a plan of outputs, or returns the first mistake made while building them.
func NewPlan(opts Options, outs ...Output) (*Plan, error) {
	if len(outs) == 0 {
		return nil, Usagef("run plan: it has no sink")
	}
	for _, o := range outs {
		if o.err != nil {
			return nil, o.err
		}
	}
	return &Plan{Outputs: outs, Options: opts, Report: &Report{}}, nil
}

// Runner runs plans. The local executor and the cluster each are one.
type Runner interface {
	// Run yields the blocks of the output that has no sink, if there is one, and ends when all outputs are complete; with sinks
	// only, it yields nothing but possibly one error. A yielded block is valid until the next iteration unless retained. Leaving the
	// loop cancels the run and waits for it.
	Run(ctx context.Context, p *Plan) iter.Seq2[*block.Block, error]
}

// Run runs the output to its end.
func (o Output) Run(ctx context.Context, opts Options) (*Report, error) {
	p, err := NewPlan(opts, o)
	if err != nil {
		return nil, err
	}
	return p.Report, Drain(ctx, o.runner, p)
}

// Drain runs a plan to its end and drops blocks of outputs without a sink.
func Drain(ctx context.Context, r Runner, p *Plan) error {
	for _, err := range r.Run(ctx, p) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Blocks runs the dataset and yields its blocks, each valid until the next iteration unless retained. Leaving the loop cancels the
// run and waits for it.
func (d Dataset) Blocks(ctx context.Context, opts Options) iter.Seq2[*block.Block, error] {
	return func(yield func(*block.Block, error) bool) {
		p, err := NewPlan(opts, d.To(nil))
		if err != nil {
			yield(nil, err)
			return
		}
		for b, err := range d.runner.Run(ctx, p) {
			if !yield(b, err) {
				return
			}
		}
	}
}

// Count runs the dataset and returns the number of its rows.
func (d Dataset) Count(ctx context.Context, opts Options) (int64, error) {
	var n int64
	for b, err := range d.Blocks(ctx, opts) {
		if err != nil {
			return n, err
		}
		n += int64(b.NumRows())
	}
	return n, nil
}

// Schema computes the dataset's schema without running it; sources may read a bounded sample.
func (d Dataset) Schema(ctx context.Context) (*arrow.Schema, error) {
	if d.err != nil {
		return nil, d.err
	}
	return NewSchemas().Of(ctx, d.node)
}

// Schemas computes and remembers the schema of each node.
type Schemas struct{ known map[*Node]*arrow.Schema }

// NewSchemas makes an empty memory.
func NewSchemas() *Schemas { return &Schemas{known: map[*Node]*arrow.Schema{}} }

// Of returns the schema of the rows that n gives. Errors name the step.
func (s *Schemas) Of(ctx context.Context, n *Node) (*arrow.Schema, error) {
	if sc, ok := s.known[n]; ok {
		return sc, nil
	}
	var sc *arrow.Schema
	var err error
	if n.Source != nil {
		sc, err = n.Source.Schema(ctx)
	} else {
		in, ierr := s.Inputs(ctx, n)
		if ierr != nil {
			return nil, ierr
		}
		if sc, err = n.Spec.Check(in); err != nil {
			err = &UsageError{fmt.Errorf("%s: %w", n.Name(), err)}
		}
	}
	if err != nil {
		return nil, err
	}
	s.known[n] = sc
	return sc, nil
}

// Inputs returns the schemas of n's inputs.
func (s *Schemas) Inputs(ctx context.Context, n *Node) ([]*arrow.Schema, error) {
	in := make([]*arrow.Schema, len(n.Inputs))
	for i, c := range n.Inputs {
		var err error
		if in[i], err = s.Of(ctx, c); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Walk calls f once with every node reachable from roots, inputs before what uses them.
func Walk(f func(*Node), roots ...*Node) {
	seen := map[*Node]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, c := range n.Inputs {
			visit(c)
		}
		f(n)
	}
	for _, r := range slices.Clone(roots) {
		visit(r)
	}
}
