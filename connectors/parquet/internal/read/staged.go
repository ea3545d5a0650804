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

// Staged reads a row group whose columns are too many to be read side by side: it first decodes them, some at a time, into a temporary file, in
// pieces of as many rows as the first batch has, and then joins the pieces. It belongs to one goroutine.
type Staged struct {
	open   func(fields []int) (*RowGroup, error)
	sets   [][]int // fields that are read side by side
	schema *schema.Schema
	file   store.File
	check  func() error
	mem    memory.Allocator
	staged []*stagedSet
	rows   int64 // left
}

// stagedSet is some of the fields, on disk.
type stagedSet struct {
	pieces []store.Stored // not loaded yet
	now    arrow.RecordBatch
	at     int64 // rows of now that were given out
}

// OpenStaged is Open for such row groups: it reads as many fields side by side as take most bytes. check is asked between them whether to go
// on. The file belongs to the caller.
func OpenStaged(r io.ReaderAt, m *meta.FileMetaData, s *schema.Schema, g int, fields []int, from, to int64, cfg Config, file store.File, check func() error, most int64) (*Staged, error) {
	if rg := &m.RowGroups[g]; from < 0 || to > rg.NumRows || from > to {
		return nil, fmt.Errorf("rows %d to %d are outside row group %d, which has %d", from, to, g, rg.NumRows)
	}
	st := &Staged{
		open:   func(fields []int) (*RowGroup, error) { return Open(r, m, s, g, fields, from, to, cfg) },
		schema: s, file: file, check: check, mem: cfg.Allocator, rows: to - from,
	}
	for sum := int64(0); len(fields) > 0; sum = 0 {
		n := 0
		for n < min(len(fields), stagedFields) {
			if sum += Memory(m, s, g, fields[n:n+1], cfg.Window); sum > most && n > 0 {
				break
			}
			n++
		}
		st.sets, fields = append(st.sets, fields[:n]), fields[n:]
	}
	return st, nil
}

// stagedFields bounds the fields that are staged together: beyond it a piece costs little more than its columns.
const stagedFields = 32

// Next reads up to n rows, as RowGroup.Next does.
func (st *Staged) Next(n int) (arrays []arrow.Array, rows int, err error) {
	if st.rows == 0 {
		return nil, 0, io.EOF
	}
	if st.staged == nil {
		for _, fields := range st.sets {
			set, err := st.stage(fields, max(n, 1))
			if err != nil {
				return nil, 0, err
			}
			st.staged = append(st.staged, set)
		}
	}
	least := min(int64(max(n, 1)), st.rows)
	for _, s := range st.staged {
		if s.now == nil {
			if err := s.load(st.mem); err != nil {
				return nil, 0, err
			}
		}
		least = min(least, s.now.NumRows()-s.at)
	}
	for _, s := range st.staged {
		arrays = s.take(arrays, least)
	}
	st.rows -= least
	return arrays, int(least), nil
}

// take appends the next n rows of the set's fields.
func (s *stagedSet) take(arrays []arrow.Array, n int64) []arrow.Array {
	whole := n == s.now.NumRows()
	for _, c := range s.now.Columns() {
		if whole {
			c.Retain()
			arrays = append(arrays, c)
		} else {
			arrays = append(arrays, array.NewSlice(c, s.at, s.at+n))
		}
	}
	if s.at += n; s.at == s.now.NumRows() {
		s.now.Release() // the arrays hold the buffers
		s.now = nil
	}
	return arrays
}

// stage decodes fields into the file.
func (st *Staged) stage(fields []int, n int) (*stagedSet, error) {
	if st.check != nil {
		if err := st.check(); err != nil {
			return nil, err
		}
	}
	rg, err := st.open(fields)
	if err != nil {
		return nil, err
	}
	defer rg.Close()
	some := make([]arrow.Field, len(fields))
	for i, f := range fields {
		some[i] = st.schema.Fields[f].Arrow
	}
	what := fmt.Sprintf("columns %q to %q", some[0].Name, some[len(some)-1].Name)
	one := arrow.NewSchema(some, nil)
	disk, err := store.NewDisk(st.file, one, st.mem)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	s := &stagedSet{}
	for {
		arrays, rows, err := rg.Next(n)
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		rec := array.NewRecordBatch(one, arrays, int64(rows))
		for _, a := range arrays {
			a.Release()
		}
		piece, err := disk.Put(rec)
		rec.Release()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		s.pieces = append(s.pieces, piece)
	}
}

func (s *stagedSet) load(mem memory.Allocator) (err error) {
	if len(s.pieces) == 0 {
		return io.ErrUnexpectedEOF
	}
	s.now, err = s.pieces[0].Load(mem)
	s.pieces, s.at = s.pieces[1:], 0
	return err
}

// Close releases everything but the file. It may be called more than once.
func (st *Staged) Close() {
	for _, s := range st.staged {
		if s.now != nil {
			s.now.Release()
			s.now = nil
		}
	}
	st.staged, st.rows = nil, 0
}
