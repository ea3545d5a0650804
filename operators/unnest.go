package operators

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// UnnestParams are the parameters of unnest.
type UnnestParams struct {
	Column    string `json:"column" arg:"word" doc:"a list or struct column"`
	KeepEmpty bool   `json:"keep_empty,omitempty" doc:"keep rows whose list is null or empty, with a null element"`
}

func init() {
	define(dataset.Def{
		Name: "unnest",
		Doc:  "a row for each element of a list, or columns for the fields of a struct",
		Help: "A list column gives one row for each element; the other columns are repeated, and rows whose list is null or empty leave unless keep_empty=true. " +
			"A map gives structs of key and value. A struct column is replaced, in its place, by columns for its fields; a null struct gives nulls.",
		Example: "unnest tags",
	}, UnnestParams{}, Unnest)
}

// Unnest makes a row of each element of a list column, or columns of the fields of a struct column.
func Unnest(p UnnestParams) (dataset.Spec, error) {
	if p.Column == "" {
		return nil, errors.New("it needs a list or struct column: unnest tags")
	}
	return &unnest{UnnestParams: p}, nil
}

type unnest struct {
	rowwise
	UnnestParams
}

var (
	_ dataset.Spec           = (*unnest)(nil)
	_ dataset.Columner       = (*unnest)(nil)
	_ dataset.FilterCommuter = (*unnest)(nil)
)

func (*unnest) Name() string { return "unnest" }

func (u *unnest) Params() any { return u.UnnestParams }

// Columns implements dataset.Columner. Columns that the input lacks come out of the struct.
func (u *unnest) Columns(in *arrow.Schema, want []string) []string {
	if want == nil {
		return nil
	}
	need := []string{}
	for _, c := range want {
		if in.HasField(c) {
			need = append(need, c)
		}
	}
	return needed(need, u.Column)
}

// CommutesWithFilter implements dataset.FilterCommuter: the other columns are repeated as they are.
func (u *unnest) CommutesWithFilter(columns []string) bool {
	return !slices.Contains(columns, u.Column)
}

func (u *unnest) Check(in []*arrow.Schema) (*arrow.Schema, error) {
	s, err := one(in)
	if err != nil {
		return nil, err
	}
	at, err := dataset.FieldIndex(s, u.Column)
	if err != nil {
		return nil, err
	}
	fields := s.Fields()
	md := s.Metadata()
	switch t := fields[at].Type.(type) {
	case *arrow.StructType:
		return u.widened(s, at, t)
	case arrow.ListLikeType:
		fields[at] = arrow.Field{Name: u.Column, Type: t.Elem(), Nullable: true}
		return arrow.NewSchema(fields, &md), nil
	}
	return nil, fmt.Errorf("column %q is %s; unnest takes lists and structs", u.Column, fields[at].Type)
}

// widened puts the struct's fields in the place of column at.
func (u *unnest) widened(s *arrow.Schema, at int, t *arrow.StructType) (*arrow.Schema, error) {
	fields := append([]arrow.Field{}, s.Fields()[:at]...)
	for _, f := range t.Fields() {
		f.Nullable = true
		fields = append(fields, f)
	}
	fields = append(fields, s.Fields()[at+1:]...)
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.Name] {
			return nil, fmt.Errorf("field %q of %q would be a second column of that name; rename or drop the first", f.Name, u.Column)
		}
		seen[f.Name] = true
	}
	md := s.Metadata()
	return arrow.NewSchema(fields, &md), nil
}

func (u *unnest) New(in []*arrow.Schema) (dataset.Operator, error) {
	out, err := u.Check(in)
	if err != nil {
		return nil, err
	}
	at := in[0].FieldIndices(u.Column)[0]
	if _, ok := in[0].Field(at).Type.(*arrow.StructType); ok {
		return &stateless{process: func(_ context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
			return widen(rt, b, out, at, emit)
		}}, nil
	}
	return &stateless{process: func(ctx context.Context, rt dataset.Runtime, b *block.Block, emit dataset.Emit) error {
		e, err := u.expand(b, at)
		if err != nil || len(e.parents) == 0 {
			return err
		}
		return e.emit(ctx, rt, out, emit)
	}}, nil
}

// widen replaces a struct column by its fields. Where the struct is null, so are they.
func widen(rt dataset.Runtime, b *block.Block, out *arrow.Schema, at int, emit dataset.Emit) error {
	s := b.Column(at).(*array.Struct)
	fields := make([]arrow.Array, s.NumField())
	for f := range fields {
		fields[f] = outer(rt, s, s.Field(f))
	}
	cols := append([]arrow.Array{}, b.Record().Columns()[:at]...)
	cols = append(cols, fields...)
	cols = append(cols, b.Record().Columns()[at+1:]...)
	rec := block.FromColumns(out, cols, b.NumRows())
	for _, f := range fields {
		f.Release()
	}
	return emit(b.Replace(rec))
}

// outer returns field f of s, null also where s is.
func outer(rt dataset.Runtime, s *array.Struct, f arrow.Array) arrow.Array {
	d := f.Data().(*array.Data)
	if s.NullN() == 0 || f.DataType().ID() == arrow.NULL {
		f.Retain()
		return f
	}
	valid := memory.NewResizableBuffer(rt.Allocator())
	defer valid.Release()
	valid.Resize((d.Offset() + d.Len() + 7) / 8)
	bits := valid.Bytes()
	clear(bits)
	nulls := 0
	for i := range d.Len() {
		if s.IsNull(i) || f.IsNull(i) {
			nulls++
			continue
		}
		x := d.Offset() + i
		bits[x/8] |= 1 << (x % 8)
	}
	bufs := append([]*memory.Buffer{valid}, d.Buffers()[1:]...)
	var out *array.Data
	if dict, _ := d.Dictionary().(*array.Data); dict != nil {
		out = array.NewDataWithDictionary(d.DataType(), d.Len(), bufs, nulls, d.Offset(), dict)
	} else {
		out = array.NewData(d.DataType(), d.Len(), bufs, d.Children(), nulls, d.Offset())
	}
	defer out.Release()
	return array.MakeFromData(out)
}

