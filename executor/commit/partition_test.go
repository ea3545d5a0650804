package commit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/executor/commit"
)

// TestPartitionTypes divides rows by keys of every kind that may name a folder, with payload columns of every shape.
func TestPartitionTypes(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	record := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true})
	for _, c := range []struct {
		typ    arrow.DataType
		values string // JSON, six rows
		dirs   []string
	}{
		{arrow.BinaryTypes.String, `"a","b",null,"a","b","a"`, []string{"k=a:3", "k=b:2", "k=__HIVE_DEFAULT_PARTITION__:1"}},
		{dict, `"a","b",null,"a","b","a"`, []string{"k=a:3", "k=b:2", "k=__HIVE_DEFAULT_PARTITION__:1"}},
		{arrow.PrimitiveTypes.Int64, `-1,2,2,2,-1,null`, []string{"k=-1:2", "k=2:3", "k=__HIVE_DEFAULT_PARTITION__:1"}},
		{arrow.FixedWidthTypes.Boolean, `true,false,true,true,true,true`, []string{"k=true:5", "k=false:1"}},
		{arrow.FixedWidthTypes.Date32, `"2026-01-02","2026-01-02","2025-12-31","2026-01-02","2026-01-02","2026-01-02"`, []string{"k=2026-01-02:5", "k=2025-12-31:1"}},
		{arrow.BinaryTypes.String, `"","","","","",""`, []string{"k=:6"}},
	} {
		in := arrow.NewSchema([]arrow.Field{
			{Name: "k", Type: c.typ, Nullable: true}, {Name: "l", Type: list, Nullable: true}, {Name: "r", Type: record, Nullable: true},
			{Name: "image", Type: block.Image, Nullable: true}, {Name: "d", Type: dict, Nullable: true},
		}, nil)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		encoded := fromJSON(t, mem, arrow.BinaryTypes.Binary, `"AA==","AQ==","Ag==",null,"BA==","BQ=="`)
		cols := []arrow.Array{
			fromJSON(t, mem, c.typ, c.values),
			fromJSON(t, mem, list, `[1],[2,3],null,[],[4],[5]`),
			fromJSON(t, mem, record, `{"x":1},{"x":2},{"x":3},null,{"x":5},{"x":6}`),
			array.NewExtensionArrayWithStorage(block.Image, encoded),
			fromJSON(t, mem, dict, `"x","y","z","x","y",null`),
		}
		encoded.Release()
		w := world{Path: t.TempDir() + "/out/"}
		cfg := config(t, w)
		sink, err := file.NewSink(w.Path, connectortest.TextFormat{}, file.Layout{By: []string{"k"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := sink.Check(in); err != nil {
			t.Fatal(err)
		}
		cfg.Sink, cfg.Schema = sink, in
		m, _, err := commit.Prepare(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		rt := &connectortest.Runtime{Mem: mem}
		b := block.New(block.FromColumns(in, cols, 6), block.Identity{})
		for _, col := range cols {
			col.Release()
		}
		if err := m.Write(t.Context(), rt, 0, b); err != nil {
			t.Fatal(err)
		}
		b.Release()
		if _, err := m.Finish(t.Context(), rt); err != nil {
			t.Fatal(err)
		}
		for _, d := range c.dirs {
			dir, want, _ := strings.Cut(d, ":")
			if got := rowsBelow(t, filepath.Join(w.Path, dir)); fmt.Sprint(got) != want {
				t.Errorf("%s %s: %d rows in %s, want %s", c.typ, c.values, got, dir, want)
			}
		}
		if n := rowsBelow(t, w.Path); n != 6 {
			t.Errorf("%s: %d rows in all", c.typ, n)
		}
		mem.AssertSize(t, 0)
	}
}

func rowsBelow(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	all, err := visible(dir)
	if err != nil {
		t.Fatal(err)
	}
	for p := range all {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := connectortest.TextRows(raw)
		if err != nil {
			t.Fatal(err)
		}
		n += len(rows)
	}
	return n
}

func fromJSON(t *testing.T, mem memory.Allocator, typ arrow.DataType, values string) arrow.Array {
	t.Helper()
	a, _, err := array.FromJSON(mem, typ, strings.NewReader("["+values+"]"))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestPartitionStrings divides blocks of all sizes, whose strings fill their buffers to the last byte, in pooled memory.
func TestPartitionStrings(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", By: true}
	b := newBench(t, config(t, w))
	b.rt = &connectortest.Runtime{} // pooled memory
	var want []string
	at := uint64(0)
	for n := 10; n < 6000; n += 61 {
		ids, keys := array.NewStringBuilder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
		for i := range n {
			want = append(want, fmt.Sprintf("row %d of file %d", i, n))
			ids.Append(want[len(want)-1])
			keys.Append(keyOf(i * i))
		}
		end := at + uint64(n)
		tok := commit.NewToken([]block.Range{{File: b.id, First: at, End: end}}, b.managers)
		blk := block.New(block.FromColumns(schema, []arrow.Array{ids.NewArray(), keys.NewArray()}, n),
			block.FromRuns(block.Run{File: b.id, Token: tok, First: at, N: uint32(n), Stride: 1}))
		tok.Settle()
		b.write(0, blk)
		blk.Release()
		at = end
	}
	if _, err := b.managers[0].Finish(t.Context(), b.rt); err != nil {
		t.Fatal(err)
	}
	slicesSort(want)
	sameRows(t, allRows(t, w.Path), want)
}
