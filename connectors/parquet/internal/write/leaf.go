package write

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"

	"github.com/sluice-data/sluice/connectors/parquet/internal/codec"
	"github.com/sluice-data/sluice/connectors/parquet/internal/level"
	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

const (
	// DefaultPageBytes is where Snappy is fastest: its window stays in the cache.
	DefaultPageBytes = 256 << 10
	// DefaultPageRows is as many rows as have indexes of a dictionary that count as much.
	DefaultPageRows = DefaultPageBytes / indexBytes
	// indexBytes is what an index of a dictionary counts towards the size of a page, whatever it takes in the end.
	indexBytes = 2
	// headroom in front of a page's values takes the levels of a page without
	// nulls, so that the page is compressed where it was built.
	headroom = 64
)

// Options say how a leaf is written.
type Options struct {
	Codec      format.CompressionCodec
	Statistics bool
	// A page ends at the row that reaches PageBytes, or PageRows levels.
	PageBytes, PageRows int
}

// Leaf encodes one column of one file, row group by row group. It belongs to
// one goroutine at a time.
type Leaf struct {
	col   *schema.Column
	path  []string
	opt   Options
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
	rows    int64  // in chunk
	bounds  bounds // of the page
	total   bounds // of chunk
	pages   pages
	plain   int32 // pages by encoding
	indexed int32
	canDict bool
	header  []byte
}

// NewLeaf prepares a column. path is its path in the schema, dt the type of
// the arrays that will come.
func NewLeaf(c *schema.Column, path []string, dt arrow.DataType, opt Options, mem memory.Allocator) (*Leaf, error) {
	opt.PageRows = min(opt.PageRows, max(opt.PageBytes/indexBytes, 1))
	l := &Leaf{col: c, path: path, opt: opt, typ: dt}
	for _, b := range l.buffers() {
		b.mem = mem
	}
	if err := l.plan(dt); err != nil {
		return nil, err
	}
	l.bounds.order = l.order(dt)
	l.total.order = l.bounds.order
	l.reset()
	return l, nil
}

// order is how the values of the leaf compare, orderNone if nothing is to be said of them.
func (l *Leaf) order(dt arrow.DataType) order {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	switch {
	case !l.opt.Statistics || dt.ID() == arrow.NULL:
		return orderNone
	case dt.ID() == arrow.FLOAT16:
		return orderHalf
	case l.bounds.order != orderNone:
		return l.bounds.order
	}
	return columnOrder(l.col.Physical, l.col.Unsigned, l.width)
}

func (l *Leaf) buffers() []*buffer {
	return []*buffer{&l.vals, &l.valid, &l.chunk, &l.packed, &l.dict.data, &l.hashes, &l.pages.bounds}
}

// reset readies the leaf for a row group.
func (l *Leaf) reset() {
	l.startPage()
	l.chunk.n, l.hashes.n = 0, 0
	l.values, l.raw, l.allNull, l.rows = 0, 0, 0, 0
	l.plain, l.indexed = 0, 0
	l.total.reset()
	l.pages.reset()
	l.dict.reset()
	l.useDict, l.tried, l.reviewed = l.canDict, 0, false
}

func (l *Leaf) startPage() {
	l.vals.n = 0
	l.vals.extend(headroom)
	l.bits, l.levels, l.nulls, l.valid.n, l.pageRaw = 0, 0, 0, 0, 0
	l.idx, l.defs, l.reps = l.idx[:0], l.defs[:0], l.reps[:0]
	l.bounds.reset()
}

// Held is the memory that the leaf holds.
func (l *Leaf) Held() int64 {
	n := l.dict.held() + l.pages.held() + int64(cap(l.idx))*4 + int64(cap(l.defs)+cap(l.reps))
	for _, b := range l.buffers() {
		n += b.held()
	}
	return n
}

// Release frees the memory of the leaf.
func (l *Leaf) Release() {
	l.dict.forget()
	for _, b := range l.buffers() {
		b.release()
	}
}

// full reports whether the page has reached its size.
func (l *Leaf) full() bool {
	return l.levels >= l.opt.PageRows || l.vals.n-headroom >= l.opt.PageBytes
}

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
		l.boundIndexes()
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
	at := l.chunk.n
	if err := l.emit(&h, page, &l.chunk); err != nil {
		return err
	}
	l.notePage(at)
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
	l.header = append(slices.Grow(l.header[:0], len(l.idx)*int(width)/8+headroom), byte(width))
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
	if l.opt.Codec != format.Uncompressed {
		l.packed.n = 0
		room := l.packed.extend(codec.Bound(l.opt.Codec, len(page)))
		out, err := codec.Append(l.opt.Codec, room[:0], page)
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
