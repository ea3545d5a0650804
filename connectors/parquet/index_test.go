package parquet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/connectors/parquet/internal/schema"
)

// TestPageIndex holds the page indexes of random files, also of joined ones, against their pages.
func TestPageIndex(t *testing.T) {
	pages := 0
	rapid.Check(t, func(t *rapid.T) {
		b := drawBatch(t)
		defer b.Release()
		opts := drawWriteOptions(t)
		if opts.Compression == "lz4raw" { // parquet-go 0.32 spoils such pages when it recycles buffers; the first reading of a file is right, and so is every one of pyarrow
			opts.Compression = "none"
		}
		opts.PageRows = rapid.SampledFrom([]int64{0, 1, 5, 40}).Draw(t, "page rows")
		opts.PageBytes = rapid.SampledFrom([]int64{0, 64, 500}).Draw(t, "page bytes")
		raw := ourWrite(t, b, opts)
		if cut := ourWrite(t, b, opts, 1, 13); !bytes.Equal(raw, cut) {
			t.Fatalf("the bytes depend on the batches: %d and %d", len(raw), len(cut))
		}
		n := checkIndex(t, raw)
		var joined bytes.Buffer
		if _, err := Concat(context.Background(), &joined, part(raw), part(raw)); err != nil {
			t.Fatalf("concat: %v", err)
		}
		if two := checkIndex(t, joined.Bytes()); two != 2*n {
			t.Fatalf("%d pages, after joining the file with itself %d", n, two)
		}
		sameRows(t, tableOf(b), pqRead(t, raw))
		pages += n
	})
	if pages < 1000 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

// checkIndex compares what the page indexes of a file say with its pages, both as parquet-go reads them, and has arrow-go read the indexes. It
// returns how many pages there are.
func checkIndex(t fataler, raw []byte) (pages int) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	m, err := meta.Read(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	s, err := schema.FromFile(m)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	var logical []*format.LogicalType
	for i := range m.Schema {
		if m.Schema[i].NumChildren.V == 0 {
			logical = append(logical, &m.Schema[i].LogicalType)
		}
	}
	for g, rg := range f.RowGroups() {
		for c, chunk := range rg.ColumnChunks() {
			md := &m.RowGroups[g].Columns[c]
			column := indexedColumn{Column: s.Columns[c], logical: logical[c]}
			pages += column.check(t, chunk, md, m.RowGroups[g].NumRows)
		}
	}
	arrowIndex(t, raw)
	return pages
}

// indexedColumn knows how values of a column compare.
type indexedColumn struct {
	*schema.Column
	logical *format.LogicalType
}

// check walks the pages of a chunk.
func (c *indexedColumn) check(t fataler, chunk pq.ColumnChunk, md *meta.ColumnChunk, rows int64) (n int) {
	t.Helper()
	bounds, err := chunk.ColumnIndex()
	if err != nil {
		t.Fatalf("%s: column index: %v", c.Path, err)
	}
	places, err := chunk.OffsetIndex()
	if err != nil {
		t.Fatalf("%s: offset index: %v", c.Path, err)
	}
	pages := chunk.Pages()
	defer pages.Close()
	at, row := md.MetaData.V.DataPageOffset, int64(0)
	up, down := true, true
	last := -1
	for ; ; n++ {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: page %d: %v", c.Path, n, err)
		}
		if places.Offset(n) != at || places.FirstRowIndex(n) != row {
			t.Fatalf("%s: page %d lies at %d and begins with row %d, the index says %d and %d", c.Path, n, at, row, places.Offset(n), places.FirstRowIndex(n))
		}
		at += places.CompressedPageSize(n)
		row += p.NumRows()
		c.checkPage(t, n, p, bounds)
		pq.Release(p)
		if bounds.NullPage(n) {
			continue
		}
		if last >= 0 {
			lo, hi := c.compare(bounds.MinValue(last), bounds.MinValue(n)), c.compare(bounds.MaxValue(last), bounds.MaxValue(n))
			up, down = up && lo <= 0 && hi <= 0, down && lo >= 0 && hi >= 0
		}
		last = n
	}
	if bounds.NumPages() != n || places.NumPages() != n || row != rows || at != md.Start()+md.MetaData.V.TotalCompressedSize {
		t.Fatalf("%s: %d pages of %d rows end at %d; the index has %d and %d pages", c.Path, n, row, at, bounds.NumPages(), places.NumPages())
	}
	if bounds.IsAscending() != up || bounds.IsDescending() != (down && !up) {
		t.Fatalf("%s: bounds rise: %t, the index says %t; fall: %t, %t", c.Path, up, bounds.IsAscending(), down, bounds.IsDescending())
	}
	return n
}

