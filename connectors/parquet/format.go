package parquet

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// Format writes Parquet files for the file sink.
type Format struct{ opt FormatOptions }

var _ dataset.Format = (*Format)(nil)

// NewFormat makes the format.
func NewFormat(opt FormatOptions) (*Format, error) {
	if opt.Compression != "" {
		if _, err := compression(opt.Compression); err != nil {
			return nil, dataset.Usagef("compression=%s: must be snappy, zstd, gzip, lz4raw or none", opt.Compression)
		}
	}
	if opt.RowGroupBytes < 0 || opt.RowGroupRows < 0 {
		return nil, dataset.Usagef("row_group_bytes=%d row_group_rows=%d: must be positive", opt.RowGroupBytes, opt.RowGroupRows)
	}
	if err := checkPage(int64(opt.PageBytes), opt.PageRows); err != nil {
		return nil, dataset.Usagef("%s", err)
	}
	switch opt.Layout {
	case "", "binary", "list":
	default:
		return nil, dataset.Usagef("layout=%s: must be binary or list", opt.Layout)
	}
	return &Format{opt}, nil
}

// Name implements dataset.Format.
func (f *Format) Name() string { return "parquet" }

// Version implements dataset.Format.
func (f *Format) Version() int { return 1 }

// Params implements dataset.Format.
func (f *Format) Params() any { return f.opt }

// Extension implements dataset.Format.
func (f *Format) Extension() string { return "parquet" }

// Check implements dataset.Format.
func (f *Format) Check(in *arrow.Schema) error {
	seen := map[string]bool{}
	for _, field := range in.Fields() {
		if seen[field.Name] {
			return fmt.Errorf("write parquet: two columns are named %q; rename one", field.Name)
		}
		seen[field.Name] = true
	}
	err := CheckSchema(in)
	if err == nil {
		err = checkBloom(in, f.opt.Bloom)
	}
	if err == nil && len(f.opt.Sort) > 0 {
		err = checkSort(in, f.opt)
	}
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

func checkSort(in *arrow.Schema, opt FormatOptions) error {
	stored := in
	if opt.Layout != "list" {
		stored = storedSchema(in)
	}
	m, err := newFooter(stored, "")
	if err == nil {
		_, err = newRowOrder(stored, m, opt.Sort)
	}
	return err
}

// NewEncoder implements dataset.Format.
func (f *Format) NewEncoder(w io.Writer, in *arrow.Schema, mem memory.Allocator, parallel int) (dataset.Encoder, error) {
	if err := f.Check(in); err != nil {
		return nil, err
	}
	pw, err := NewWriter(w, in, WriteOptions{
		Compression: f.opt.Compression, RowGroupBytes: f.groupBytes(mem, in.NumFields()), RowGroupRows: f.opt.RowGroupRows,
		PageBytes: int64(f.opt.PageBytes), PageRows: f.opt.PageRows,
		NoStatistics: f.opt.NoStatistics, Bloom: f.opt.Bloom, Sort: f.opt.Sort, TensorLists: f.opt.Layout == "list", Parallel: parallel, Allocator: mem,
	})
	if err != nil {
		return nil, err
	}
	return &encoder{pw}, nil
}

const (
	// groupShare is the part of the memory budget that one file's row group may gather: there is a writer a CPU, buffers double when they
	// grow, and the stages before the sink need the rest.
	groupShare = 32
	// A row group of very many columns would have next to nothing of each, and as much again to say about them in the footer: it may
	// grow to groupColumn for each, within wideShare of the budget.
	groupColumn = 64 << 10
	wideShare   = 8
)

// groupBytes is where a row group ends: as asked for, else at the default or at the writer's share of a small budget.
func (f *Format) groupBytes(mem memory.Allocator, columns int) int64 {
	if f.opt.RowGroupBytes > 0 {
		return int64(f.opt.RowGroupBytes)
	}
	most := max(DefaultRowGroupBytes, int64(columns)*groupColumn)
	if b, ok := mem.(interface{ Budget() int64 }); ok {
		wide := min(int64(columns)*groupColumn, b.Budget()/wideShare)
		return min(max(b.Budget()/groupShare, wide, 1<<20), most)
	}
	return most
}

// Join implements dataset.Format: row groups are copied.
func (f *Format) Join(ctx context.Context, w io.Writer, parts []dataset.JoinPart) error {
	in := make([]Part, len(parts))
	for i, p := range parts {
		in[i] = Part{p.ReaderAt, p.Size}
	}
	_, err := Concat(ctx, w, in...)
	return err
}

// encoder is a Writer as the file sink wants it.
type encoder struct{ *Writer }

// Write implements dataset.Encoder.
func (e *encoder) Write(ctx context.Context, b *block.Block) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return e.Writer.Write(b.Record())
}

// Close implements dataset.Encoder.
func (e *encoder) Close(context.Context) error { return e.Writer.Close() }
