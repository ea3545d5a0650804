package prep

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
)

// Raw gives a column of numbers, lists of numbers, tensors, texts or bytes to a model as it is.
type Raw struct {
	Tensor string // the input; empty means the only one
	Column string
}

// Columns implements Feature.
func (r *Raw) Columns() []string { return []string{r.Column} }

// Check implements Feature.
func (r *Raw) Check(s *arrow.Schema) error {
	_, _, err := r.find(s)
	return err
}

func (r *Raw) find(s *arrow.Schema) (at int, c *cells, err error) {
	if at, err = dataset.FieldIndex(s, r.Column); err != nil {
		return 0, nil, err
	}
	if c, err = cellsOf(s.Field(at).Type); err != nil {
		return 0, nil, fmt.Errorf("column %q: %w", r.Column, err)
	}
	return at, c, nil
}

// Bind implements Feature.
func (r *Raw) Bind(s *arrow.Schema, m Target) (Bound, error) {
	at, c, err := r.find(s)
	if err != nil {
		return nil, err
	}
	in, ok := m.input(r.Tensor)
	if !ok {
		return nil, fmt.Errorf("the model has no input %q; it has %s", r.Tensor, inputNames(m.Inputs))
	}
	if c.text != (in.Type == gpu.Bytes) {
		return nil, fmt.Errorf("column %q is %s, and input %q of the model takes %s%v", r.Column, s.Field(at).Type, in.Name, in.Type, in.Shape)
	}
	return &rawBound{column: r.Column, at: at, cells: c, in: in, row: m.row(in), batched: m.Batched}, nil
}

func inputNames(in []gpu.TensorInfo) string {
	out := ""
	for i, t := range in {
		if i > 0 {
			out += ", "
		}
		out += fmt.Sprintf("%s %s%v", t.Name, t.Type, t.Shape)
	}
	return out
}

type rawBound struct {
	column  string
	at      int
	cells   *cells
	in      gpu.TensorInfo
	row     []int64
	batched bool
}

// Tensors implements Bound.
func (b *rawBound) Tensors() []string { return []string{b.in.Name} }

// Null implements Bound.
func (b *rawBound) Null(r Row) bool { return r.Block.Column(b.at).IsNull(r.Index) }

// Measure implements Bound.
func (b *rawBound) Measure(r Row) (Size, error) {
	shape, err := b.shape(r)
	if err != nil {
		return Size{}, err
	}
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	size := Size{Bytes: n * int64(b.in.Type.Size())}
	if b.cells.text {
		size.Bytes = int64(len(b.cells.bytes(r.Block.Column(b.at), r.Index))) + 24
	}
	if slices.Contains(b.row, -1) {
		size.Key = fmt.Sprint(shape)
	}
	return size, nil
}

// shape fits the cell's own shape to what the model takes for a row.
func (b *rawBound) shape(r Row) ([]int64, error) {
	_, n, own := b.cells.span(r.Block.Column(b.at), r.Index)
	if fits(b.row, own) {
		return own, nil
	}
	have, free := int64(1), -1
	for i, d := range b.row {
		switch {
		case d >= 0:
			have *= d
		case free < 0:
			free = i
		default:
			free = len(b.row)
		}
	}
	shape := slices.Clone(b.row)
	switch {
	case free < 0 && have == int64(n):
		return shape, nil
	case free >= 0 && free < len(b.row) && have > 0 && int64(n)%have == 0 && n > 0:
		shape[free] = int64(n) / have
		return shape, nil
	}
	return nil, fmt.Errorf("column %q has %d values of shape %v; input %q takes %v a row", b.column, n, own, b.in.Name, b.row)
}

// fits says whether a shape matches one with free dimensions.
func fits(want, have []int64) bool {
	return slices.EqualFunc(want, have, func(w, h int64) bool { return w < 0 || w == h })
}

// Loader implements Bound.
func (b *rawBound) Loader() Loader { return &rawLoader{rawBound: b} }

type rawLoader struct {
	*rawBound
	size int // bytes a row
}

// Begin implements Loader.
func (l *rawLoader) Begin(rows []Row) ([]gpu.Tensor, error) {
	shape, err := l.shape(rows[0])
	if err != nil {
		return nil, err
	}
	l.size = l.in.Type.Size()
	for _, d := range shape {
		l.size *= int(d)
	}
	return []gpu.Tensor{{Name: l.in.Name, Type: l.in.Type, Shape: whole(l.batched, len(rows), shape)}}, nil
}

