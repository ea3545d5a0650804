package meta

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxIndex bounds a column or offset index, which has some 50 bytes a page.
const maxIndex = 16 << 20

// Index is the encoded page index of a column chunk that is being written: the bounds of its pages and their places. Either may be missing.
type Index struct{ Columns, Offsets []byte }

// EncodeIndex encodes a page index; columns is nil if there are no bounds.
func EncodeIndex(columns *format.ColumnIndex, offsets *format.OffsetIndex) (ix Index, err error) {
	if columns != nil {
		if ix.Columns, err = thrift.Marshal(new(thrift.CompactProtocol), columns); err != nil {
			return ix, fmt.Errorf("write column index: %w", err)
		}
	}
	if ix.Offsets, err = thrift.Marshal(new(thrift.CompactProtocol), offsets); err != nil {
		return ix, fmt.Errorf("write offset index: %w", err)
	}
	return ix, nil
}

// MovedIndex reads the page index of a chunk of rows rows from a file of size bytes, for a copy of the chunk that lies shift bytes further on.
// What is missing or damaged is left out.
func MovedIndex(r io.ReaderAt, size int64, c *ColumnChunk, rows, shift int64) (out Index) {
	var columns *format.ColumnIndex
	offsets, _, err := readOffsets(r, size, c, rows)
	if err != nil || offsets == nil {
		return out
	}
	if ix, err := ReadPageIndex(r, size, c, rows); ix != nil && err == nil {
		columns = &ix.ColumnIndex
	}
	for i := range offsets.PageLocations {
		offsets.PageLocations[i].Offset += shift
	}
	if out, err = EncodeIndex(columns, offsets); err != nil {
		return Index{}
	}
	return out
}

// PageIndex is where the pages of a column chunk begin, and the bounds of each.
type PageIndex struct {
	format.ColumnIndex
	First []int64 // first row of each page, in the row group
}

// ReadPageIndex reads the page index of a chunk of a row group of rows rows in a file of size bytes; nil if it has none. What it returns is
// consistent: lists of one length, and pages whose first rows ascend from 0.
func ReadPageIndex(r io.ReaderAt, size int64, c *ColumnChunk, rows int64) (*PageIndex, error) {
	if !c.ColumnIndexOffset.Valid || c.ColumnIndexLength.V <= 0 {
		return nil, nil
	}
	offsets, first, err := readOffsets(r, size, c, rows)
	if offsets == nil || err != nil {
		return nil, err
	}
	out := &PageIndex{First: first}
	if err := readStruct(r, size, c.ColumnIndexOffset.V, int64(c.ColumnIndexLength.V), &out.ColumnIndex); err != nil {
		return nil, fmt.Errorf("column index: %w", err)
	}
	n := len(first)
	if len(out.NullPages) != n || len(out.MinValues) != n || len(out.MaxValues) != n || len(out.NullCounts) != n && len(out.NullCounts) != 0 {
		return nil, fmt.Errorf("page index has bounds of %d, %d, %d and %d pages for %d pages", len(out.NullPages), len(out.MinValues), len(out.MaxValues), len(out.NullCounts), n)
	}
	return out, nil
}

// readOffsets reads where the pages of a chunk lie, and their first rows; nil if the file does not tell.
func readOffsets(r io.ReaderAt, size int64, c *ColumnChunk, rows int64) (*format.OffsetIndex, []int64, error) {
	if !c.OffsetIndexOffset.Valid || c.OffsetIndexLength.V <= 0 {
		return nil, nil, nil
	}
	out := new(format.OffsetIndex)
	if err := readStruct(r, size, c.OffsetIndexOffset.V, int64(c.OffsetIndexLength.V), out); err != nil {
		return nil, nil, fmt.Errorf("offset index: %w", err)
	}
	first := make([]int64, 0, len(out.PageLocations))
	for i := range out.PageLocations {
		at := out.PageLocations[i].FirstRowIndex
		if i == 0 && at != 0 || i > 0 && at < first[i-1] || at > rows {
			return nil, nil, fmt.Errorf("page index has page %d begin at row %d of %d", i, at, rows)
		}
		first = append(first, at)
	}
	return out, first, nil
}

// readStruct decodes one structure of n bytes at off.
func readStruct(r io.ReaderAt, size, off, n int64, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("malformed: %v", p)
		}
	}()
	if n > maxIndex {
		return fmt.Errorf("%d bytes are over the limit of %d", n, maxIndex)
	}
	if off < 0 || off > size || n > size-off {
		return fmt.Errorf("%d bytes at %d reach past the end of the file at %d", n, off, size)
	}
	b := make([]byte, n)
	if err := readFull(r, b, off); err != nil {
		return err
	}
	if _, err := check(b); err != nil {
		return fmt.Errorf("at %d: %w", off, err)
	}
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b)).Decode(v); err != nil {
		return fmt.Errorf("at %d: %w", off, err)
	}
	return nil
}