// checkPage compares what the index says of a page with its values.
func (c *indexedColumn) checkPage(t fataler, n int, p pq.Page, bounds pq.ColumnIndex) {
	t.Helper()
	values := make([]pq.Value, p.NumValues())
	if got, err := p.Values().ReadValues(values); got != len(values) || err != nil && err != io.EOF {
		t.Fatalf("%s: page %d: %d of %d values: %v", c.Path, n, got, len(values), err)
	}
	nulls := int64(0)
	var lo, hi *pq.Value
	for i, v := range values {
		if v.IsNull() {
			nulls++
			continue
		}
		if c.nan(v) {
			continue
		}
		if lo == nil || c.compare(v, *lo) < 0 {
			lo = &values[i]
		}
		if hi == nil || c.compare(v, *hi) > 0 {
			hi = &values[i]
		}
	}
	if bounds.NullCount(n) != nulls || bounds.NullPage(n) != (nulls == int64(len(values))) {
		t.Fatalf("%s: page %d has %d nulls of %d, the index says %d, nulls only: %t", c.Path, n, nulls, len(values), bounds.NullCount(n), bounds.NullPage(n))
	}
	if lo == nil {
		return
	}
	least, most := c.compare(bounds.MinValue(n), *lo), c.compare(bounds.MaxValue(n), *hi)
	exact := c.Physical != format.ByteArray || len(lo.ByteArray()) <= 64 && len(hi.ByteArray()) <= 64
	if least > 0 || most < 0 || exact && (least != 0 || most != 0) {
		t.Fatalf("%s: page %d reaches from %v to %v, the index says %v to %v", c.Path, n, lo, hi, bounds.MinValue(n), bounds.MaxValue(n))
	}
}

func (c *indexedColumn) isHalf() bool {
	_, ok := c.logical.Value.(*format.Float16Type)
	return ok
}

func (c *indexedColumn) isDecimal() bool {
	_, ok := c.logical.Value.(*format.DecimalType)
	return ok
}

func (c *indexedColumn) nan(v pq.Value) bool {
	switch {
	case c.Physical == format.Float:
		return math.IsNaN(float64(v.Float()))
	case c.Physical == format.Double:
		return math.IsNaN(v.Double())
	}
	return c.isHalf() && float16.FromLEBytes(v.ByteArray()).IsNaN()
}

