package arrowipc

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

func open(tb testing.TB, fs file.FS, path string, opt Options, split int64) *tables.Source {
	tb.Helper()
	src, err := NewSource(file.NewSet(fs, []dataset.Pattern{{Text: path}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(split)
}

// random makes a record with a column of every type; seed decides everything.
func random(mem memory.Allocator, seed uint64, rows int) arrow.RecordBatch {
	return arraytest.RandomRecord(rand.New(rand.NewPCG(seed, 1)), mem, arraytest.Types(), rows, true)
}

// encode writes records with Arrow's own writers.
func encode(tb testing.TB, stream bool, recs []arrow.RecordBatch, opts ...ipc.Option) []byte {
	tb.Helper()
	var b bytes.Buffer
	opts = append(opts, ipc.WithSchema(recs[0].Schema()), ipc.WithDictionaryDeltas(true))
	var w recordWriter = ipc.NewWriter(&b, opts...)
	if !stream {
		fw, err := ipc.NewFileWriter(&b, opts...)
		if err != nil {
			tb.Fatal(err)
		}
		w = fw
	}
	for _, r := range recs {
		if err := w.Write(r); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func put(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if strings.HasSuffix(path, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			tb.Fatal(err)
		}
		if err := z.Close(); err != nil {
			tb.Fatal(err)
		}
		data = b.Bytes()
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	mem := memory.NewGoAllocator()
	var recs []arrow.RecordBatch
	total := 0
	for i, n := range []int{40, 1, 0, 90} {
		rec := random(mem, uint64(i), n)
		recs = append(recs, rec)
		total += n
	}
	plain := slices.DeleteFunc(arraytest.Types(), hasDictionary) // a file has one dictionary for all batches
	var flat []arrow.RecordBatch
	for i, n := range []int{50, 30} {
		flat = append(flat, arraytest.RandomRecord(rand.New(rand.NewPCG(uint64(i), 2)), mem, plain, n, true))
	}
	for name, files := range map[string]map[string][]byte{
		"streams": {"a.arrows": encode(t, true, recs), "b.arrows": encode(t, true, recs[:1], ipc.WithLZ4()), "c.arrows.gz": encode(t, true, recs[1:2])},
		"files":   {"a.arrow": encode(t, false, flat), "b.feather": encode(t, false, flat, ipc.WithZstd()), "c.arrow.gz": encode(t, false, flat[:1])},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for n, data := range files {
				put(t, filepath.Join(dir, n), data)
			}
			rows := total + 40 + 1
			if name == "files" {
				rows = 80 + 80 + 50
			}
			for _, opt := range []Options{{}, {WithPath: true}} {
				connectortest.RunSource(t, connectortest.SourceConfig{
					New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, opt, 0) },
					Resplit: []func(testing.TB) dataset.Source{
						func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1) },
						func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 20000) },
					},
					Rows: rows,
				})
			}
		})
	}
}

// TestMatchesArrow reads random files of every type with our reader and with Arrow's.
func TestMatchesArrow(t *testing.T) {
	for seed := range uint64(30) {
		rec := random(memory.NewGoAllocator(), seed, int(seed*7%50)+1)
		opts := [][]ipc.Option{nil, {ipc.WithLZ4()}, {ipc.WithZstd()}}[seed%3]
		p := filepath.Join(t.TempDir(), "x.arrow")
		put(t, p, encode(t, seed%2 == 0, []arrow.RecordBatch{rec}, opts...))
		same(t, readText(t, p), arraytest.Rows(rec))
	}
}

// same compares rows as text and shows the first value that differs.
func same(tb testing.TB, got, want []string) {
	tb.Helper()
	if len(got) != len(want) {
		tb.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := strings.Split(got[i], " | "), strings.Split(want[i], " | ")
		for c := range w {
			if len(g) != len(w) || g[c] != w[c] {
				tb.Fatalf("row %d, column %d: got %s, want %s", i, c, g[c], w[c])
			}
		}
	}
}

