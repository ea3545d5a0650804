package parquet

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	pqfile "github.com/apache/arrow-go/v18/parquet/file"
)

// rowsOf makes a batch of two columns, k and s, from JSON lines.
func jsonBatch(t *testing.T, s *arrow.Schema, lines string) arrow.RecordBatch {
	t.Helper()
	rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
	for _, l := range strings.Split(strings.TrimSpace(lines), "\n") {
		if err := rb.UnmarshalJSON([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	return rb.NewRecordBatch()
}

// TestSorting writes rows under sort=, in batches of one row and in one: what is not sorted within a row group is refused by row and value.
func TestSorting(t *testing.T) {
	s := fields("k", arrow.PrimitiveTypes.Int64, "s", arrow.BinaryTypes.String, "f", arrow.PrimitiveTypes.Float64)
	sorted := `{"k":1,"s":"b","f":1}
{"k":1,"s":"a","f":2}
{"k":2,"s":"z","f":0}
{"k":null,"s":"q","f":3}
{"k":null,"s":null,"f":4}`
	for _, c := range []struct {
		name   string
		sort   []string
		rows   string
		groups int64 // rows of a row group
		err    string
	}{
		{"sorted", []string{"k", "s desc"}, sorted, 0, ""},
		{"in one text", []string{"k, s desc"}, sorted, 0, ""},
		{"by one", []string{"k"}, sorted, 0, ""},
		{"not by this", []string{"f"}, sorted, 0, "sort=f: row 2 has 0 behind 2: rows must come sorted; put | sort f | before the sink"},
		{"second key", []string{"k", "s"}, sorted, 0, "sort=s: row 1 has a behind b"},
		{"each row group by itself", []string{"f"}, sorted, 2, ""},
		{"falling", []string{"k desc"}, sorted, 0, "sort=k desc: row 2 has 2 behind 1"},
		{"nothing", []string{"k"}, `{"k":1}`, 0, ""},
		{"unknown", []string{"kk"}, sorted, 0, "kk"},
		{"twice", []string{"k", "k desc"}, sorted, 0, "named twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := jsonBatch(t, s, c.rows)
			for _, step := range []int64{1, all.NumRows()} {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				var file bytes.Buffer
				w, err := NewWriter(&file, s, WriteOptions{Sort: c.sort, RowGroupRows: c.groups, Allocator: mem})
				for lo := int64(0); err == nil && lo < all.NumRows(); lo += step {
					err = w.Write(all.NewSlice(lo, min(lo+step, all.NumRows())))
				}
				if w != nil {
					err = errors.Join(err, w.Close())
				}
				mem.AssertSize(t, 0)
				if c.err != "" {
					if err == nil || !strings.Contains(err.Error(), c.err) {
						t.Errorf("error %v, want %q", err, c.err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				r, err := pqfile.NewParquetReader(bytes.NewReader(file.Bytes()))
				if err != nil {
					t.Fatal(err)
				}
				for g := range r.NumRowGroups() {
					got := r.MetaData().RowGroups[g].SortingColumns
					if len(got) != 1+strings.Count(strings.Join(c.sort, ","), ",") || got[len(got)-1].Descending != strings.HasSuffix(c.sort[len(c.sort)-1], "desc") || got[0].NullsFirst {
						t.Errorf("row group %d says it is sorted by %v", g, got)
					}
				}
			}
		})
	}
}

// TestWritesBlooms has another implementation ask the filters that we write, also after files were joined.
func TestWritesBlooms(t *testing.T) {
	s := fields("i", arrow.PrimitiveTypes.Int64, "few", arrow.BinaryTypes.String, "many", arrow.BinaryTypes.String, "d", &arrow.Decimal128Type{Precision: 12, Scale: 2})
	write := func(first int) []byte {
		rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for i := first; i < first+6000; i++ {
			rb.Field(0).(*array.Int64Builder).Append(int64(i) * 1000)
			rb.Field(1).(*array.StringBuilder).Append("word " + string(rune('a'+i%20)))
			if i%5 == 0 {
				rb.Field(2).AppendNull()
			} else {
				rb.Field(2).(*array.StringBuilder).Append(strings.Repeat("x", i%7) + string(rune('0'+i%10)) + strings.Repeat("y", i%113))
			}
			rb.Field(3).AppendNull()
		}
		return ourWrite(t, rb.NewRecordBatch(), WriteOptions{Bloom: []string{"i", "few", "many", "d"}, RowGroupRows: 2500})
	}
	a, b := write(0), write(100_000)
	var joined bytes.Buffer
	if _, err := Concat(context.Background(), &joined, Part{bytes.NewReader(a), int64(len(a))}, Part{bytes.NewReader(b), int64(len(b))}); err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{"written": a, "joined": joined.Bytes()} {
		r, err := pqfile.NewParquetReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		blooms := r.GetBloomFilterReader()
		for g := range r.NumRowGroups() {
			rg, err := blooms.RowGroup(g)
			if err != nil {
				t.Fatal(err)
			}
			i, err := rg.GetColumnBloomFilter(0)
			if err != nil || i == nil {
				t.Fatalf("%s, row group %d: filter %v, %v", name, g, i, err)
			}
			first, no := int64(g%3)*2500, 0
			if g >= 3 {
				first += 100_000
			}
			for k := first; k < first+1000; k++ {
				if !i.CheckHash(i.Hasher().Sum64(int64Bytes(k * 1000))) {
					t.Fatalf("%s, row group %d: the filter misses %d", name, g, k*1000)
				}
				if i.CheckHash(i.Hasher().Sum64(int64Bytes(k*1000 + 7))) {
					no++
				}
			}
			if no > 50 {
				t.Errorf("%s, row group %d: the filter lets %d of 1000 other values through", name, g, no)
			}
			few, err := rg.GetColumnBloomFilter(1)
			if err != nil || !few.CheckHash(few.Hasher().Sum64([]byte("word c"))) || few.CheckHash(few.Hasher().Sum64([]byte("word Z"))) {
				t.Errorf("%s, row group %d: filter of a dictionary, %v", name, g, err)
			}
			if d, err := rg.GetColumnBloomFilter(3); err != nil || d != nil {
				t.Errorf("%s, row group %d: filter of a column without values: %v, %v", name, g, d, err)
			}
		}
	}
	for _, c := range []string{"nobody", "l", "b"} {
		_, err := NewWriter(&joined, fields("l", arrow.ListOf(arrow.PrimitiveTypes.Int32), "b", arrow.FixedWidthTypes.Boolean),
			WriteOptions{Bloom: []string{c}, Allocator: memory.DefaultAllocator})
		if err == nil || !strings.Contains(err.Error(), "bloom="+c) {
			t.Errorf("bloom=%s: %v", c, err)
		}
	}
}

func int64Bytes(n int64) []byte {
	return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(n >> 32), byte(n >> 40), byte(n >> 48), byte(n >> 56)}
}