// Fill implements Loader.
func (l *rawLoader) Fill(_ context.Context, slot int, r Row, t []gpu.Tensor) error {
	col := r.Block.Column(l.at)
	if l.cells.text {
		t[0].Strings[slot] = l.cells.bytes(col, r.Index)
		return nil
	}
	from, n, _ := l.cells.span(col, r.Index)
	if err := l.cells.put(slotBytes(&t[0], slot, l.size), l.in.Type, col, from, n); err != nil {
		return fmt.Errorf("column %q: %w", l.column, err)
	}
	return nil
}

// Close implements Loader.
func (*rawLoader) Close() {}

// cells reads the numbers or bytes of a column.
type cells struct {
	text  bool
	bytes func(a arrow.Array, i int) []byte
	// span is where the values of row i are among all values, and their shape.
	span func(a arrow.Array, i int) (from, n int, shape []int64)
	// values is the array of numbers.
	values func(a arrow.Array) arrow.Array
}

func cellsOf(dt arrow.DataType) (*cells, error) {
	if ext, ok := dt.(arrow.ExtensionType); ok {
		return extensionCells(ext)
	}
	self := func(a arrow.Array) arrow.Array { return a }
	switch t := dt.(type) {
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		one := func(_ arrow.Array, i int) (int, int, []int64) { return i, 1, nil }
		return &cells{text: true, bytes: bytesOf, span: one}, nil
	case *arrow.ListType, *arrow.LargeListType, *arrow.FixedSizeListType:
		elem := t.(arrow.ListLikeType).Elem()
		if !numeric(elem) {
			return nil, fmt.Errorf("it holds lists of %s; a model takes numbers, text or bytes", elem)
		}
		return &cells{span: listSpan, values: func(a arrow.Array) arrow.Array { return a.(array.ListLike).ListValues() }}, nil
	}
	if !numeric(dt) {
		return nil, fmt.Errorf("it is %s; a model takes numbers, text or bytes, or needs a card that says how to make them of it (card=NAME)", dt)
	}
	return &cells{span: func(_ arrow.Array, i int) (int, int, []int64) { return i, 1, nil }, values: self}, nil
}

// extensionCells reads tensors by their shape; pictures need a card.
func extensionCells(t arrow.ExtensionType) (*cells, error) {
	if arrow.TypeEqual(t, block.Image) || arrow.TypeEqual(t, block.Pixels) {
		return nil, fmt.Errorf("it holds pictures (%s): name a card that says how to make tensors of them (card=NAME), or put resize and to-tensor before", t)
	}
	c, err := cellsOf(t.StorageType())
	if err != nil {
		return nil, err
	}
	inner := *c
	storage := func(a arrow.Array) arrow.Array { return a.(array.ExtensionArray).Storage() }
	c.span = func(a arrow.Array, i int) (int, int, []int64) { return inner.span(storage(a), i) }
	if inner.text {
		c.bytes = func(a arrow.Array, i int) []byte { return inner.bytes(storage(a), i) }
		return c, nil
	}
	c.values = func(a arrow.Array) arrow.Array { return inner.values(storage(a)) }
	if shaped, ok := t.(interface{ Shape() []int }); ok {
		shape := make([]int64, 0, 4)
		for _, d := range shaped.Shape() {
			shape = append(shape, int64(d))
		}
		c.span = func(a arrow.Array, i int) (int, int, []int64) {
			from, n, _ := inner.span(storage(a), i)
			return from, n, shape
		}
	}
	return c, nil
}

func listSpan(a arrow.Array, i int) (int, int, []int64) {
	from, to := a.(array.ListLike).ValueOffsets(i)
	return int(from), int(to - from), []int64{to - from}
}

func bytesOf(a arrow.Array, i int) []byte {
	switch a := a.(type) {
	case *array.Binary:
		return a.Value(i)
	case *array.LargeBinary:
		return a.Value(i)
	case *array.String:
		return []byte(a.Value(i))
	case *array.LargeString:
		return []byte(a.Value(i))
	}
	return nil
}

// storage strips extension types.
func storage(a arrow.Array) arrow.Array {
	if e, ok := a.(array.ExtensionArray); ok {
		return e.Storage()
	}
	return a
}
