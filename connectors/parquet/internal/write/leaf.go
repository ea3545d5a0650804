package write

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/level"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

const (
	// A page ends at the row that reaches pageBytes, which is where Snappy is
	// fastest (its window stays in the cache), or pageRows levels.
	pageBytes = 256 << 10
	pageRows  = 128 << 10
	// headroom in front of a page's values takes the levels of a page without
	// nulls, so that the page is compressed where it was built.
	headroom = 64
)

// Leaf encodes one column of one file, row group by row group. It belongs to
// one goroutine at a time.
type Leaf struct {
	col   *schema.Column
	path  []string
	codec format.CompressionCodec
	typ   arrow.DataType // storage type of the arrays
	width int            // bytes per plain value, 0 for byte arrays and booleans
	put   func(l *Leaf, a arrow.ArrayData, lo, hi int) (int, error)

	vals   buffer // headroom, then plain values of the page
	bits   int    // booleans in vals
	idx    []uint32
	levels int    // of the page
	nulls  int    // of the page
	valid  buffer // flat columns: validity of the page, once it has nulls
	defs   []byte // nested columns
	reps   []byte

	dict     dict
	useDict  bool
	reviewed bool // the sample has been judged
	tried    int  // values that went through the dictionary
	pageRaw  int  // their bytes in the page

	bloom  bool
	hashes buffer // of plain values of the row group, for its Bloom filter

	chunk   buffer // finished pages
	packed  buffer // one page, compressed
	values  int64  // levels in chunk
	raw     int64  // uncompressed bytes of chunk, with headers
	allNull int64
	bounds  bounds
	plain   int32 // pages by encoding
	indexed int32
	canDict bool
	header  []byte
}

// NewLeaf prepares a column. path is its path in the schema, dt the type of
// the arrays that will come.
func NewLeaf(c *schema.Column, path []string, dt arrow.DataType, cd format.CompressionCodec, stats bool, mem memory.Allocator) (*Leaf, error) {
	l := &Leaf{col: c, path: path, codec: cd, typ: dt}
	for _, b := range []*buffer{&l.vals, &l.valid, &l.chunk, &l.packed, &l.dict.data, &l.hashes} {
		b.mem = mem
	}
	if err := l.plan(dt); err != nil {
		return nil, err
	}
	if stats {
		o := columnOrder(c.Physical, c.Unsigned)
		if l.bounds.order == orderNone {
			l.bounds.order = o
		}
		if dt.ID() == arrow.NULL || dt.ID() == arrow.FLOAT16 {
			l.bounds.order = orderNone
		}
	} else {
		l.bounds.order = orderNone
	}
	l.reset()
	return l, nil
}

// reset readies the leaf for a row group.
func (l *Leaf) reset() {
	l.startPage()
	l.chunk.n, l.hashes.n = 0, 0
	l.values, l.raw, l.allNull = 0, 0, 0
	l.plain, l.indexed = 0, 0
	l.bounds.reset()
	l.dict.reset()
	l.useDict, l.tried, l.reviewed = l.canDict, 0, false
}

func (l *Leaf) startPage() {
	l.vals.n = 0
	l.vals.extend(headroom)
	l.bits, l.levels, l.nulls, l.valid.n, l.pageRaw = 0, 0, 0, 0, 0
	l.idx, l.defs, l.reps = l.idx[:0], l.defs[:0], l.reps[:0]
}

// Held is the memory that the leaf holds.
func (l *Leaf) Held() int64 {
	return l.vals.held() + l.valid.held() + l.chunk.held() + l.packed.held() + l.dict.held() + l.hashes.held() +
		int64(cap(l.idx))*4 + int64(cap(l.defs)+cap(l.reps))
}

// Release frees the memory of the leaf.
func (l *Leaf) Release() {
	l.dict.forget()
	for _, b := range []*buffer{&l.vals, &l.valid, &l.chunk, &l.packed, &l.dict.data, &l.hashes} {
		b.release()
	}
}

// full reports whether the page has reached its size.
func (l *Leaf) full() bool { return l.levels >= pageRows || l.vals.n-headroom >= pageBytes }

// markValid and markNull note validity of a flat column.
func (l *Leaf) mark(n int, valid bool) {
	if !valid || l.valid.n > 0 {
		l.growValid(n)
		bitutil.SetBitsTo(l.valid.bytes(), int64(l.levels), int64(n), valid)
	}
	if !valid {
		l.nulls += n
	}
	l.levels += n
}

// growValid makes room for n more validity bits; the first call writes down
// the valid rows so far.
func (l *Leaf) growValid(n int) {
	fresh := l.valid.n == 0
	if need := (l.levels + n + 7) / 8; need > l.valid.n {
		clear(l.valid.extend(need - l.valid.n))
	}
	if fresh {
		bitutil.SetBitsTo(l.valid.bytes(), 0, int64(l.levels), true)
	}
}

