package parquet

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// ErrNotParquet says that a file does not have the form of Parquet.
var ErrNotParquet = meta.ErrNotParquet

// ErrEncrypted says that a file uses Parquet's encryption.
var ErrEncrypted = meta.ErrEncrypted

// File is an open Parquet file. It holds the footer and is safe for concurrent
// use as far as its io.ReaderAt is; it does not close it.
type File struct {
	r      io.ReaderAt
	size   int64
	meta   *meta.FileMetaData
	schema *schema.Schema
}

// Open reads the footer of the size bytes of r. Every offset and size in it
// has been checked against the size of the file when Open returns.
func Open(r io.ReaderAt, size int64) (*File, error) {
	m, err := meta.Read(r, size)
	if err != nil {
		return nil, fmt.Errorf("open parquet file: %w", err)
	}
	s, err := schema.FromFile(m)
	if err != nil {
		return nil, fmt.Errorf("open parquet file: %w", err)
	}
	return &File{r: r, size: size, meta: m, schema: s}, nil
}

// Schema returns the Arrow schema of the file.
func (f *File) Schema() *arrow.Schema { return f.schema.Arrow }

// NumRows returns the number of rows of the file.
func (f *File) NumRows() int64 { return f.meta.NumRows }

// NumRowGroups returns the number of row groups, which may be zero.
func (f *File) NumRowGroups() int { return len(f.meta.RowGroups) }

// RowGroupRows returns the number of rows of row group g.
func (f *File) RowGroupRows(g int) int64 { return f.meta.RowGroups[g].NumRows }

// RowGroupBytes returns the compressed and uncompressed bytes of the named
// columns of row group g, of all columns when there are none named.
func (f *File) RowGroupBytes(g int, columns []string) (compressed, uncompressed int64) {
	rg := &f.meta.RowGroups[g]
	for _, fd := range f.schema.Fields {
		if columns != nil && !slices.Contains(columns, fd.Arrow.Name) {
			continue
		}
		for _, c := range fd.Columns(nil) {
			md := &rg.Columns[c.Index].MetaData.V
			compressed += md.TotalCompressedSize
			uncompressed += md.TotalUncompressedSize
		}
	}
	return compressed, uncompressed
}

// groups are the row groups with rows of [from, to): [first, end).
func (f *File) groups(from, to uint64) (first, end int) {
	row := uint64(0)
	for g := range f.NumRowGroups() {
		if row >= to {
			break
		}
		if row += uint64(f.RowGroupRows(g)); row <= from {
			first = g + 1
		}
		end = g + 1
	}
	return min(first, end), end
}

// parts are where the named columns of row group g lie in the file.
func (f *File) parts(g int, columns []string) (out []file.Part) {
	rg := &f.meta.RowGroups[g]
	for _, fd := range f.schema.Fields {
		if !slices.Contains(columns, fd.Arrow.Name) {
			continue
		}
		for _, c := range fd.Columns(nil) {
			chunk := &rg.Columns[c.Index]
			out = append(out, file.Part{Off: chunk.Start(), Len: chunk.MetaData.V.TotalCompressedSize, Turn: g})
		}
	}
	return out
}

// Warnings returns what is odd about the file without keeping it from being
// read.
func (f *File) Warnings() []string { return slices.Clone(f.schema.Warnings) }

// CreatedBy returns the name of the program that wrote the file.
func (f *File) CreatedBy() string { return f.meta.CreatedBy }

// fieldIndexes maps column names to fields, in the order given; nil means all.
func (f *File) fieldIndexes(columns []string) ([]int, error) {
	if columns == nil {
		out := make([]int, len(f.schema.Fields))
		for i := range out {
			out[i] = i
		}
		return out, nil
	}
	out := make([]int, 0, len(columns))
	for _, name := range columns {
		i := slices.IndexFunc(f.schema.Fields, func(fd *schema.Field) bool { return fd.Arrow.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("column %q is not in the file, which has %s", name, f.columnNames())
		}
		out = append(out, i)
	}
	return out, nil
}

// namedColumns bounds how many columns an error message lists.
const namedColumns = 12

func (f *File) columnNames() string {
	var names []string
	for i, fd := range f.schema.Fields {
		if i == namedColumns {
			names = append(names, fmt.Sprintf("… (%d in all)", len(f.schema.Fields)))
			break
		}
		names = append(names, fmt.Sprintf("%q", fd.Arrow.Name))
	}
	return strings.Join(names, ", ")
}
