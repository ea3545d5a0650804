package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/write"
)

// Writer encodes record batches into one Parquet file. The bytes depend on the
// rows and the options alone, not on the batches. It belongs to one goroutine.
type Writer struct {
	w       io.Writer
	opts    WriteOptions
	schema  *arrow.Schema // of the batches
	stored  *arrow.Schema // as written; differs for tensors
	columns []*write.Column
	meta    meta.Footer
	order   rowOrder
	written int64
	rows    int64 // of the row group
	bytes   int64 // of the row group, before encoding
	failed  error
	closed  bool
}

// NewWriter starts a file with the schema. It writes nothing until the first
// row group is full or the file is closed.
func NewWriter(w io.Writer, s *arrow.Schema, opts WriteOptions) (*Writer, error) {
	if err := opts.fill(); err != nil {
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	stored := s
	if !opts.TensorLists {
		stored = storedSchema(s)
	}
	m, err := newFooter(stored, opts.CreatedBy)
	if err != nil {
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	out := &Writer{w: w, opts: opts, schema: s, stored: stored, meta: meta.Footer{FileMetaData: *m}}
	err = checkBloom(stored, opts.Bloom)
	if err == nil {
		out.order, err = newRowOrder(stored, &out.meta.FileMetaData, opts.Sort)
		out.order.mem = opts.Allocator
	}
	if err == nil {
		err = out.openColumns()
	}
	if err != nil {
		out.release()
		return nil, fmt.Errorf("write parquet: %w", err)
	}
	return out, nil
}

// Write appends the rows of b, which it does not keep. After an error the file
// can only be given up.
func (w *Writer) Write(b arrow.RecordBatch) (err error) {
	if w.failed != nil || w.closed {
		return errors.Join(errors.New("write parquet: the file is closed or has failed"), w.failed)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("write parquet: %w", mem.Panicked(p, "malformed batch"))
		}
		w.failed = err
	}()
	if err := w.sameTypes(b.Schema()); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	if b, err = w.storedBatch(b); err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	defer b.Release()
	n := int(b.NumRows())
	for lo := 0; lo < n; {
		k, full := w.fit(b, lo, n)
		if err := w.order.check(b, lo, lo+k, w.rows+w.meta.NumRows); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
		if err := w.append(b, lo, lo+k); err != nil {
			return fmt.Errorf("write parquet: %w", err)
		}
		w.rows += int64(k)
		w.bytes += batchBytes(b, lo, lo+k)
		lo += k
		if full {
			if err := w.flush(); err != nil {
				return fmt.Errorf("write parquet: %w", err)
			}
		}
	}
	return nil
}

func (w *Writer) sameTypes(s *arrow.Schema) error {
	if s.NumFields() != w.schema.NumFields() {
		return fmt.Errorf("batch has %d columns, the file %d", s.NumFields(), w.schema.NumFields())
	}
	for i, f := range s.Fields() {
		if want := w.schema.Field(i); f.Name != want.Name || !arrow.TypeEqual(f.Type, want.Type) {
			return fmt.Errorf("batch has column %q of type %s where the file has %q of type %s", f.Name, f.Type, want.Name, want.Type)
		}
	}
	return nil
}

// start writes the magic bytes in front of the first row group.
func (w *Writer) start() error {
	if w.written > 0 {
		return nil
	}
	if _, err := io.WriteString(w.w, meta.Magic); err != nil {
		return err
	}
	w.written = int64(len(meta.Magic))
	return nil
}

// Buffered is the memory that the writer holds: encoded pages of the row group
// in progress, one unfinished page a column, dictionaries.
func (w *Writer) Buffered() int64 {
	n := int64(0)
	for _, c := range w.columns {
		for _, l := range c.Leaves() {
			n += l.Held()
		}
	}
	return n
}

// Written is the number of bytes written so far.
func (w *Writer) Written() int64 { return w.written }

// Rows is the number of rows taken so far.
func (w *Writer) Rows() int64 { return w.meta.NumRows + w.rows }

// Close writes the last row group and the footer and frees all memory, also
// when it fails. It does not close the underlying writer. Further calls do
// nothing.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	defer w.release()
	if w.failed != nil {
		return fmt.Errorf("close parquet file: an earlier write failed: %w", w.failed)
	}
	if err := w.finish(); err != nil {
		return fmt.Errorf("close parquet file: %w", err)
	}
	return nil
}

func (w *Writer) finish() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.start(); err != nil {
		return err
	}
	n, err := w.meta.Write(w.w, w.written)
	w.written += n
	return err
}

func (w *Writer) release() {
	for _, c := range w.columns {
		for _, l := range c.Leaves() {
			l.Release()
		}
	}
	w.columns = nil
	w.order.restart()
}
