package read

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/dataset/store"
)

// pageGuess is the size of a page where only that of the chunk is known: what most writers aim at.
const pageGuess = 1 << 20

// Memory estimates what reading the fields of row group g takes when all columns are read side by side: a window and a page of each.
func Memory(m *meta.FileMetaData, s *schema.Schema, g int, fields []int, window int) int64 {
	rg := &m.RowGroups[g]
	n := int64(0)
	for _, i := range fields {
		for _, c := range s.Fields[i].Columns(nil) {
			md := &rg.Columns[c.Index].MetaData.V
			n += indexChunk*4 + min(int64(max(window, minWindow)), md.TotalCompressedSize) + min(pageGuess, md.TotalUncompressedSize)
		}
	}
	return n
}

// Staged reads a row group whose columns are too many to be read side by side: it first decodes one column after the other into a
// temporary file, in pieces of as many rows as the first batch has, and then joins the pieces. It belongs to one goroutine.
type Staged struct {
	open    func(field int) (*RowGroup, error)
	fields  []int
	schema  *schema.Schema
	file    store.File
	check   func() error
	mem     memory.Allocator
	columns []*stagedColumn
	rows    int64 // left
}

// stagedColumn is one field on disk.
type stagedColumn struct {
	pieces []store.Stored // not loaded yet
	now    arrow.RecordBatch
	at     int64 // rows of now that were given out
}

// OpenStaged is Open for such row groups. check is asked between columns whether to go on. The file belongs to the caller.
func OpenStaged(r io.ReaderAt, m *meta.FileMetaData, s *schema.Schema, g int, fields []int, from, to int64, cfg Config, file store.File, check func() error) (*Staged, error) {
	if rg := &m.RowGroups[g]; from < 0 || to > rg.NumRows || from > to {
		return nil, fmt.Errorf("rows %d to %d are outside row group %d, which has %d", from, to, g, rg.NumRows)
	}
	return &Staged{
		open:   func(field int) (*RowGroup, error) { return Open(r, m, s, g, []int{field}, from, to, cfg) },
		fields: fields, schema: s, file: file, check: check, mem: cfg.Allocator, rows: to - from,
	}, nil
}

// Next reads up to n rows, as RowGroup.Next does.
func (st *Staged) Next(n int) (arrays []arrow.Array, rows int, err error) {
	if st.rows == 0 {
		return nil, 0, io.EOF
	}
	if st.columns == nil {
		for _, f := range st.fields {
			c, err := st.stage(f, max(n, 1))
			if err != nil {
				return nil, 0, err
			}
			st.columns = append(st.columns, c)
		}
	}
	least := min(int64(max(n, 1)), st.rows)
	for _, c := range st.columns {
		for c.now == nil || c.at == c.now.NumRows() {
			if err := c.load(st.mem); err != nil {
				return nil, 0, err
			}
		}
		least = min(least, c.now.NumRows()-c.at)
	}
	arrays = make([]arrow.Array, len(st.columns))
	for i, c := range st.columns {
		arrays[i] = array.NewSlice(c.now.Column(0), c.at, c.at+least)
		if c.at += least; c.at == c.now.NumRows() {
			c.now.Release() // the slice holds the buffers
			c.now = nil
		}
	}
	st.rows -= least
	return arrays, int(least), nil
}

// stage decodes a field into the file.
func (st *Staged) stage(field, n int) (*stagedColumn, error) {
	if st.check != nil {
		if err := st.check(); err != nil {
			return nil, err
		}
	}
	rg, err := st.open(field)
	if err != nil {
		return nil, err
	}
	defer rg.Close()
	fd := st.schema.Fields[field].Arrow
	one := arrow.NewSchema([]arrow.Field{fd}, nil)
	disk, err := store.NewDisk(st.file, one, st.mem)
	if err != nil {
		return nil, fmt.Errorf("column %q: %w", fd.Name, err)
	}
	c := &stagedColumn{}
	for {
		arrays, rows, err := rg.Next(n)
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		rec := array.NewRecordBatch(one, arrays, int64(rows))
		arrays[0].Release()
		piece, err := disk.Put(rec)
		rec.Release()
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", fd.Name, err)
		}
		c.pieces = append(c.pieces, piece)
	}
}

func (c *stagedColumn) load(mem memory.Allocator) (err error) {
	if len(c.pieces) == 0 {
		return io.ErrUnexpectedEOF
	}
	if c.now != nil {
		c.now.Release()
	}
	c.now, err = c.pieces[0].Load(mem)
	c.pieces, c.at = c.pieces[1:], 0
	return err
}

// Close releases everything but the file. It may be called more than once.
func (st *Staged) Close() {
	for _, c := range st.columns {
		if c.now != nil {
			c.now.Release()
			c.now = nil
		}
	}
	st.columns, st.rows = nil, 0
}