// readText reads a file and shows its rows.
func readText(tb testing.TB, path string) []string {
	rows, err := readRows(tb.Context(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

func readRows(ctx context.Context, path string) ([]string, error) {
	src, err := NewSource(file.NewSet(file.Local{}, []dataset.Pattern{{Text: path}}), Options{})
	if err != nil {
		return nil, err
	}
	var out []string
	rt := &connectortest.Runtime{}
	for s, err := range src.Splits(ctx, dataset.Cursor{}) {
		if err != nil {
			return nil, err
		}
		r, err := src.Open(ctx, rt, s, 0)
		if err != nil {
			return nil, err
		}
		for {
			b, err := r.Next(ctx)
			if b == nil {
				if cerr := r.Close(); cerr != nil {
					return nil, cerr
				}
				if err.Error() != "EOF" {
					return nil, err
				}
				break
			}
			out = append(out, arraytest.Rows(b.Record())...)
			b.Release()
		}
	}
	return out, nil
}

// TestErrors checks what is said about broken and refused files.
func TestErrors(t *testing.T) {
	rec := random(memory.NewGoAllocator(), 1, 20)
	good := encode(t, false, []arrow.RecordBatch{rec})
	streamed := encode(t, true, []arrow.RecordBatch{rec})
	union := arrow.SparseUnionOf([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})
	view := arrow.NewSchema([]arrow.Field{{Name: "v", Type: arrow.ListViewOf(arrow.PrimitiveTypes.Int8)}}, nil)
	empty := func(s *arrow.Schema) []byte {
		b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
		return encode(t, false, []arrow.RecordBatch{b.NewRecordBatch()})
	}
	for name, c := range map[string]struct {
		data []byte
		opt  Options
		want string
	}{
		"empty":     {nil, Options{}, "the file is empty"},
		"cut":       {good[:len(good)/2], Options{}, "cut off"},
		"tiny":      {good[:9], Options{}, "cut off"},
		"feather 1": {[]byte("FEA1....FEA1"), Options{}, "Feather version 1"},
		"text":      {[]byte("id,name\n1,2\n3,4\n"), Options{}, "is this an Arrow file?"},
		"stream":    {streamed[:len(streamed)-100], Options{}, "cut off"},
		"union":     {empty(arrow.NewSchema([]arrow.Field{{Name: "u", Type: union}}, nil)), Options{}, "union types are not supported"},
		"view":      {empty(view), Options{}, `column "v": type list_view`},
		"limit":     {good, Options{MaxBatch: 100}, "max_batch=100B"},
	} {
		t.Run(name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "in.arrow")
			put(t, p, c.data)
			src := open(t, file.Local{}, p, c.opt, 0)
			var err error
			for s, serr := range src.Splits(t.Context(), dataset.Cursor{}) {
				if err = serr; err == nil {
					_, err = connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), s, 0)
				}
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.arrow") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestTypesMustAgree names the column, both types and both files.
func TestTypesMustAgree(t *testing.T) {
	dir := t.TempDir()
	for i, dt := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String} {
		rec := arraytest.RandomRecord(rand.New(rand.NewPCG(1, 1)), memory.NewGoAllocator(), []arrow.DataType{dt}, 3, false)
		put(t, fmt.Sprintf("%s/f%d.arrow", dir, i), encode(t, false, []arrow.RecordBatch{rec}))
	}
	_, err := open(t, file.Local{}, dir, Options{}, 0).Schema(t.Context())
	for _, want := range []string{"f1.arrow", `column "c0"`, "utf8", "int64 in", "f0.arrow"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("error %v lacks %q", err, want)
		}
	}
}

// TestMissingNullType reads a file that lacks columns whose types have a null type inside, which Arrow's own maker of nulls panics on.
func TestMissingNullType(t *testing.T) {
	dir := t.TempDir()
	full := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "l", Type: arrow.ListOf(arrow.Null), Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.Null, Nullable: true}), Nullable: true}}, nil)
	for name, c := range map[string]struct {
		schema *arrow.Schema
		rows   string
	}{
		"a.arrow": {full, `[{"id": 1, "l": [null, null], "s": {"x": null}}]`},
		"b.arrow": {arrow.NewSchema(full.Fields()[:1], nil), `[{"id": 2}, {"id": 3}]`},
	} {
		rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), c.schema, strings.NewReader(c.rows))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), encode(t, false, []arrow.RecordBatch{rec}))
	}
	got := strings.Join(readText(t, dir), "\n")
	if want := "1 | [null null] | {x=null}\n2 | null | null\n3 | null | null"; got != want {
		t.Errorf("rows are\n%s\nwant\n%s", got, want)
	}
}
