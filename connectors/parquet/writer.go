package parquet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/mem"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
	"github.com/sluice-data/sluice/connectors/parquet/internal/write"
)

// Defaults of WriteOptions.
const (
	DefaultRowGroupBytes = 64 << 20
	DefaultRowGroupRows  = 1 << 20
	DefaultCompression   = "snappy"
)

// maxRowGroups is the most row groups that a file can number.
const maxRowGroups = 1<<15 - 1

// WriteOptions says how a file is written. The zero value is ready to use but
// for the allocator.
type WriteOptions struct {
	// Compression is snappy (the default), zstd, gzip, lz4raw or none.
	Compression string
	// RowGroupBytes and RowGroupRows end a row group: the former counts bytes
	// before encoding.
	RowGroupBytes int64
	RowGroupRows  int64
	// NoStatistics leaves minimum, maximum and null count out.
	NoStatistics bool
	// Bloom names the columns that get a Bloom filter a row group; Sort those that the rows of each row group must be sorted by, each with
	// " desc" behind it where it falls: nulls come last. Rows that are not so sorted are an error.
	Bloom, Sort []string
	// TensorLists stores tensors of one shape as the lists that Arrow defines
	// instead of fixed-size binary.
	TensorLists bool
	// Parallel is how many columns may be encoded at the same time.
	Parallel int
	// Allocator gives the buffers. Required.
	Allocator memory.Allocator
	// CreatedBy names the program in the footer.
	CreatedBy string
}

func (o *WriteOptions) fill() error {
	if o.Allocator == nil {
		return errors.New("WriteOptions.Allocator is nil")
	}
	if o.Compression == "" {
		o.Compression = DefaultCompression
	}
	if o.RowGroupBytes == 0 {
		o.RowGroupBytes = DefaultRowGroupBytes
	}
	if o.RowGroupRows == 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.RowGroupBytes < 0 || o.RowGroupRows < 0 {
		return fmt.Errorf("row group limits are %d bytes and %d rows: they must be positive", o.RowGroupBytes, o.RowGroupRows)
	}
	if o.CreatedBy == "" {
		o.CreatedBy = "sluice"
	}
	_, err := compression(o.Compression)
	return err
}

func compression(name string) (format.CompressionCodec, error) {
	c, ok := codec.Names[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("compression %q is unknown: use snappy, zstd, gzip, lz4raw or none", name)
	}
	return c, nil
}

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

// CheckSchema returns an error naming the first column that cannot be written.
func CheckSchema(s *arrow.Schema) error {
	if _, err := schema.FromArrow(s); err != nil {
		return err
	}
	_, err := schema.Serialize(s)
	return err
}

// newFooter describes a file without rows.
func newFooter(s *arrow.Schema, createdBy string) (*meta.FileMetaData, error) {
	elements, err := schema.FromArrow(s)
	if err != nil {
		return nil, err
	}
	stored, err := schema.Serialize(s)
	if err != nil {
		return nil, err
	}
	m := &meta.FileMetaData{Version: 2, Schema: elements, CreatedBy: createdBy, RowGroups: []meta.RowGroup{}}
	md := s.Metadata()
	for i, k := range md.Keys() {
		if k != schema.ArrowKey {
			m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: k, Value: md.Values()[i]})
		}
	}
	m.KeyValueMetadata = append(m.KeyValueMetadata, format.KeyValue{Key: schema.ArrowKey, Value: stored})
	return m, nil
}

func (w *Writer) openColumns() error {
	s, err := schema.FromFile(&w.meta.FileMetaData)
	if err != nil {
		return err
	}
	c, err := compression(w.opts.Compression)
	if err != nil {
		return err
	}
	w.meta.ColumnOrders = meta.ColumnOrders(len(s.Columns))
	for i, f := range s.Fields {
		var leaves []*write.Leaf
		for _, lf := range leafFields(f, w.stored.Field(i).Type, nil) {
			l, err := write.NewLeaf(lf.Column, strings.Split(lf.path(), "\x00"), lf.dt, c, !w.opts.NoStatistics, w.opts.Allocator)
			if err != nil {
				return fmt.Errorf("column %q: %w", lf.Column.Path, err)
			}
			if slices.Contains(w.opts.Bloom, f.Arrow.Name) {
				if err := l.WantBloom(); err != nil {
					return err
				}
			}
			leaves = append(leaves, l)
		}
		w.columns = append(w.columns, write.NewColumn(f, leaves))
	}
	return nil
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

// parallelBytes is the least worth of rows that is spread over goroutines.
const parallelBytes = 256 << 10

func (w *Writer) append(b arrow.RecordBatch, lo, hi int) error {
	if w.opts.Parallel < 2 || len(w.columns) < 2 || batchBytes(b, lo, hi) < parallelBytes {
		for i, c := range w.columns {
			if err := w.appendColumn(c, b, i, lo, hi); err != nil {
				return err
			}
		}
		return nil
	}
	var g errgroup.Group
	g.SetLimit(w.opts.Parallel)
	for i, c := range w.columns {
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("column %q: %w", w.schema.Field(i).Name, mem.Panicked(p, "malformed batch"))
				}
			}()
			return w.appendColumn(c, b, i, lo, hi)
		})
	}
	return g.Wait()
}

func (w *Writer) appendColumn(c *write.Column, b arrow.RecordBatch, i, lo, hi int) error {
	if err := c.Append(b.Column(i), lo, hi); err != nil {
		return fmt.Errorf("column %q: rows %d to %d of the batch: %w", w.schema.Field(i).Name, lo, hi-1, err)
	}
	return nil
}

// flush ends the row group.
func (w *Writer) flush() error {
	if w.rows == 0 {
		return nil
	}
	if w.meta.Groups() == maxRowGroups {
		return fmt.Errorf("file has %d row groups, the most there can be: raise RowGroupBytes or split the file", maxRowGroups)
	}
	if err := w.start(); err != nil {
		return err
	}
	rg := meta.RowGroup{NumRows: w.rows, FileOffset: thrift.New(w.written), Ordinal: thrift.New(int16(w.meta.Groups()))}
	if err := w.writeChunks(&rg); err != nil {
		return fmt.Errorf("write row group: %w", err)
	}
	rg.SortingColumns = w.order.columns()
	w.order.restart()
	if err := w.meta.Add(&rg); err != nil {
		return err
	}
	w.rows, w.bytes = 0, 0
	return nil
}

// writeChunks writes the columns of a row group, then their Bloom filters.
func (w *Writer) writeChunks(rg *meta.RowGroup) error {
	compressed := int64(0)
	var filters [][]byte
	for _, c := range w.columns {
		for _, l := range c.Leaves() {
			chunk, filter, err := l.WriteChunk(w.w, w.written)
			if err != nil {
				return err
			}
			md := &chunk.MetaData.V
			w.written += md.TotalCompressedSize
			compressed += md.TotalCompressedSize
			rg.TotalByteSize += md.TotalUncompressedSize
			rg.Columns = append(rg.Columns, chunk)
			filters = append(filters, filter)
		}
	}
	rg.TotalCompressedSize = thrift.New(compressed)
	for i, b := range filters {
		if b == nil {
			continue
		}
		md := &rg.Columns[i].MetaData.V
		md.BloomFilterOffset, md.BloomFilterLength = thrift.New(w.written), thrift.New(int32(len(b)))
		if _, err := w.w.Write(b); err != nil {
			return err
		}
		w.written += int64(len(b))
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
	b, err := w.meta.Append(nil)
	if err != nil {
		return err
	}
	n, err := w.w.Write(b)
	w.written += int64(n)
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
