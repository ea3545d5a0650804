package avro

import (
	"bytes"
	"encoding/binary"
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

func put(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// types are those that come back as they are, or with the same text.
func types() []arrow.DataType {
	return slices.DeleteFunc(arraytest.Types(), func(dt arrow.DataType) bool {
		if id := dt.ID(); id == arrow.UINT64 || id == arrow.FLOAT16 {
			return true
		}
		_, err := schemaText(arrow.NewSchema([]arrow.Field{{Name: "c", Type: dt, Nullable: true}}, nil))
		return err != nil
	})
}

// few are the types of the sink suite, which writes many rows.
var few = []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.ListOf(arrow.PrimitiveTypes.Float64)}

func fewRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	return rowsLike(mem, few, first, n)
}

// rowsOf makes rows of every type.
func rowsOf(mem memory.Allocator, first, n int) arrow.RecordBatch {
	return rowsLike(mem, types(), first, n)
}

// rowsLike makes rows whose values depend on their number alone.
func rowsLike(mem memory.Allocator, types []arrow.DataType, first, n int) arrow.RecordBatch {
	var fields []arrow.Field
	var cols []arrow.Array
	for i, t := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: t, Nullable: true})
		b := array.NewBuilder(mem, t)
		for row := first; row < first+n; row++ {
			arraytest.Append(rand.New(rand.NewPCG(uint64(row), uint64(i))), b, true)
		}
		cols = append(cols, b.NewArray())
		b.Release()
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), cols, int64(n))
	for _, c := range cols {
		c.Release()
	}
	return rec
}

// encode writes a file of blocks of so many rows.
func encode(tb testing.TB, codec string, n, rows int) []byte {
	tb.Helper()
	f, err := NewFormat(WriteOptions{Compression: codec})
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	mem := memory.NewGoAllocator()
	enc, err := f.NewEncoder(&out, rowsOf(mem, 0, 0).Schema(), mem, 1)
	if err != nil {
		tb.Fatal(err)
	}
	e := enc.(*encoder)
	for at := 0; at < n; at += rows {
		if err := e.Write(tb.Context(), connectortest.Block(rowsOf(mem, at, min(rows, n-at)))); err != nil {
			tb.Fatal(err)
		}
		if err := e.flush(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := e.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a.avro", encode(t, "none", 90, 7))
	put(t, dir+"/b.avro", encode(t, "zstandard", 0, 1))
	put(t, dir+"/c.avro", encode(t, "snappy", 30, 9))
	put(t, dir+"/d.avro", encode(t, "deflate", 11, 1000))
	for _, opt := range []Options{{}, {WithPath: true}} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, opt, 0) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 5000) },
			},
			Rows: 131,
		})
	}
}

// readText reads a file and shows its rows.
func readText(tb testing.TB, path string) (out []string, err error) {
	src := open(tb, file.Local{}, path, Options{}, 0)
	rt := connectortest.NewRuntime(tb)
	for _, s := range connectortest.Splits(tb, src, dataset.Cursor{}) {
		r, err := src.Open(tb.Context(), rt, s, 0)
		if err != nil {
			return nil, err
		}
		for err == nil {
			b, nerr := r.Next(tb.Context())
			if b != nil {
				out = append(out, arraytest.Rows(b.Record())...)
				b.Release()
			}
			err = nerr
		}
		if cerr := r.Close(); cerr != nil || err.Error() != "EOF" {
			return nil, err
		}
	}
	return out, nil
}

func TestSinkConformance(t *testing.T) {
	for _, codec := range []string{"", "deflate", "zstandard", "none"} {
		f, err := NewFormat(WriteOptions{Compression: codec})
		if err != nil {
			t.Fatal(err)
		}
		connectortest.RunSink(t, connectortest.SinkConfig{
			Format: f, Schema: fewRows(memory.NewGoAllocator(), 0, 0).Schema(), Rows: fewRows,
			Text: func(i int) string { return arraytest.Rows(fewRows(memory.NewGoAllocator(), i, 1))[0] },
			Read: func(path string) ([]string, error) { return readText(t, path) },
			Bad:  arrow.NewSchema([]arrow.Field{{Name: "x y", Type: arrow.BinaryTypes.String}}, nil),
		})
	}
}