// expansion says which rows and elements become rows.
type expansion struct {
	b       *block.Block
	at      int
	list    array.ListLike
	parents []uint32
	items   []uint32 // place among the list's values; noItem where there is none
	empty   bool     // some have none
}

const noItem = math.MaxUint32

func (u *unnest) expand(b *block.Block, at int) (*expansion, error) {
	e := &expansion{b: b, at: at, list: b.Column(at).(array.ListLike)}
	for i := range b.NumRows() {
		from, to := int64(0), int64(0)
		if !e.list.IsNull(i) {
			from, to = e.list.ValueOffsets(i)
		}
		if from == to && u.KeepEmpty {
			e.parents, e.items, e.empty = append(e.parents, uint32(i)), append(e.items, noItem), true
		}
		for x := from; x < to; x++ {
			e.parents, e.items = append(e.parents, uint32(i)), append(e.items, uint32(x))
		}
		if to >= noItem || len(e.parents) >= noItem {
			return nil, fmt.Errorf("unnest rows: more than %d elements in one block; use smaller blocks", uint32(noItem))
		}
	}
	return e, nil
}

// emit makes blocks of a size that a block should have; all of them are parts of one identity, so that the ordinals of elements go on from block
// to block.
func (e *expansion) emit(ctx context.Context, rt dataset.Runtime, out *arrow.Schema, emit dataset.Emit) error {
	id := e.b.Identity().FlatMap(e.parents)
	size := e.rowBytes()
	for from := 0; from < len(e.parents); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		to, bytes := from, int64(0)
		for to < len(e.parents) && to-from < rt.BlockRows() && (to == from || bytes+size(to) <= rt.BlockBytes()) {
			bytes += size(to)
			to++
		}
		rec, err := e.record(rt, out, from, to)
		if err != nil {
			return err
		}
		if err := emit(block.New(rec, id.Slice(from, to-from))); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// rowBytes estimates the bytes of an output row: the repeated columns and an element of average size.
func (e *expansion) rowBytes() func(i int) int64 {
	rest := make([]func(int) int64, 0, e.b.NumCols())
	for c := range e.b.NumCols() {
		if c != e.at {
			rest = append(rest, elementBytes(e.b.Column(c)))
		}
	}
	item := elementBytes(e.list.ListValues())
	return func(i int) int64 {
		n := int64(0)
		for _, f := range rest {
			n += f(int(e.parents[i]))
		}
		if e.items[i] != noItem {
			n += item(int(e.items[i]))
		}
		return n
	}
}

// elementBytes returns how large single elements are: exact for text and bytes, the average for others.
func elementBytes(a arrow.Array) func(i int) int64 {
	switch a := a.(type) {
	case array.ExtensionArray:
		return elementBytes(a.Storage())
	case *array.String:
		return func(i int) int64 { return int64(a.ValueLen(i)) + 5 }
	case *array.Binary:
		return func(i int) int64 { return int64(a.ValueLen(i)) + 5 }
	case *array.LargeString:
		return func(i int) int64 { return int64(len(a.Value(i))) + 9 }
	case *array.LargeBinary:
		return func(i int) int64 { return int64(len(a.Value(i))) + 9 }
	}
	each := int64(1)
	if a.Len() > 0 {
		each += block.ArrayBytes(a) / int64(a.Len())
	}
	return func(int) int64 { return each }
}

// record makes output rows from to to.
func (e *expansion) record(rt dataset.Runtime, out *arrow.Schema, from, to int) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, 0, out.NumFields())
	defer func() {
		for _, c := range cols {
			c.Release()
		}
	}()
	for c := range e.b.NumCols() {
		var a arrow.Array
		var err error
		if c == e.at {
			a, err = e.elements(rt, from, to)
		} else {
			a, err = block.TakeArray(rt.Allocator(), e.b.Column(c), e.parents[from:to])
		}
		if err != nil {
			return nil, fmt.Errorf("unnest column %q: %w", e.b.Schema().Field(c).Name, err)
		}
		cols = append(cols, a)
	}
	return block.FromColumns(out, cols, to-from), nil
}

// elements takes the elements of output rows from to to.
func (e *expansion) elements(rt dataset.Runtime, from, to int) (arrow.Array, error) {
	vals, items := e.list.ListValues(), e.items[from:to]
	if !e.empty {
		return block.TakeArray(rt.Allocator(), vals, items)
	}
	missing := block.Nulls(rt.Allocator(), vals.DataType(), 1)
	defer missing.Release()
	schema := arrow.NewSchema([]arrow.Field{{Type: vals.DataType(), Nullable: true}}, nil)
	recs := []arrow.RecordBatch{
		block.FromColumns(schema, []arrow.Array{vals}, vals.Len()),
		block.FromColumns(schema, []arrow.Array{missing}, 1),
	}
	defer recs[0].Release()
	defer recs[1].Release()
	src, rows := make([]uint32, len(items)), make([]uint32, len(items))
	for i, x := range items {
		if x == noItem {
			src[i] = 1
		} else {
			rows[i] = x
		}
	}
	rec, err := block.Interleave(rt.Allocator(), recs, src, rows)
	if err != nil {
		return nil, err
	}
	defer rec.Release()
	a := rec.Column(0)
	a.Retain()
	return a, nil
}
