package parquet

import (
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/read"
	"github.com/sluice-data/sluice/dataset"
)

// Defaults of ReadOptions.
const (
	DefaultBatchRows  = 128 << 10
	DefaultBatchBytes = 16 << 20
	DefaultWindow     = 1 << 20
)

// ReadOptions says what to read of a row group and in which pieces.
type ReadOptions struct {
	// Columns are the top-level columns, in the order wanted; nil means all.
	Columns []string
	// From and To bound the rows within the row group; To 0 means all.
	From, To int64
	// BatchRows and BatchBytes bound a batch; the bytes are aimed at, rows
	// being as large as they are. Zero means the default.
	BatchRows  int
	BatchBytes int64
	// Window is how many bytes of a column are read at once.
	Window int
	// Allocator gives all buffers. Required.
	Allocator memory.Allocator
	// MaxBytes and Scratch are for row groups of very many columns: where reading these side by side would take more than MaxBytes,
	// they are decoded into a temporary file first, as many at a time as MaxBytes allows. Without either they are read side by side.
	MaxBytes int64
	Scratch  func() (*dataset.ScratchFile, error)
	// Check is asked now and then, while that is done, whether to go on; nil means always.
	Check func() error
	// pushed says that the rows come by push.
	pushed bool
}

// rowsOf is where the rows of a row group come from.
type rowsOf interface {
	Next(n int) (arrays []arrow.Array, rows int, err error)
	Close()
}

// Reader reads the rows of one row group in order. It belongs to one
// goroutine.
type Reader struct {
	rows   rowsOf
	file   *dataset.ScratchFile // of staged columns
	schema *arrow.Schema
	opts   ReadOptions
	next   int     // rows to ask for
	perRow float64 // bytes of a row as estimated, then as measured
	group  int
	failed error
}

// Read opens row group g.
func (f *File) Read(g int, opts ReadOptions) (*Reader, error) {
	if g < 0 || g >= f.NumRowGroups() {
		return nil, fmt.Errorf("read parquet: row group %d is outside the file's %d", g, f.NumRowGroups())
	}
	if opts.Allocator == nil {
		return nil, fmt.Errorf("read parquet: ReadOptions.Allocator is nil")
	}
	if opts.BatchRows <= 0 {
		opts.BatchRows = DefaultBatchRows
	}
	if opts.BatchBytes <= 0 {
		opts.BatchBytes = DefaultBatchBytes
	}
	if opts.Window <= 0 {
		opts.Window = DefaultWindow
	}
	if opts.To == 0 {
		opts.To = f.RowGroupRows(g)
	}
	idx, err := f.fieldIndexes(opts.Columns)
	if err != nil {
		return nil, fmt.Errorf("read parquet: %w", err)
	}
	fields := make([]arrow.Field, len(idx))
	for i, x := range idx {
		fields[i] = f.schema.Fields[x].Arrow
	}
	r := &Reader{opts: opts, group: g}
	if err := r.open(f, idx); err != nil {
		return nil, fmt.Errorf("read parquet: %w", err)
	}
	md := f.schema.Arrow.Metadata()
	r.schema = arrow.NewSchema(fields, &md)
	_, raw := f.RowGroupBytes(g, opts.Columns)
	r.perRow = float64(raw)/float64(max(f.RowGroupRows(g), 1)) + slotBytes(fields)
	r.plan()
	return r, nil
}

// open opens the columns, side by side or staged.
func (r *Reader) open(f *File, fields []int) (err error) {
	cfg := read.Config{Allocator: r.opts.Allocator, Window: r.opts.Window, ColumnBytes: int(min(2*r.opts.BatchBytes, 1<<30)), Pushed: r.opts.pushed}
	if r.opts.pushed || r.opts.MaxBytes <= 0 || r.opts.Scratch == nil || len(fields) < 2 || f.readMemory(r.group, fields) <= r.opts.MaxBytes {
		r.rows, err = read.Open(f.r, f.meta, f.schema, r.group, fields, r.opts.From, r.opts.To, cfg)
		return err
	}
	if r.file, err = r.opts.Scratch(); err != nil {
		return err
	}
	r.rows, err = read.OpenStaged(f.r, f.meta, f.schema, r.group, fields, r.opts.From, r.opts.To, cfg, r.file, r.opts.Check, r.opts.MaxBytes)
	if err != nil {
		r.closeFile()
	}
	return err
}

// readMemory estimates what reading fields of row group g side by side takes.
func (f *File) readMemory(g int, fields []int) int64 {
	return read.Memory(f.meta, f.schema, g, fields, 0)
}

// push adds rows to read.
func (r *Reader) push(s read.Span) { r.rows.(*read.RowGroup).Push(s) }

func (r *Reader) closeFile() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// slotBytes is the least that a row takes in Arrow, whatever the encoding
// squeezed it to.
func slotBytes(fields []arrow.Field) float64 {
	n := 0.0
	for _, f := range fields {
		switch t := f.Type.(type) {
		case *arrow.DictionaryType, arrow.BinaryDataType:
			n += 4
		case arrow.FixedWidthDataType:
			n += float64(t.BitWidth()) / 8
		default:
			n += 4
		}
	}
	return n
}

// plan sets the rows of the next batch from the bytes per row.
func (r *Reader) plan() {
	r.next = int(min(float64(r.opts.BatchRows), max(1, float64(r.opts.BatchBytes)/max(r.perRow, 0.125))))
}

// Schema returns the schema of the batches.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Next returns the next batch, which the caller releases, or io.EOF.
func (r *Reader) Next() (arrow.RecordBatch, error) {
	if r.failed != nil {
		return nil, r.failed
	}
	arrays, n, err := r.rows.Next(r.next)
	if err == io.EOF && r.opts.pushed {
		return nil, err // more may be pushed
	}
	if err != nil {
		if err != io.EOF {
			err = fmt.Errorf("read parquet: row group %d: %w", r.group, err)
		}
		_ = r.Close()
		r.failed = err
		return nil, err
	}
	b := array.NewRecordBatch(r.schema, arrays, int64(n))
	size := uint64(0)
	for _, a := range arrays {
		size += a.Data().SizeInBytes()
		a.Release()
	}
	// A dictionary counts once for all rows, so the measure errs towards
	// smaller batches, never larger ones.
	r.perRow = float64(size) / float64(n)
	r.plan()
	return b, nil
}

// Close releases what the reader holds. Batches stay valid.
func (r *Reader) Close() error {
	r.rows.Close()
	r.closeFile()
	r.failed = io.EOF
	return nil
}