func TestBroken(t *testing.T) {
	good := encode(t, "none", 20, 5)
	start := bytes.Index(good, []byte("avro.codec")) + 10 + 5 + 1
	sync := bytes.Clone(good)
	sync[len(sync)-1] ^= 1
	container := func(schema string, blocks ...byte) []byte {
		out := append([]byte(magic), 2)
		for _, s := range []string{"avro.schema", schema} {
			out = append(binary.AppendVarint(out, int64(len(s))), s...)
		}
		return append(append(append(out, 0), make([]byte, syncBytes)...), blocks...)
	}
	end := make([]byte, syncBytes)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "not an Avro object container"},
		"text":       {[]byte("a,b\n1,2\n"), "not an Avro object container"},
		"cut":        {good[:len(good)-30], "cut off"},
		"cut header": {good[:start-8], "cut off"},
		"sync":       {sync, "sync marker"},
		"recursive":  {container(`{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}`), `"R" refers to itself`},
		"no schema":  {container(`{"type":"recor`), "parse the schema"},
		"nulls":      {container(`"null"`, slices.Concat(binary.AppendVarint(nil, 1<<50), []byte{0}, end)...), "rows in 0 bytes"},
		"free items": {container(`{"type":"array","items":"null"}`, slices.Concat([]byte{2, 20}, binary.AppendVarint(nil, 1<<60), []byte{0}, end)...), "items without bytes"},
		"union":      {container(`["null","int"]`, slices.Concat([]byte{2, 2, 6}, end)...), "branch 3 of a union of 2"},
		"left over":  {container(`"int"`, slices.Concat([]byte{2, 4, 6, 6}, end)...), "1 bytes are left"},
	} {
		t.Run(name, func(t *testing.T) {
			p := t.TempDir() + "/in.avro"
			put(t, p, c.data)
			err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 1), 1000)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.avro") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFastAvro sends files of fastavro's through both directions and has it compare.
func TestFastAvro(t *testing.T) {
	py := connectortest.Python(t, "fastavro")
	if py == "" {
		return
	}
	dir := t.TempDir()
	connectortest.RunPython(t, py, "testdata/interop.py", "write", dir)
	if err := os.Mkdir(dir+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*.avro")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, p := range files {
		for _, codec := range []string{"none", "deflate"} { // others need packages that fastavro does not bring
			f, err := NewFormat(WriteOptions{Compression: codec})
			if err != nil {
				t.Fatal(err)
			}
			connectortest.Copy(t, open(t, file.Local{}, p, Options{}, 3000), f, filepath.Join(dir, "out", filepath.Base(p)))
			connectortest.RunPython(t, py, "testdata/interop.py", "check", dir)
		}
	}
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir+"/union.avro_", Options{}, 0), connectortest.NewRuntime(t))
	want := []string{`{"member0":1,"member1":null}`, `{"member0":null,"member1":"x"}`}
	for i, w := range want {
		if rows[i].Values != fmt.Sprintf("u=%q\n", w) {
			t.Errorf("row %d of a union: %v", i, rows[i])
		}
	}
	if rows[2].Values != "u=null\n" {
		t.Error(rows[2])
	}
}

// TestUnnamedRecord reads a file as Polars writes it: its record has no name.
func TestUnnamedRecord(t *testing.T) {
	const schema = `{"type":"record","name":"","fields":[{"name":"id","type":["null","long"]},{"name":"in","type":{"type":"record","name":"In","fields":[]}}]}`
	sync := "0123456789abcdef"
	p := filepath.Join(t.TempDir(), "p.avro")
	put(t, p, binary.AppendVarint([]byte("Obj\x01\x02\x16avro.schema"), int64(len(schema))))
	raw, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	put(t, p, append(raw, schema+"\x00"+sync+"\x04\x06\x02\x0e\x00"+sync...))
	rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{}, 0), connectortest.NewRuntime(t))
	if len(rows) != 2 || !strings.Contains(rows[0].Values, `id="7"`) || !strings.Contains(rows[1].Values, "id=null") {
		t.Errorf("rows %v", rows)
	}
}

// FuzzRead reads damaged files.
func FuzzRead(f *testing.F) {
	for _, codec := range []string{"none", "deflate", "snappy", "zstandard"} {
		f.Add(encode(f, codec, 4, 2))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "x.avro")
		put(t, p, data)
		if err := connectortest.Drain(t, open(t, file.Local{}, p, Options{MaxBlock: 1 << 20}, 1), 1000); err != nil && !strings.Contains(err.Error(), "x.avro") {
			t.Fatalf("the error names no file: %v", err)
		}
	})
}
