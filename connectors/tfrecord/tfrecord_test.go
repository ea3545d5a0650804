package tfrecord

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
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

var exampleSchema = arrow.NewSchema([]arrow.Field{
	{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "name", Type: arrow.BinaryTypes.Binary, Nullable: true},
	{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.Binary), Nullable: true},
	{Name: "vec", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

// sinkRows makes rows whose values depend on their number alone. Elements of lists are never null, and lists are not empty, which the
// format keeps apart from null.
func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, exampleSchema)
	defer b.Release()
	for row := first; row < first+n; row++ {
		r := rand.New(rand.NewPCG(uint64(row), 5))
		for i, f := range b.Fields() {
			if r.IntN(5) == 0 {
				f.AppendNull()
				continue
			}
			if l, ok := f.(*array.ListBuilder); ok {
				l.Append(true)
				for range r.IntN(4) {
					arraytest.Append(r, l.ValueBuilder(), false)
				}
				continue
			}
			_ = i
			arraytest.Append(r, f, false)
		}
	}
	return b.NewRecordBatch()
}

// encode writes rows as examples.
func encode(tb testing.TB, opt WriteOptions, recs ...arrow.RecordBatch) []byte {
	tb.Helper()
	f, err := NewFormat(opt)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	e, err := f.NewEncoder(&out, recs[0].Schema(), memory.NewGoAllocator(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	for _, r := range recs {
		if err := e.Write(tb.Context(), connectortest.Block(r)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func put(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	mem := memory.NewGoAllocator()
	dir := t.TempDir()
	put(t, dir+"/a.tfrecord", encode(t, WriteOptions{}, sinkRows(mem, 0, 90)))
	put(t, dir+"/b.tfrecord", nil)
	put(t, dir+"/c.tfrecord.gz", encode(t, WriteOptions{Compression: "gzip"}, sinkRows(mem, 90, 30)))
	put(t, dir+"/d.tfrecord", encode(t, WriteOptions{}, sinkRows(mem, 120, 5)))
	for _, opt := range []Options{{}, {Features: true, WithPath: true}} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, opt, 0) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1000) },
			},
			Rows: 125,
		})
	}
}

// readText reads examples and shows them as arraytest does, from the values that the suite shows.
func readText(tb testing.TB, path string) ([]string, error) {
	src := open(tb, file.Local{}, path, Options{Features: true}, 0)
	schema, err := src.Schema(tb.Context())
	if err != nil {
		return nil, err
	}
	if schema.NumFields() == 0 {
		return nil, nil
	}
	var out []string
	rt := connectortest.NewRuntime(tb)
	for _, s := range connectortest.Splits(tb, src, dataset.Cursor{}) {
		rows, err := connectortest.ReadSplit(tb.Context(), src, rt, s, 0)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out = append(out, r.Values)
		}
	}
	return out, nil
}

func rowText(row int) string {
	b := connectortest.Block(sinkRows(memory.NewGoAllocator(), row, 1))
	return connectortest.Rows(b.WithIdentity(connectortest.OneRow))[0].Values
}

func TestSinkConformance(t *testing.T) {
	for _, opt := range []WriteOptions{{}, {Compression: "gzip"}, {Compression: "zstd"}} {
		f, err := NewFormat(opt)
		if err != nil {
			t.Fatal(err)
		}
		connectortest.RunSink(t, connectortest.SinkConfig{
			Format: f, Schema: exampleSchema, Rows: sinkRows, Text: rowText,
			Read: func(path string) ([]string, error) { return readText(t, path) },
			Bad:  arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.StructOf()}}, nil),
		})
	}
}

// TestRecords: a lone column of records is framed as it is.
func TestRecords(t *testing.T) {
	b := array.NewRecordBuilder(memory.NewGoAllocator(), recordSchema)
	for _, s := range []string{"", "one", strings.Repeat("x", 3<<20)} {
		b.Field(0).(*array.BinaryBuilder).Append([]byte(s))
	}
	data := encode(t, WriteOptions{}, b.NewRecordBatch())
	// The first two frames, as TensorFlow writes them.
	if want := []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07\xd8\xea\x82\xa2\x03\x00\x00\x00"); !bytes.HasPrefix(data, want) {
		t.Fatalf("frames begin %x, want %x", data[:24], want)
	}
	p := t.TempDir() + "/x.tfrecord"
	put(t, p, data)
	rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{}, 0), connectortest.NewRuntime(t))
	if len(rows) != 3 || rows[1].Values != "record=\"b25l\"\n" || rows[1].Position != 16 || len(rows[2].Values) < 4<<20 {
		t.Fatal(len(rows))
	}
}

