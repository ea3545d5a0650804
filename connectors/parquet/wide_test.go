package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/parquet/internal/meta"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// peak counts the bytes of an allocator.
type peak struct{ now, most atomic.Int64 }

func (p *peak) Charge(n int64) {
	if now := p.now.Add(n); now > p.most.Load() {
		p.most.Store(now)
	}
}
func (p *peak) Refund(n int64) { p.now.Add(-n) }

const (
	wideColumns = 2000
	wideRows    = 2500
	wideBudget  = 64 << 20
)

// wideBatch makes rows of 2,000 columns of three kinds.
func wideBatch(first, n int) arrow.RecordBatch {
	fields := make([]arrow.Field, wideColumns)
	cols := make([]arrow.Array, wideColumns)
	for c := range wideColumns {
		var b array.Builder
		switch c % 3 {
		case 0:
			fb := array.NewFloat64Builder(memory.DefaultAllocator)
			for r := first; r < first+n; r++ {
				fb.Append(float64(r*31+c) / 7)
			}
			b = fb
		case 1:
			ib := array.NewInt64Builder(memory.DefaultAllocator)
			for r := first; r < first+n; r++ {
				ib.Append(int64(r*c) * 2654435761)
			}
			b = ib
		default:
			sb := array.NewStringBuilder(memory.DefaultAllocator)
			for r := first; r < first+n; r++ {
				if r%11 == 0 {
					sb.AppendNull()
				} else {
					sb.Append(fmt.Sprintf("value %d of %d", r, c))
				}
			}
			b = sb
		}
		cols[c] = b.NewArray()
		fields[c] = arrow.Field{Name: fmt.Sprintf("c%04d", c), Type: cols[c].DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(n))
}

// TestWideTables writes and reads 2,000 columns within a budget of 64 MiB, of which the pages of all columns are a multiple.
func TestWideTables(t *testing.T) {
	var p peak
	pool := block.NewPool(wideBudget)
	mem := block.NewAllocator(pool, &p)
	f, err := NewFormat(FormatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	schema := wideBatch(0, 1).Schema()
	if n := f.groupBytes(mem, schema.NumFields()); n > wideBudget/8 {
		t.Errorf("a row group gathers %d bytes", n)
	}
	var file bytes.Buffer
	w, err := NewWriter(&file, schema, WriteOptions{Allocator: mem, RowGroupBytes: 1 << 40, Compression: "none"}) // one row group, as others write it
	if err != nil {
		t.Fatal(err)
	}
	for first := 0; first < wideRows; first += 500 {
		if err := w.Write(wideBatch(first, 500)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if p.now.Load() != 0 {
		t.Fatalf("the writer kept %d bytes", p.now.Load())
	}
	p.most.Store(0)
	var again bytes.Buffer
	rows := copyWide(t, mem, file.Bytes(), f, &again)
	if rows != wideRows {
		t.Errorf("%d rows, want %d", rows, wideRows)
	}
	if p.most.Load() > wideBudget {
		t.Errorf("reading and writing took %d bytes, the budget is %d", p.most.Load(), wideBudget)
	}
	if p.now.Load() != 0 {
		t.Errorf("%d bytes are left", p.now.Load())
	}
	joinWide(t, again.Bytes())
}

// joinWide joins a file of one page a column and row group with itself and with one of several pages, and reads it again: row groups without
// page indexes and with them are found where the footer says.
func joinWide(t *testing.T, raw []byte) {
	t.Helper()
	b := wideBatch(0, 20)
	var paged, joined bytes.Buffer
	w, err := NewWriter(&paged, b.Schema(), WriteOptions{Allocator: memory.DefaultAllocator, PageRows: 7})
	if err == nil {
		err = errors.Join(w.Write(b), w.Close())
	}
	if err == nil {
		_, err = Concat(t.Context(), &joined, part(raw), part(paged.Bytes()), part(raw))
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(bytes.NewReader(joined.Bytes()), int64(joined.Len()))
	if err != nil {
		t.Fatal(err)
	}
	groups, rows, all := f.NumRowGroups(), 0, 0
	for g := range groups {
		chunk := &f.meta.RowGroups[g].Columns[wideColumns-1]
		several := g == groups/2 // the file of several pages lies in the middle
		if chunk.OffsetIndexOffset.Valid != several || chunk.ColumnIndexOffset.Valid != several {
			t.Fatalf("row group %d of %d: offset index %t, column index %t, want %t", g, groups, chunk.OffsetIndexOffset.Valid, chunk.ColumnIndexOffset.Valid, several)
		}
		if several {
			rows = 0
			ix, err := meta.ReadPageIndex(f.r, f.size, chunk, f.RowGroupRows(g))
			if err != nil || ix == nil || len(ix.First) != 3 {
				t.Fatalf("page index %+v, %v: want three pages", ix, err)
			}
		}
		r, err := f.Read(g, ReadOptions{Allocator: memory.DefaultAllocator, BatchBytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if !sameColumns(wideBatch(rows, int(rec.NumRows())), rec) {
				t.Fatalf("row group %d: rows from %d on differ", g, rows)
			}
			rows += int(rec.NumRows())
			all += int(rec.NumRows())
			rec.Release()
		}
		r.Close()
		if several {
			rows = 0
		}
	}
	if all != 2*wideRows+20 {
		t.Errorf("%d rows, want %d", all, 2*wideRows+20)
	}
}

// copyWide reads a file as the source does and writes it as the sink does, comparing rows on the way.
func copyWide(t *testing.T, mem memory.Allocator, raw []byte, format *Format, out io.Writer) (rows int) {
	t.Helper()
	pf, err := Open(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	enc, err := format.NewEncoder(out, pf.Schema(), mem, 1)
	if err != nil {
		t.Fatal(err)
	}
	staged := 0
	scratch := func() (*dataset.ScratchFile, error) {
		staged++
		f, err := os.CreateTemp(t.TempDir(), "")
		return &dataset.ScratchFile{File: f}, err
	}
	for g := range pf.NumRowGroups() {
		r, err := pf.Read(g, ReadOptions{Allocator: mem, BatchBytes: 2 << 20, MaxBytes: readBytes(mem), Scratch: scratch})
		if err != nil {
			t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := wideBatch(rows, int(rec.NumRows())); !sameColumns(want, rec) {
				t.Fatalf("rows from %d on differ", rows)
			}
			rows += int(rec.NumRows())
			b := block.New(rec, block.Identity{})
			if err := enc.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			b.Release()
		}
		r.Close()
	}
	if err := enc.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if staged != pf.NumRowGroups() {
		t.Errorf("%d of %d row groups were read through a temporary file", staged, pf.NumRowGroups())
	}
	return rows
}

// sameColumns compares values only: the types of the schema were written by us.
func sameColumns(a, b arrow.RecordBatch) bool {
	for i := range a.Columns() {
		if !array.Equal(a.Column(i), b.Column(i)) {
			return false
		}
	}
	return a.NumCols() == b.NumCols()
}

// TestStagedStops checks that a row group which is read through a temporary file can be cancelled, damaged and out of room.
func TestStagedStops(t *testing.T) {
	b := wideBatch(0, 300)
	var file bytes.Buffer
	w, err := NewWriter(&file, b.Schema(), WriteOptions{Allocator: memory.DefaultAllocator})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(b), w.Close()); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop here")
	for _, c := range []struct {
		name   string
		grow   func(int64) error
		check  func() error
		damage int
	}{
		{"cancelled", nil, func() error { return stop }, 0},
		{"no room", func(int64) error { return stop }, nil, 0},
		{"damaged", nil, nil, file.Len() / 3},
	} {
		raw := bytes.Clone(file.Bytes())
		if c.damage > 0 {
			clear(raw[c.damage : c.damage+200])
		}
		pf, err := Open(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		r, err := pf.Read(0, ReadOptions{Allocator: mem, MaxBytes: 1, Check: c.check, Scratch: func() (*dataset.ScratchFile, error) {
			f, err := os.CreateTemp(t.TempDir(), "")
			return &dataset.ScratchFile{File: f, Grow: c.grow}, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Next(); err == nil || c.damage == 0 && !errors.Is(err, stop) {
			t.Errorf("%s: %v", c.name, err)
		}
		r.Close()
		mem.AssertSize(t, 0)
	}
}
