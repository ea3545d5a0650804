package dataset

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// project leaves out, at the sources, the columns that nobody reads. It works from the outputs down: what a step is asked for and what it
// reads itself is what its input is asked for.
func project(ctx context.Context, outs []Output) ([]Output, []Change, error) {
	p := &projection{schemas: NewSchemas(), want: map[*Node]*wanted{}}
	var order []*Node
	roots := make([]*Node, len(outs))
	for i, o := range outs {
		roots[i] = o.Node
	}
	Walk(func(n *Node) { order = append(order, n) }, roots...)
	for _, o := range outs {
		p.ask(o.Node, nil)
	}
	for _, n := range slices.Backward(order) {
		if err := p.pass(ctx, n); err != nil {
			return nil, nil, err
		}
	}
	done := map[*Node]*Node{}
	for _, n := range order {
		m, err := p.narrow(ctx, n, done)
		if err != nil {
			return nil, nil, err
		}
		done[n] = m
	}
	outs = slices.Clone(outs)
	for i := range outs {
		outs[i].Node = done[outs[i].Node]
	}
	return outs, p.changes, nil
}

type wanted struct {
	all  bool
	cols map[string]bool
}

type projection struct {
	schemas *Schemas
	want    map[*Node]*wanted
	changes []Change
}

// ask adds columns to what is wanted of n; nil is all.
func (p *projection) ask(n *Node, cols []string) {
	w := p.want[n]
	if w == nil {
		w = &wanted{cols: map[string]bool{}}
		p.want[n] = w
	}
	if cols == nil {
		w.all = true
	}
	for _, c := range cols {
		w.cols[c] = true
	}
}

// list returns what is wanted, in the order of the schema; nil is all.
func (w *wanted) list(s *arrow.Schema) []string {
	if w.all {
		return nil
	}
	out := []string{}
	for _, f := range s.Fields() {
		if w.cols[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}

// pass asks n's inputs for what n needs.
func (p *projection) pass(ctx context.Context, n *Node) error {
	if n.Spec == nil {
		return nil
	}
	c, ok := n.Spec.(Columner)
	if !ok || len(n.Inputs) != 1 {
		for _, in := range n.Inputs {
			p.ask(in, nil)
		}
		return nil
	}
	out, err := p.schemas.Of(ctx, n)
	if err != nil {
		return err
	}
	in, err := p.schemas.Of(ctx, n.Inputs[0])
	if err != nil {
		return err
	}
	p.ask(n.Inputs[0], c.Columns(in, p.want[n].list(out)))
	return nil
}

// narrow rebuilds n on narrowed inputs and narrows it itself if it is a source.
func (p *projection) narrow(ctx context.Context, n *Node, done map[*Node]*Node) (*Node, error) {
	m := n
	for i, in := range n.Inputs {
		if done[in] != in {
			m = m.with(i, done[in])
		}
	}
	src, ok := n.Source.(Projectable)
	if n.Source == nil || !ok {
		return m, nil
	}
	full, err := n.Source.Schema(ctx)
	if err != nil {
		return nil, err
	}
	cols := p.want[n].list(full)
	if cols == nil || len(cols) == full.NumFields() {
		return m, nil
	}
	narrow, err := src.Project(cols)
	if err != nil {
		return nil, err
	}
	p.changes = append(p.changes, Change{"read only the columns that are used", noteNarrowed(n.Source.Name(), full, cols)})
	return &Node{Source: narrow, Hints: n.Hints}, nil
}
