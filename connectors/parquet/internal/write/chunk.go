package write

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
)

// Chunk is what a file says of a chunk of a column that has been written.
type Chunk struct {
	Chunk meta.ColumnChunk
	Index meta.Index
	Pages int    // of values
	Bloom []byte // nil unless WantBloom was called
}

// WriteChunk ends the row group of the column: it writes its chunk to w, which
// is at offset in the file.
func (l *Leaf) WriteChunk(w io.Writer, offset int64) (out Chunk, err error) {
	if err := l.FlushPage(); err != nil {
		return out, err
	}
	if l.indexed > 0 {
		l.hashValues(l.dict.data.bytes())
	}
	if out.Bloom, err = l.takeBloom(); err != nil {
		return out, err
	}
	md := meta.ColumnMetaData{
		Type: l.col.Physical, PathInSchema: l.path, Codec: l.opt.Codec,
		Encodings: []format.Encoding{format.Plain, format.RLE},
		NumValues: l.values, DataPageOffset: offset,
		Statistics: l.total.statistics(l.allNull),
	}
	if l.indexed > 0 {
		l.vals.n = 0
		h := meta.PageHeader{Type: format.DictionaryPage, NumValues: int32(l.dict.len()), Encoding: format.Plain}
		if err := l.emit(&h, l.dict.data.bytes(), &l.vals); err != nil {
			return out, fmt.Errorf("dictionary: %w", err)
		}
		if _, err := w.Write(l.vals.bytes()); err != nil {
			return out, err
		}
		md.DictionaryPageOffset = thrift.New(offset)
		md.DataPageOffset = offset + int64(l.vals.n)
		md.TotalCompressedSize = int64(l.vals.n)
		md.Encodings = append(md.Encodings, format.RLEDictionary)
		md.EncodingStats = append(md.EncodingStats, format.PageEncodingStats{PageType: format.DictionaryPage, Encoding: format.Plain, Count: 1},
			format.PageEncodingStats{PageType: format.DataPage, Encoding: format.RLEDictionary, Count: l.indexed})
	}
	if l.plain > 0 {
		md.EncodingStats = append(md.EncodingStats, format.PageEncodingStats{PageType: format.DataPage, Encoding: format.Plain, Count: l.plain})
	}
	if _, err := w.Write(l.chunk.bytes()); err != nil {
		return out, err
	}
	md.TotalCompressedSize += int64(l.chunk.n)
	md.TotalUncompressedSize = l.raw
	if out.Index, err = l.pages.encode(md.DataPageOffset, l.bounds.order, l.opt.Statistics); err != nil {
		return out, err
	}
	out.Pages = len(l.pages.list)
	l.reset()
	out.Chunk = meta.ColumnChunk{MetaData: thrift.New(md)}
	return out, nil
}
