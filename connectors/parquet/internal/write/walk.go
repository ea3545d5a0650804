package write

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// Column writes one top-level field: one leaf, or all leaves of a nested one.
type Column struct {
	field  *schema.Field
	leaves []*Leaf
	paths  [][]int // for each leaf, which child is taken at each group
}

// NewColumn groups the leaves of f, in column order.
func NewColumn(f *schema.Field, leaves []*Leaf) *Column {
	c := &Column{field: f, leaves: leaves}
	var walk func(f *schema.Field, path []int)
	walk = func(f *schema.Field, path []int) {
		if f.Kind == schema.Leaf {
			c.paths = append(c.paths, append([]int(nil), path...))
			return
		}
		for i, child := range f.Children {
			walk(child, append(path, i))
		}
	}
	walk(f, nil)
	return c
}

// Leaves returns the leaves of the column.
func (c *Column) Leaves() []*Leaf { return c.leaves }

// Append appends rows [lo, hi) of an array of the field's type.
func (c *Column) Append(a arrow.Array, lo, hi int) error {
	a = storage(a)
	if c.field.Kind == schema.Leaf {
		return c.leaves[0].AppendFlat(a.Data(), lo, hi)
	}
	for i, l := range c.leaves {
		w := walker{leaf: l}
		if err := w.resolve(c.field, a, c.paths[i]); err != nil {
			return err
		}
		for row := lo; row < hi; row++ {
			if err := w.walk(0, row, row+1, 0, 0, 0); err != nil {
				return fmt.Errorf("%s: %w", l.col.Path, err)
			}
			if err := l.review(); err != nil {
				return fmt.Errorf("%s: %w", l.col.Path, err)
			}
		}
	}
	return nil
}

func storage(a arrow.Array) arrow.Array {
	for {
		e, ok := a.(array.ExtensionArray)
		if !ok {
			return a
		}
		a = e.Storage()
	}
}

// step is one group or leaf on the way to a leaf's values.
type step struct {
	nullable bool
	list     array.ListLike // nil for structs and the leaf
	bits     []byte         // validity, nil when there are no nulls
	off      int            // of validity
}

// walker produces the levels and values of one leaf from one array.
type walker struct {
	leaf  *Leaf
	steps []step
	data  arrow.ArrayData // of the leaf
	null  bool            // the leaf is of the null type
}

func newStep(nullable bool, a arrow.Array) step {
	s := step{nullable: nullable}
	if a.NullN() > 0 && a.DataType().ID() != arrow.NULL {
		s.bits, s.off = a.NullBitmapBytes(), a.Data().Offset()
	}
	return s
}

// resolve collects the arrays on the path from f to the leaf.
func (w *walker) resolve(f *schema.Field, a arrow.Array, path []int) error {
	a = storage(a)
	s := newStep(f.Arrow.Nullable, a)
	switch f.Kind {
	case schema.Leaf:
		w.steps = append(w.steps, s)
		w.data = a.Data()
		w.null = a.DataType().ID() == arrow.NULL
		return nil
	case schema.Struct:
		st, ok := a.(*array.Struct)
		if !ok {
			return fmt.Errorf("array of %s where a struct was declared", a.DataType())
		}
		w.steps = append(w.steps, s)
		return w.resolve(f.Children[path[0]], st.Field(path[0]), path[1:])
	}
	list, ok := a.(array.ListLike)
	if !ok {
		return fmt.Errorf("array of %s where a list was declared", a.DataType())
	}
	s.list = list
	w.steps = append(w.steps, s)
	elem := list.ListValues()
	if f.Kind == schema.Map {
		elem = elem.(*array.Struct).Field(path[0])
	}
	return w.resolve(f.Children[path[0]], elem, path[1:])
}

// walk writes slots [lo, hi) of step d. rep is the repetition level of the
// first of them, next that of the others; def the level reached so far.
func (w *walker) walk(d, lo, hi int, rep, next, def byte) error {
	s := &w.steps[d]
	if s.bits != nil && !s.nullable {
		for i := lo; i < hi; i++ {
			if !bitutil.BitIsSet(s.bits, s.off+i) {
				return fmt.Errorf("a field that is not nullable has a null")
			}
		}
	}
	present := def
	if s.nullable {
		present++
	}
	if d == len(w.steps)-1 {
		return w.values(s, lo, hi, rep, next, def, present)
	}
	if s.bits == nil && s.list == nil {
		return w.walk(d+1, lo, hi, rep, next, present)
	}
	for i := lo; i < hi; i++ {
		switch {
		case s.bits != nil && !bitutil.BitIsSet(s.bits, s.off+i):
			w.leaf.level(rep, def)
		case s.list == nil:
			if err := w.walk(d+1, i, i+1, rep, next, present); err != nil {
				return err
			}
		default:
			from, to := s.list.ValueOffsets(i)
			if from == to {
				w.leaf.level(rep, present)
				break
			}
			if err := w.walk(d+1, int(from), int(to), rep, next+1, present+1); err != nil {
				return err
			}
		}
		rep = next
	}
	return nil
}

// values writes slots of the leaf itself.
func (w *walker) values(s *step, lo, hi int, rep, next, def, present byte) error {
	l := w.leaf
	for i := lo; i < hi; {
		null := w.null || (s.bits != nil && !bitutil.BitIsSet(s.bits, s.off+i))
		if null {
			l.level(rep, def)
			rep = next
			i++
			continue
		}
		j := i + 1
		for j < hi && (s.bits == nil || bitutil.BitIsSet(s.bits, s.off+j)) {
			j++
		}
		for k := i; k < j; {
			n, err := l.put(l, w.data, k, j)
			if err != nil {
				return err
			}
			k += n
		}
		for range j - i {
			l.reps, l.defs = append(l.reps, rep), append(l.defs, present)
			rep = next
		}
		l.levels += j - i
		i = j
	}
	return nil
}

// level notes a slot without a value.
func (l *Leaf) level(rep, def byte) {
	l.reps, l.defs = append(l.reps, rep), append(l.defs, def)
	l.levels++
	l.nulls++
}
