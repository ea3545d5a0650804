package read

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// Config says how a row group is read.
type Config struct {
	// Allocator gives every buffer, those of the arrays and those in between.
	Allocator memory.Allocator
	// Window is how many bytes of a column chunk are read at once.
	Window int
	// ColumnBytes is the size from which on a column of byte arrays is full,
	// which ends the batch early. A single larger value still gets through.
	ColumnBytes int
	// Pushed says that the rows to read come by Push, not from the range that Open is given.
	Pushed bool
}

const (
	minWindow  = 64 << 10
	allWindows = 32 << 20 // of all columns together, unless minWindow asks for more
)

// RowGroup reads columns of one row group. It belongs to one goroutine.
type RowGroup struct {
	cfg     Config
	rows    int64 // left
	columns []*column
}

// column is one top-level field with what a fuller neighbour has left unread.
type column struct {
	*field
	queue   []Span // rows to read
	pending arrow.Array
	perRow  int // bytes of byte arrays per row, as seen so far
}

// Open readies the fields of s, given by position, for rows [from, to) of row
// group g. Nothing is read before the first call of Next.
func Open(r io.ReaderAt, m *meta.FileMetaData, s *schema.Schema, g int, fields []int, from, to int64, cfg Config) (*RowGroup, error) {
	rg := &m.RowGroups[g]
	if from < 0 || to > rg.NumRows || from > to {
		return nil, fmt.Errorf("rows %d to %d are outside row group %d, which has %d", from, to, g, rg.NumRows)
	}
	out := &RowGroup{cfg: cfg}
	leaves := 0
	for _, i := range fields {
		leaves += len(s.Fields[i].Columns(nil))
	}
	window := max(min(cfg.Window, allWindows/max(leaves, 1)), minWindow)
	for _, i := range fields {
		f, err := out.openField(r, rg, s.Fields[i], window, s.Fields[i].Nested())
		if err != nil {
			out.Close()
			return nil, fmt.Errorf("open row group %d: %w", g, err)
		}
		out.columns = append(out.columns, &column{field: f})
	}
	if !cfg.Pushed {
		out.Push(Span{from, to - from})
	}
	return out, nil
}

func (rg *RowGroup) openField(r io.ReaderAt, m *meta.RowGroup, sf *schema.Field, window int, nested bool) (*field, error) {
	f := &field{Field: sf}
	if sf.Kind == schema.Leaf {
		l, err := rg.openLeaf(r, m, sf, window, nested)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", sf.Column.Path, err)
		}
		f.leaves = []*leaf{l}
		return f, nil
	}
	for _, c := range sf.Children {
		child, err := rg.openField(r, m, c, window, nested)
		if err != nil {
			return nil, err
		}
		f.children = append(f.children, child)
		f.leaves = append(f.leaves, child.leaves...)
	}
	if len(f.leaves) == 0 {
		return nil, fmt.Errorf("field %q has no columns", sf.Arrow.Name)
	}
	return f, nil
}

func (rg *RowGroup) openLeaf(r io.ReaderAt, m *meta.RowGroup, sf *schema.Field, window int, nested bool) (*leaf, error) {
	chunk := &m.Columns[sf.Column.Index]
	md := &chunk.MetaData.V
	if err := codec.Supported(md.Codec); err != nil {
		return nil, err
	}
	alloc := rg.cfg.Allocator
	l := &leaf{
		col: sf.Column, codec: md.Codec, width: physicalWidth(sf.Column), nested: nested,
		index: make([]uint32, indexChunk),
	}
	for _, s := range []*scratch{&l.src.buf, &l.page, &l.aux, &l.raw, &l.defBuf, &l.repBuf, &l.aside, &l.dict.data, &l.batchDefs, &l.batchReps} {
		s.mem = alloc
	}
	l.out = builder{mem: alloc, limit: min(rg.cfg.ColumnBytes, maxData)}
	if nested {
		// Nested columns end a batch between rows only, in readField.
		l.out.limit = maxData
	}
	if md.NumValues > 0 { // of a chunk with a dictionary this is less than its values have
		l.out.perSlot = float64(md.TotalUncompressedSize) / float64(md.NumValues)
	}
	start := chunk.Start()
	l.src.r, l.src.off, l.src.end = r, start, start+md.TotalCompressedSize
	l.src.window = int(min(int64(window), md.TotalCompressedSize))
	return l, l.plan(sf.Storage)
}

