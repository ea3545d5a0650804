package dataset

// pruneSource tells a source of the filter that follows it, so that it can skip what cannot match. The filter stays.
func pruneSource(rw *rewriter, n *Node) (*Node, error) {
	p, ok := n.Spec.(Predicate)
	if !ok || len(n.Inputs) != 1 {
		return n, nil
	}
	in := n.Inputs[0]
	src, ok := in.Source.(Prunable)
	if in.Source == nil || !ok || !rw.only(in) {
		return n, nil
	}
	return n.with(0, &Node{Source: src.Prune(p.Predicate()), Hints: in.Hints}), nil
}

// limitSource tells a source that only the first rows are wanted.
func limitSource(rw *rewriter, n *Node) (*Node, error) {
	l, ok := n.Spec.(Limiter)
	if !ok || len(n.Inputs) != 1 {
		return n, nil
	}
	in := n.Inputs[0]
	src, ok := in.Source.(LimitHint)
	if in.Source == nil || !ok || !rw.only(in) {
		return n, nil
	}
	return n.with(0, &Node{Source: src.LimitHint(l.Limit()), Hints: in.Hints}), nil
}