// TestRowErrors: a damaged record fails alone, one that does not fit the schema too.
func TestRowErrors(t *testing.T) {
	one := func(s *arrow.Schema, json string) arrow.RecordBatch {
		rec, _, err := array.RecordFromJSON(memory.NewGoAllocator(), s, strings.NewReader(json))
		if err != nil {
			t.Fatal(err)
		}
		return rec
	}
	ints := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	texts := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	lists := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	good := encode(t, WriteOptions{Features: true}, one(ints, `[{"i": 1}]`))
	damaged := bytes.Clone(good)
	damaged[14] ^= 1
	for name, c := range map[string]struct {
		bad  []byte
		want string
	}{
		"checksum":       {damaged, "CRC-32C"},
		"large":          {appendFrame(nil, make([]byte, 2000)), "max_record=1000B; raise max_record"},
		"no example":     {appendFrame(nil, []byte("hello")), "not a tf.train.Example"},
		"other type":     {encode(t, WriteOptions{Features: true}, one(texts, `[{"i": "x"}]`)), `feature "i" is a list of binary, in the first examples of int64`},
		"several values": {encode(t, WriteOptions{Features: true}, one(lists, `[{"i": [1, 2]}]`)), `feature "i" has 2 values`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir+"/in.tfrecord", good)
			src := open(t, file.Local{}, dir, Options{Features: true, MaxRecord: 1000}, 0)
			if _, err := src.Schema(t.Context()); err != nil {
				t.Fatal(err)
			}
			put(t, dir+"/in.tfrecord", slices.Concat(good, c.bad, good))
			rt := connectortest.NewRuntime(t)
			rows := connectortest.ReadAll(t, src, rt)
			f := rt.Failures()
			if len(rows) != 2 || len(f) != 1 || !strings.Contains(f[0].Err.Error(), c.want) || f[0].Position != uint64(len(good)) {
				t.Fatalf("rows %v, failures %v", rows, f)
			}
		})
	}
}

func TestBroken(t *testing.T) {
	good := slices.Concat(appendFrame(nil, []byte("hello")), appendFrame(nil, []byte("world, again")))
	head := bytes.Clone(good)
	head[22] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"length":        {head, "at byte 21: the checksum of the record's length"},
		"cut in head":   {good[:25], "cut off after 4 bytes of a frame"},
		"cut in record": {good[:38], "bytes of its last record are missing"},
		"text":          {[]byte("this is some text, not records"), "not a TFRecord file"},
	} {
		t.Run(name, func(t *testing.T) {
			p := t.TempDir() + "/in.tfrecord"
			put(t, p, c.data)
			err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 1), 1000)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.tfrecord") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestPython has Python (the tfrecord package where it is installed) read our examples, and reads those that it wrote.
func TestPython(t *testing.T) {
	py := connectortest.Python(t, "struct")
	if py == "" {
		return
	}
	dir := t.TempDir()
	connectortest.RunPython(t, py, "testdata/interop.py", "write", dir)
	if err := os.Mkdir(dir+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*.tfrecord")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, p := range files {
		f, err := NewFormat(WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		connectortest.Copy(t, open(t, file.Local{}, p, Options{Features: true}, 0), f, filepath.Join(dir, "out", filepath.Base(p)))
	}
	connectortest.RunPython(t, py, "testdata/interop.py", "check", dir)
}

// FuzzRead reads damaged files as records and as examples.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, WriteOptions{}, sinkRows(memory.NewGoAllocator(), 0, 3)))
	f.Add(appendFrame(nil, []byte("hello")))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "x.tfrecord")
		put(t, p, data)
		for _, opt := range []Options{{MaxRecord: 1 << 16}, {MaxRecord: 1 << 16, Features: true}} {
			if err := connectortest.Drain(t, open(t, file.Local{}, p, opt, 1), 10_000); err != nil && !strings.Contains(err.Error(), "x.tfrecord") {
				t.Fatalf("the error names no file: %v", err)
			}
		}
	})
}

// FuzzExample parses damaged examples, which a checksum would keep from FuzzRead.
func FuzzExample(f *testing.F) {
	rec := sinkRows(memory.NewGoAllocator(), 0, 3)
	for data := encode(f, WriteOptions{}, rec); len(data) > 0; {
		n := int(data[0]) | int(data[1])<<8
		f.Add(data[headBytes : headBytes+n])
		data = data[headBytes+n+tailBytes:]
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &inference{}
		if in.add(data, 0) != nil {
			return
		}
		schema := in.schema()
		seen := map[string]bool{}
		for _, c := range schema.Fields() {
			if seen[c.Name] {
				return
			}
			seen[c.Name] = true
		}
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		e, err := newExamples(mem, schema)
		if err != nil {
			t.Fatal(err)
		}
		defer e.release()
		if err := e.add(data); err != nil {
			return // a name twice with other lists
		}
		out := e.take(1)
		defer out.Release()
		if got := fmt.Sprint(out); got == "" {
			t.Fatal("no text")
		}
	})
}
