package parquet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/write"
)

// Defaults of WriteOptions.
const (
	DefaultRowGroupBytes = 64 << 20
	DefaultRowGroupRows  = 1 << 20
	DefaultPageBytes     = write.DefaultPageBytes
	DefaultPageRows      = write.DefaultPageRows
	DefaultCompression   = "snappy"
)

// WriteOptions says how a file is written. The zero value is ready to use but
// for the allocator.
type WriteOptions struct {
	// Compression is snappy (the default), zstd, gzip, lz4raw or none.
	Compression string
	// RowGroupBytes and RowGroupRows end a row group: the former counts bytes
	// before encoding.
	RowGroupBytes int64
	RowGroupRows  int64
	// PageBytes and PageRows end a page, whichever comes first: bytes of values before compression, of which an index of a dictionary counts
	// as two. Filters leave out whole pages by the page index, which every file has.
	PageBytes int64
	PageRows  int64
	// NoStatistics leaves minimum, maximum and null count out, of row groups and of pages.
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
	if o.PageBytes == 0 {
		o.PageBytes = DefaultPageBytes
	}
	if o.PageRows == 0 {
		o.PageRows = DefaultPageRows
	}
	if err := checkPage(o.PageBytes, o.PageRows); err != nil {
		return err
	}
	if o.CreatedBy == "" {
		o.CreatedBy = "sluice"
	}
	_, err := compression(o.Compression)
	return err
}

// Limits of pages: smaller ones are mostly headers and index, larger ones more than readers want to hold a column.
const (
	minPageBytes = 64
	maxPageBytes = 64 << 20
)

// checkPage checks the size of pages; zeros stand for the defaults.
func checkPage(bytes, rows int64) error {
	if bytes != 0 && (bytes < minPageBytes || bytes > maxPageBytes) {
		return fmt.Errorf("page_bytes=%d: must be from %d to %d", bytes, minPageBytes, maxPageBytes)
	}
	if rows < 0 {
		return fmt.Errorf("page_rows=%d: must be positive", rows)
	}
	return nil
}

func compression(name string) (format.CompressionCodec, error) {
	c, ok := codec.Names[strings.ToLower(name)]
	if !ok {
		return 0, fmt.Errorf("compression %q is unknown: use snappy, zstd, gzip, lz4raw or none", name)
	}
	return c, nil
}
