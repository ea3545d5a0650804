package meta

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// maxIndex bounds a column or offset index, which has some 50 bytes a page.
const maxIndex = 16 << 20

// PageIndex is where the pages of a column chunk begin, and the bounds of each.
type PageIndex struct {
	format.ColumnIndex
	First []int64 // first row of each page, in the row group
}

// ReadPageIndex reads the page index of a chunk of a row group of rows rows in a file of size bytes; nil if it has none. What it returns is
// consistent: lists of one length, and pages whose first rows ascend from 0.
func ReadPageIndex(r io.ReaderAt, size int64, c *ColumnChunk, rows int64) (*PageIndex, error) {
	if !c.ColumnIndexOffset.Valid || !c.OffsetIndexOffset.Valid || c.ColumnIndexLength.V <= 0 || c.OffsetIndexLength.V <= 0 {
		return nil, nil
	}
	out := &PageIndex{}
	if err := readStruct(r, size, c.ColumnIndexOffset.V, int64(c.ColumnIndexLength.V), &out.ColumnIndex); err != nil {
		return nil, fmt.Errorf("column index: %w", err)
	}
	var offsets format.OffsetIndex
	if err := readStruct(r, size, c.OffsetIndexOffset.V, int64(c.OffsetIndexLength.V), &offsets); err != nil {
		return nil, fmt.Errorf("offset index: %w", err)
	}
	n := len(offsets.PageLocations)
	if len(out.NullPages) != n || len(out.MinValues) != n || len(out.MaxValues) != n || len(out.NullCounts) != n && len(out.NullCounts) != 0 {
		return nil, fmt.Errorf("page index has bounds of %d, %d, %d and %d pages for %d pages", len(out.NullPages), len(out.MinValues), len(out.MaxValues), len(out.NullCounts), n)
	}
	for i := range offsets.PageLocations {
		at := offsets.PageLocations[i].FirstRowIndex
		if i == 0 && at != 0 || i > 0 && at < out.First[i-1] || at > rows {
			return nil, fmt.Errorf("page index has page %d begin at row %d of %d", i, at, rows)
		}
		out.First = append(out.First, at)
	}
	return out, nil
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
