package expr

import (
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Program is an expression compiled against a schema. It is immutable: goroutines may share it.
type Program struct {
	root   *tnode
	typ    arrow.DataType
	fields []arrow.Field // the columns it reads
	cols   []int         // where they were in the schema
	text   string
}

// Compile checks e against schema, prepares its constants and returns a program. Errors are *TypeError; an unknown
// column comes with the nearest name.
func Compile(e *Expr, schema *arrow.Schema) (*Program, error) {
	root, cols, err := checkColumns(e, schema)
	if err != nil {
		return nil, err
	}
	if root, err = fold(root); err != nil {
		return nil, err
	}
	p := &Program{root: root, typ: root.typ, cols: cols, text: e.String()}
	for _, i := range cols {
		p.fields = append(p.fields, schema.Field(i))
	}
	if root.form == formColumn { // a bare column passes through as it is stored
		p.typ = p.fields[root.col].Type
	}
	return p, nil
}

// Type is the type of Eval's results. A bare column keeps its own, dictionaries and extensions included.
func (p *Program) Type() arrow.DataType { return p.typ }

// String returns the canonical text of the expression.
func (p *Program) String() string { return p.text }

// Eval evaluates every row of rec, which must have the columns of the schema compiled against (by name and type).
// Rows that fail (overflow, failed cast) are null in the result and listed in ascending order. The caller releases the
// result, whose buffers come from mem or are shared with rec.
func (p *Program) Eval(mem memory.Allocator, rec arrow.RecordBatch) (arrow.Array, []RowError, error) {
	c, err := p.context(mem, rec)
	if err != nil {
		return nil, nil, err
	}
	defer c.scratch.recycle()
	if p.root.form == formColumn {
		arr := rec.Column(c.cols[p.root.col])
		arr.Retain()
		return arr, nil, nil
	}
	v, err := c.eval(p.root, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("evaluate %s: %w", p.text, err)
	}
	arr, err := c.materialise(v, p.typ)
	if err != nil {
		return nil, nil, fmt.Errorf("evaluate %s: %w", p.text, err)
	}
	if c.failed != nil {
		arr = c.nullFailed(arr)
	}
	return arr, c.rowErrors(), nil
}

// Select evaluates a boolean program as a filter: the ascending indices of the rows that are true; false, null and
// failed rows drop. all reports that every row is kept, and then idx is nil. buf is reused for idx.
func (p *Program) Select(mem memory.Allocator, rec arrow.RecordBatch, buf []uint32) (idx []uint32, all bool, errs []RowError, err error) {
	if kindOf(p.typ) != kindBool && kindOf(p.typ) != kindNull {
		return nil, false, nil, &TypeError{Msg: fmt.Sprintf("a filter must be true or false, but %s is %s; compare it with something", p.text, typeName(p.typ))}
	}
	c, err := p.context(mem, rec)
	if err != nil {
		return nil, false, nil, err
	}
	defer c.scratch.recycle()
	v, err := c.eval(p.root, nil)
	if err != nil {
		return nil, false, nil, fmt.Errorf("evaluate %s: %w", p.text, err)
	}
	defer v.release()
	errs = c.rowErrors()
	if v.isConst() {
		switch {
		case c.n == 0 || v.cst != true:
			return buf[:0], c.n == 0, errs, nil
		case c.failed == nil:
			return nil, true, errs, nil
		}
	}
	kept := c.words()
	c.truths(v, kept)
	for i, w := range c.failed {
		kept[i] &^= w
	}
	idx, all = indices(kept, c.n, buf)
	return idx, all, errs, nil
}

// indices lists the set bits of w.
func indices(w []uint64, n int, buf []uint32) ([]uint32, bool) {
	count := 0
	for _, x := range w {
		count += bits.OnesCount64(x)
	}
	if count == n {
		return nil, true
	}
	if cap(buf) < count {
		buf = make([]uint32, count)
	}
	buf = buf[:count]
	k := 0
	for i, x := range w {
		for base := uint32(i << 6); x != 0; x &= x - 1 {
			buf[k] = base + uint32(bits.TrailingZeros64(x))
			k++
		}
	}
	return buf, false
}

// context finds the program's columns in rec.
func (p *Program) context(mem memory.Allocator, rec arrow.RecordBatch) (*evalCtx, error) {
	c := &evalCtx{mem: mem, rec: rec, n: int(rec.NumRows()), cols: p.cols, limit: maxText}
	schema := rec.Schema()
	for i, f := range p.fields {
		at := p.cols[i]
		if at >= schema.NumFields() || schema.Field(at).Name != f.Name {
			found := schema.FieldIndices(f.Name)
			if len(found) != 1 {
				return nil, fmt.Errorf("evaluate %s: the batch has column %q %d times, not once", p.text, f.Name, len(found))
			}
			at = found[0]
			if i < len(p.cols) && &c.cols[0] == &p.cols[0] {
				c.cols = append([]int(nil), p.cols...)
			}
			c.cols[i] = at
		}
		if got := rec.Column(at).DataType(); !arrow.TypeEqual(got, f.Type) {
			return nil, fmt.Errorf("evaluate %s: column %q is %s in this batch, the plan was made for %s", p.text, f.Name, got, f.Type)
		}
	}
	c.scratch = arenas.Get().(*arena)
	return c, nil
}

// nullFailed returns arr with the failed rows null, and gives arr up.
func (c *evalCtx) nullFailed(arr arrow.Array) arrow.Array {
	if arr.DataType().ID() == arrow.NULL {
		return arr
	}
	defer arr.Release()
	d := arr.Data()
	valid, words := c.bitmap(d.Offset() + c.n)
	fillOnes(words, d.Offset()+c.n)
	if src := arr.NullBitmapBytes(); len(src) > 0 && arr.NullN() > 0 {
		loadBits(words, src, 0, d.Offset()+c.n)
	}
	for _, e := range c.errs {
		clearBit(words, d.Offset()+e.Row)
	}
	bufs := append([]*memory.Buffer{valid}, d.Buffers()[1:]...)
	out := array.NewData(d.DataType(), c.n, bufs, d.Children(), array.UnknownNullCount, d.Offset())
	valid.Release()
	defer out.Release()
	return array.MakeFromData(out)
}