// Next reads up to n rows. It returns io.EOF when there are none left. After
// any other error the row group can only be closed.
func (rg *RowGroup) Next(n int) (arrays []arrow.Array, rows int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = mem.Panicked(p, "damaged page")
		}
		if err != nil {
			for _, a := range arrays {
				if a != nil {
					a.Release()
				}
			}
			arrays, rows = nil, 0
		}
	}()
	if rg.rows == 0 {
		return nil, 0, io.EOF
	}
	rows = int(min(int64(max(n, 1)), rg.rows))
	for _, c := range rg.columns {
		if c.pending != nil {
			rows = min(rows, c.pending.Len())
		}
	}
	arrays = make([]arrow.Array, 0, len(rg.columns))
	least := rows
	for _, c := range rg.columns {
		a, err := c.next(rg, rows)
		if err != nil {
			return arrays, 0, fmt.Errorf("column %q: %w", c.Arrow.Name, err)
		}
		arrays = append(arrays, a)
		least = min(least, a.Len())
	}
	for i, a := range arrays {
		if a.Len() > least {
			rg.columns[i].putBack(a, least)
			arrays[i] = array.NewSlice(a, 0, int64(least))
			a.Release()
		}
	}
	rg.rows -= int64(least)
	return arrays, least, nil
}

func (c *column) next(rg *RowGroup, n int) (arrow.Array, error) {
	if p := c.pending; p != nil {
		if p.Len() == n {
			c.pending = nil
			return p, nil
		}
		c.pending = array.NewSlice(p, int64(n), int64(p.Len()))
		defer p.Release()
		return array.NewSlice(p, 0, int64(n)), nil
	}
	if err := c.fillSpans(rg, n); err != nil {
		return nil, err
	}
	d, err := c.assemble(rg.cfg.Allocator)
	if err != nil {
		return nil, err
	}
	defer d.Release()
	c.took(d.Len())
	for _, l := range c.leaves {
		l.clearBatch()
	}
	return array.MakeFromData(d), nil
}

// putBack keeps the rows of a from n on for the next batch, in front of what
// may already be waiting.
func (c *column) putBack(a arrow.Array, n int) {
	from := n
	if c.pending == nil {
		c.pending = array.NewSlice(a, int64(from), int64(a.Len()))
		return
	}
	// The array was cut from pending: the two are neighbours in one array.
	p := c.pending
	whole := array.NewSliceData(a.Data(), 0, int64(a.Len()))
	defer whole.Release()
	nulls := array.UnknownNullCount
	if bufs := whole.Buffers(); whole.DataType().ID() != arrow.NULL && (len(bufs) == 0 || bufs[0] == nil) {
		nulls = 0
	} else if whole.DataType().ID() == arrow.NULL {
		nulls = a.Len() - n + p.Len()
	}
	joined := array.NewData(whole.DataType(), a.Len()-n+p.Len(), whole.Buffers(), whole.Children(), nulls, whole.Offset()+n)
	if dict, ok := whole.Dictionary().(*array.Data); ok && dict != nil {
		joined.SetDictionary(dict)
	}
	c.pending = array.MakeFromData(joined)
	joined.Release()
	p.Release()
}

// fill reads rows into the leaves of a nested column.
func (c *column) fill(rg *RowGroup, n int) error {
	for _, l := range c.leaves {
		if err := l.dropNested(); err != nil {
			return err
		}
	}
	// All leaves of a nested column must stop at the same row, so rows are
	// read in steps that are expected to fit.
	for done, step := 0, 1; done < n; done += step {
		step = min(c.step(rg, done), n-done)
		for _, l := range c.leaves {
			if err := l.readNested(step); err != nil {
				return fmt.Errorf("%s: %w", l.col.Path, err)
			}
		}
		if bytes := c.bytes(); bytes > 0 {
			c.perRow = bytes/(done+step) + 1
			if bytes >= rg.cfg.ColumnBytes {
				return nil
			}
		}
	}
	return nil
}

// step returns how many rows may be read next without the bytes running away.
func (c *column) step(rg *RowGroup, done int) int {
	if c.perRow == 0 {
		return max(done, 64) // no byte arrays seen
	}
	return max((rg.cfg.ColumnBytes-c.bytes())/c.perRow/2, 1)
}

func (c *column) bytes() int {
	n := 0
	for _, l := range c.leaves {
		n = max(n, l.out.size)
	}
	return n
}

// Close releases everything. It may be called more than once.
func (rg *RowGroup) Close() {
	for _, c := range rg.columns {
		if c.pending != nil {
			c.pending.Release()
			c.pending = nil
		}
		for _, l := range c.leaves {
			l.release()
		}
	}
	rg.columns = nil
	rg.rows = 0
}