// FlushPage ends the page.
func (l *Leaf) FlushPage() error {
	if l.levels == 0 {
		return nil
	}
	h := meta.PageHeader{Type: format.DataPage, NumValues: int32(l.levels), Encoding: format.Plain}
	if l.useDict {
		l.encodeIndexes()
		h.Encoding = format.RLEDictionary
		l.indexed++
	} else {
		l.plain++
		l.hashValues(l.vals.bytes()[headroom:])
	}
	page := l.withLevels()
	l.allNull += int64(l.nulls)
	l.values += int64(l.levels)
	if err := l.emit(&h, page, &l.chunk); err != nil {
		return err
	}
	l.startPage()
	if l.useDict && l.dict.data.n > dictBytes {
		l.useDict = false
		l.dict.forget()
	}
	return nil
}

// encodeIndexes turns the page's indexes into its values.
func (l *Leaf) encodeIndexes() {
	width := level.Width(max(l.dict.len()-1, 0))
	l.header = append(l.header[:0], byte(width))
	l.header = level.Append(l.header, l.idx, width)
	l.vals.append(l.header)
}

// withLevels puts the levels in front of the values and returns the page.
func (l *Leaf) withLevels() []byte {
	lv := l.header[:0]
	if l.col.MaxRep > 0 {
		lv = prefixed(lv, func(b []byte) []byte { return level.Append(b, l.reps, level.Width(l.col.MaxRep)) })
	}
	if l.col.MaxDef > 0 {
		lv = prefixed(lv, l.appendDefs)
	}
	l.header = lv
	if len(lv) <= headroom {
		copy(l.vals.b[headroom-len(lv):headroom], lv)
		return l.vals.bytes()[headroom-len(lv):]
	}
	grow := len(lv) - headroom
	l.vals.extend(grow)
	b := l.vals.bytes()
	copy(b[headroom+grow:], b[headroom:len(b)-grow])
	copy(b, lv)
	return b
}

func (l *Leaf) appendDefs(b []byte) []byte {
	switch {
	case len(l.defs) > 0:
		return level.Append(b, l.defs, level.Width(l.col.MaxDef))
	case l.nulls == 0:
		return level.AppendRepeat(b, l.levels, uint32(l.col.MaxDef), level.Width(l.col.MaxDef))
	case l.nulls == l.levels:
		return level.AppendRepeat(b, l.levels, 0, level.Width(l.col.MaxDef))
	}
	return level.AppendBitmap(b, l.valid.bytes(), 0, l.levels)
}

// prefixed appends what f appends, behind its length.
func prefixed(b []byte, f func([]byte) []byte) []byte {
	at := len(b)
	b = f(append(b, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// emit compresses a page and appends it to dst behind its header.
func (l *Leaf) emit(h *meta.PageHeader, page []byte, dst *buffer) error {
	if len(page) > codec.MaxPage {
		return fmt.Errorf("page of %d bytes is over the limit of %d: split the value", len(page), codec.MaxPage)
	}
	body := page
	if l.codec != format.Uncompressed {
		l.packed.n = 0
		room := l.packed.extend(codec.Bound(l.codec, len(page)))
		out, err := codec.Append(l.codec, room[:0], page)
		if err != nil {
			return err
		}
		body = out
	}
	h.UncompressedSize, h.CompressedSize = int32(len(page)), int32(len(body))
	var err error
	if l.header, err = meta.AppendPageHeader(l.header[:0], h); err != nil {
		return err
	}
	dst.append(l.header)
	dst.append(body)
	l.raw += int64(len(l.header) + len(page))
	return nil
}

// WriteChunk ends the row group of the column: it writes its chunk to w, which
// is at offset in the file, and returns the chunk's metadata and Bloom filter,
// which is nil unless WantBloom was called.
func (l *Leaf) WriteChunk(w io.Writer, offset int64) (chunk meta.ColumnChunk, filter []byte, err error) {
	if err := l.FlushPage(); err != nil {
		return chunk, nil, err
	}
	if l.indexed > 0 {
		l.hashValues(l.dict.data.bytes())
	}
	if filter, err = l.takeBloom(); err != nil {
		return chunk, nil, err
	}
	md := meta.ColumnMetaData{
		Type: l.col.Physical, PathInSchema: l.path, Codec: l.codec,
		Encodings: []format.Encoding{format.Plain, format.RLE},
		NumValues: l.values, DataPageOffset: offset,
		Statistics: l.bounds.statistics(l.allNull),
	}
	if l.indexed > 0 {
		l.vals.n = 0
		h := meta.PageHeader{Type: format.DictionaryPage, NumValues: int32(l.dict.len()), Encoding: format.Plain}
		if err := l.emit(&h, l.dict.data.bytes(), &l.vals); err != nil {
			return chunk, nil, fmt.Errorf("dictionary: %w", err)
		}
		if _, err := w.Write(l.vals.bytes()); err != nil {
			return chunk, nil, err
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
		return chunk, nil, err
	}
	md.TotalCompressedSize += int64(l.chunk.n)
	md.TotalUncompressedSize = l.raw
	l.reset()
	return meta.ColumnChunk{MetaData: thrift.New(md)}, filter, nil
}