func (c *indexedColumn) compare(a, b pq.Value) int {
	switch {
	case c.Physical == format.Boolean:
		return cmp.Compare(btoi(a.Boolean()), btoi(b.Boolean()))
	case c.Physical == format.Int32 && c.Unsigned:
		return cmp.Compare(a.Uint32(), b.Uint32())
	case c.Physical == format.Int32:
		return cmp.Compare(a.Int32(), b.Int32())
	case c.Physical == format.Int64 && c.Unsigned:
		return cmp.Compare(a.Uint64(), b.Uint64())
	case c.Physical == format.Int64:
		return cmp.Compare(a.Int64(), b.Int64())
	case c.Physical == format.Float:
		return cmp.Compare(a.Float(), b.Float())
	case c.Physical == format.Double:
		return cmp.Compare(a.Double(), b.Double())
	case c.isHalf():
		return cmp.Compare(float16.FromLEBytes(a.ByteArray()).Float32(), float16.FromLEBytes(b.ByteArray()).Float32())
	case c.isDecimal():
		return bigNumber(a.ByteArray()).Cmp(bigNumber(b.ByteArray()))
	}
	return bytes.Compare(a.ByteArray(), b.ByteArray())
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bigNumber reads two's complement.
func bigNumber(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// arrowIndex has arrow-go read the page indexes of a file.
func arrowIndex(t fataler, raw []byte) {
	t.Helper()
	r, err := pqfile.NewParquetReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer r.Close()
	for g := range r.NumRowGroups() {
		rg, err := r.GetPageIndexReader().RowGroup(g)
		if err != nil || rg == nil {
			t.Fatalf("page index of row group %d: %v, %v", g, rg, err)
		}
		for c := range r.MetaData().Schema.NumColumns() {
			columns, err := rg.GetColumnIndex(c)
			if err != nil {
				t.Fatalf("column index %d: %v", c, err)
			}
			offsets, err := rg.GetOffsetIndex(c)
			if err != nil {
				t.Fatalf("offset index %d: %v", c, err)
			}
			if got := len(columns.GetNullPages()); got != len(offsets.GetPageLocations()) || got == 0 {
				t.Fatalf("column %d has bounds of %d pages and %d places", c, got, len(offsets.GetPageLocations()))
			}
		}
	}
}

// TestPageIndexWithoutBounds writes pages of which the index has no word: the chunk has places of pages then, and no bounds.
func TestPageIndexWithoutBounds(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		typ    arrow.DataType
		fill   func(b array.Builder)
		opts   WriteOptions
		bounds bool
	}{
		{"some NaN", arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).AppendValues([]float64{1, nan, nan, -3}, nil) }, WriteOptions{PageRows: 2}, true},
		{"a page of NaN", arrow.PrimitiveTypes.Float64, func(b array.Builder) { b.(*array.Float64Builder).AppendValues([]float64{nan, nan, 1, -3}, nil) }, WriteOptions{PageRows: 2}, false},
		{"NaN halves", arrow.FixedWidthTypes.Float16, func(b array.Builder) {
			b.(*array.Float16Builder).AppendValues([]float16.Num{float16.NaN(), float16.New(-1), float16.New(0), float16.NaN()}, nil)
		}, WriteOptions{PageRows: 2}, true},
		{"maximum without end", arrow.BinaryTypes.Binary, func(b array.Builder) { b.(*array.BinaryBuilder).Append(bytes.Repeat([]byte{0xff}, 65)) }, WriteOptions{}, false},
		{"long values of fixed length", &arrow.FixedSizeBinaryType{ByteWidth: 65}, func(b array.Builder) { b.(*array.FixedSizeBinaryBuilder).Append(bytes.Repeat([]byte{1}, 65)) }, WriteOptions{}, false},
		{"no statistics", arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).Append(1) }, WriteOptions{NoStatistics: true}, false},
		{"nulls", arrow.Null, func(b array.Builder) { b.AppendNulls(4) }, WriteOptions{PageRows: 3}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rb := array.NewRecordBuilder(memory.DefaultAllocator, fields("x", c.typ))
			c.fill(rb.Field(0))
			raw := ourWrite(t, rb.NewRecordBatch(), c.opts)
			m, err := meta.Read(bytes.NewReader(raw), int64(len(raw)))
			if err != nil {
				t.Fatal(err)
			}
			chunk := &m.RowGroups[0].Columns[0]
			if !chunk.OffsetIndexOffset.Valid || chunk.ColumnIndexOffset.Valid != c.bounds {
				t.Fatalf("offset index %v, column index %v", chunk.OffsetIndexOffset, chunk.ColumnIndexOffset)
			}
			if c.bounds {
				checkIndex(t, raw)
			}
			if _, err := pq.OpenFile(bytes.NewReader(raw), int64(len(raw))); err != nil {
				t.Fatal(err)
			}
			pqRead(t, raw).Release()
		})
	}
}

// TestPageOptions refuses sizes that make no sense.
func TestPageOptions(t *testing.T) {
	for _, c := range []struct {
		opt  FormatOptions
		want string
	}{
		{FormatOptions{PageBytes: 10}, "page_bytes=10: must be from 64 to 67108864"},
		{FormatOptions{PageBytes: 1 << 30}, "page_bytes=1073741824: must be from"},
		{FormatOptions{PageRows: -1}, "page_rows=-1: must be positive"},
	} {
		if _, err := NewFormat(c.opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
}
