package dataset

// compose lets a step take over the step that follows it.
func compose(rw *rewriter, n *Node) (*Node, error) {
	if n.Spec == nil || len(n.Inputs) != 1 || !n.Hints.zero() {
		return n, nil
	}
	in := n.Inputs[0]
	c, ok := in.Spec.(Composer)
	if in.Spec == nil || !ok || !rw.only(in) || !in.Hints.zero() {
		return n, nil
	}
	spec, ok := c.Compose(n.Spec)
	if !ok {
		return n, nil
	}
	return &Node{Spec: spec, Inputs: in.Inputs}, nil
}
