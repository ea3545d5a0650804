package dataset

// pushFilter moves a filter before the step it follows when that step leaves the filter's columns alone. A filter that may fail on
// a row never moves across a step that drops rows: it would be evaluated on rows that the user had filtered out.
func pushFilter(rw *rewriter, n *Node) (*Node, error) {
	p, ok := n.Spec.(Predicate)
	if !ok || len(n.Inputs) != 1 || !n.Hints.zero() {
		return n, nil
	}
	in := n.Inputs[0]
	if in.Spec == nil || len(in.Inputs) != 1 || !rw.only(in) {
		return n, nil
	}
	c, ok := in.Spec.(FilterCommuter)
	if !ok || !c.CommutesWithFilter(p.Predicate().Columns()) {
		return n, nil
	}
	if p.Predicate().Fallible() {
		o, ok := in.Spec.(OneToOne)
		if !ok || !o.RowsOneToOne() {
			return n, nil
		}
	}
	if _, also := in.Spec.(Predicate); also {
		return n, nil // two filters stay in the order in which they were written
	}
	below, err := rw.schemas.Of(rw.ctx, in.Inputs[0])
	if err != nil {
		return nil, err
	}
	for _, col := range p.Predicate().Columns() {
		if len(below.FieldIndices(col)) == 0 {
			return n, nil
		}
	}
	moved, err := pushFilter(rw, n.with(0, in.Inputs[0]))
	if err != nil {
		return nil, err
	}
	return in.with(0, moved), nil
}
