package dataset

import (
	"context"
	"slices"
)

// rule rewrites a plan; it returns the new root for every output's node.
type rule struct {
	name  string
	apply func(*rewriter, *Node) (*Node, error)
	note  func(was, now *Node) string // what it did, for people; "" for nothing worth saying
}

// Change is one thing that the optimizer did to a plan, for people.
type Change struct {
	Rule string // "push filters down"
	Text string // "where width >= 256 runs before resize"
}

// rules in the order in which they run. Each goes over the whole plan once, inputs first, unless it says otherwise.
var rules = []rule{
	{"push filters down", pushFilter, notePushed},
	{"compose steps", compose, noteComposed},
	{"prune sources", pruneSource, notePruned},
	{"limit sources", limitSource, noteLimited},
}

// Optimize rewrites the outputs of a plan so that less is read and computed, without changing their rows. Rules ask Specs what they can do
// and never name one. Nodes that are shared by several outputs stay shared.
func Optimize(ctx context.Context, outs []Output) ([]Output, error) {
	outs, _, err := OptimizeNoted(ctx, outs)
	return outs, err
}

// OptimizeNoted is Optimize that also tells what it did, in the order in which it did it.
func OptimizeNoted(ctx context.Context, outs []Output) ([]Output, []Change, error) {
	outs = slices.Clone(outs)
	var changes []Change
	for _, r := range rules {
		rw := newRewriter(ctx, outs)
		for i := range outs {
			n, err := rw.rewrite(outs[i].Node, r)
			if err != nil {
				return nil, nil, err
			}
			outs[i].Node = n
		}
		changes = append(changes, rw.changes...)
	}
	outs, narrowed, err := project(ctx, outs)
	return outs, append(changes, narrowed...), err
}

// rewriter carries one rule over a plan.
type rewriter struct {
	ctx     context.Context
	users   map[*Node]int
	done    map[*Node]*Node
	schemas *Schemas
	changes []Change
}

func newRewriter(ctx context.Context, outs []Output) *rewriter {
	rw := &rewriter{ctx: ctx, users: map[*Node]int{}, done: map[*Node]*Node{}, schemas: NewSchemas()}
	roots := make([]*Node, len(outs))
	for i, o := range outs {
		roots[i] = o.Node
		rw.users[o.Node]++
	}
	Walk(func(n *Node) {
		for _, in := range n.Inputs {
			rw.users[in]++
		}
	}, roots...)
	return rw
}

// rewrite applies a rule to n's inputs and then to n.
func (rw *rewriter) rewrite(n *Node, r rule) (*Node, error) {
	if m, ok := rw.done[n]; ok {
		return m, nil
	}
	m := n
	for i, in := range n.Inputs {
		c, err := rw.rewrite(in, r)
		if err != nil {
			return nil, err
		}
		if c != in {
			m = m.with(i, c)
		}
	}
	rw.users[m] = rw.users[n]
	was := m
	m, err := r.apply(rw, m)
	if err != nil {
		return nil, err
	}
	if m != was {
		if text := r.note(was, m); text != "" {
			rw.changes = append(rw.changes, Change{r.name, text})
		}
	}
	rw.users[m] = rw.users[n]
	rw.done[n] = m
	return m, nil
}

// with returns a copy of n with another input i.
func (n *Node) with(i int, in *Node) *Node {
	m := *n
	m.Inputs = slices.Clone(n.Inputs)
	m.Inputs[i] = in
	return &m
}

// only says whether in is used by nobody but one node.
func (rw *rewriter) only(in *Node) bool { return rw.users[in] <= 1 }

func (h Hints) zero() bool { return h == Hints{} }

// Replace rewrites the outputs of a plan with other Specs, which must take and give the columns of those they stand for.
func Replace(outs []Output, with func(Spec) Spec) []Output {
	outs = slices.Clone(outs)
	done := map[*Node]*Node{}
	for i := range outs {
		outs[i].Node = replace(outs[i].Node, with, done)
	}
	return outs
}

func replace(n *Node, with func(Spec) Spec, done map[*Node]*Node) *Node {
	if m, ok := done[n]; ok {
		return m
	}
	m := n
	for i, in := range n.Inputs {
		if c := replace(in, with, done); c != in {
			m = m.with(i, c)
		}
	}
	if n.Spec != nil {
		if s := with(n.Spec); s != n.Spec {
			c := *m
			c.Spec = s
			m = &c
		}
	}
	done[n] = m
	return m
}
