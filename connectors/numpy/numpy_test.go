package numpy

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/tables"
	"github.com/sluice-data/sluice/dataset"
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

// npy makes a file of int32 numbers that count up.
func npy(descr string, fortran bool, shape ...int64) []byte {
	h := header{descr: descr, fortran: fortran, shape: shape}
	out := h.write()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	for i := range n {
		out = binary.LittleEndian.AppendUint32(out, uint32(i))
	}
	return out
}

func npz(tb testing.TB, method uint16, arrays map[string][]byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"x", "y", "z"} {
		if arrays[name] == nil {
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write(arrays[name]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestConformance(t *testing.T) {
	three := map[string][]byte{"x": npy("<i4", false, 70, 2, 3), "y": npy("<i4", false, 70), "z": npy("<i4", false, 70, 2)}
	packed := func(data []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, files := range map[string]map[string][]byte{
		"npy":    {"a.npy": npy("<i4", false, 90), "b.npy": npy("<i4", false, 0), "c.npy": npy("<i4", false, 7), "d.npy.gz": packed(npy("<i4", false, 30))},
		"c":      {"a.npy": npy("<i4", false, 127, 3, 2)},
		"f":      {"a.npy": npy("<i4", true, 127, 3, 2)},
		"stored": {"a.npz": npz(t, zip.Store, three), "b.npz": npz(t, zip.Deflate, three)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for n, data := range files {
				put(t, filepath.Join(dir, n), data)
			}
			rows := map[string]int{"npy": 127, "c": 127, "f": 127, "stored": 140}[name]
			for _, opt := range []Options{{}, {WithPath: true}} {
				connectortest.RunSource(t, connectortest.SourceConfig{
					New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, opt, 0) },
					Resplit: []func(testing.TB) dataset.Source{
						func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1) },
						func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 300) },
					},
					Rows: rows,
				})
			}
		})
	}
}

func TestErrors(t *testing.T) {
	text := func(dict string) []byte {
		out := append([]byte(magic), 1, 0)
		return append(binary.LittleEndian.AppendUint16(out, uint16(len(dict))), dict...)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "too short"},
		"text":       {[]byte("1,2,3\n4,5,6\n"), "not a .npy file"},
		"cut":        {npy("<i4", false, 10)[:140], "the file is cut off"},
		"cut header": {npy("<i4", false, 10)[:60], "the header is cut off"},
		"version":    {[]byte(magic + "\x09\x00\x10\x00"), "version 9.0"},
		"huge":       {text("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }"), "a row is larger than"},
		"huge rows":  {text("{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,), }"), "the file is cut off"},
		"empty axis": {text("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0), }"), "drop the empty axis"},
		"negative":   {text("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"), "not a header"},
		"code":       {text("{'descr': __import__('os').system('x'), 'fortran_order': False, 'shape': (1,), }"), "not a header"},
		"twice":      {text("{'descr': '<f8', 'descr': '<f8', 'shape': (1,), }"), "not a header"},
		"more":       {text("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x"), "not a header"},
		"objects":    {text("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"), "pickles"},
		"complex":    {text("{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }"), "complex"},
		"fields":     {text("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }"), "a structured array"},
		"zip":        {[]byte("PK\x03\x04 and no more"), "open the .npz as a zip"},
		"uneven":     {npz(t, zip.Store, map[string][]byte{"x": npy("<i4", false, 2), "y": npy("<i4", false, 3)}), `array "x" has 2 rows and "y" has 3; pick arrays`},
	} {
		t.Run(name, func(t *testing.T) {
			p := t.TempDir() + "/in.npy"
			put(t, p, c.data)
			err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 0), 100)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.npy") {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
	p := t.TempDir() + "/in.npz"
	put(t, p, npz(t, zip.Store, map[string][]byte{"x": npy("<i4", false, 2), "y": npy("<i4", false, 3)}))
	if rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{Arrays: []string{"y"}}, 0), connectortest.NewRuntime(t)); len(rows) != 3 {
		t.Fatal(rows)
	}
}

var sinkType = arrow.FixedSizeListOf(3, arrow.PrimitiveTypes.Float64)

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, arrow.NewSchema([]arrow.Field{{Name: "v", Type: sinkType, Nullable: true}}, nil))
	defer b.Release()
	l := b.Field(0).(*array.FixedSizeListBuilder)
	for i := first; i < first+n; i++ {
		l.Append(true)
		for k := range 3 {
			l.ValueBuilder().(*array.Float64Builder).Append(float64(i) + float64(k)/4)
		}
	}
	return b.NewRecordBatch()
}

// sinkRead reads a file by hand.
func sinkRead(path string) (out []string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	data = data[h.size:]
	if int64(len(data)) != h.shape[0]*24 {
		return nil, fmt.Errorf("%d bytes for shape %v", len(data), h.shape)
	}
	for i := 0; i < len(data); i += 24 {
		out = append(out, fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(data[i:])), math.Float64frombits(binary.LittleEndian.Uint64(data[i+16:]))))
	}
	return out, nil
}

func TestSinkConformance(t *testing.T) {
	f, err := NewFormat(WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	connectortest.RunSink(t, connectortest.SinkConfig{
		Format: f, Schema: sinkRows(memory.NewGoAllocator(), 0, 0).Schema(), Rows: sinkRows, Read: sinkRead,
		Text: func(i int) string { return fmt.Sprint(float64(i), float64(i)+0.5) },
		Bad:  arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.BinaryTypes.String}}, nil),
	})
}

// TestNumPy sends NumPy's arrays through both directions and compares bytes; NumPy writes .npz, which are read and looked at.
func TestNumPy(t *testing.T) {
	py := connectortest.Python(t, "numpy")
	if py == "" {
		return
	}
	dir := t.TempDir()
	connectortest.RunPython(t, py, "testdata/interop.py", "write", dir)
	if err := os.Mkdir(dir+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*.npy")
	if err != nil || len(files) < 300 {
		t.Fatal(len(files), err)
	}
	f, err := NewFormat(WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range files {
		connectortest.Copy(t, open(t, file.Local{}, p, Options{}, int64(i%3)*100), f, filepath.Join(dir, "out", filepath.Base(p)))
	}
	connectortest.RunPython(t, py, "testdata/interop.py", "check", dir)

	var want []connectortest.Row
	for _, name := range []string{"stored", "packed"} {
		rows := connectortest.ReadAll(t, open(t, file.Local{}, dir+"/more/"+name+".npz", Options{}, 100), connectortest.NewRuntime(t))
		if len(rows) != 300 || !strings.Contains(rows[5].Values, "s=\"é5\"") || !strings.Contains(rows[5].Values, "f=\"[[30,31],[32,33],[34,35]]\"") {
			t.Fatalf("%s: %d rows, row 5: %v", name, len(rows), rows[min(5, len(rows)-1)])
		}
		for i := range want {
			if rows[i].Values != want[i].Values {
				t.Fatalf("row %d: %v, stored it is %v", i, rows[i], want[i])
			}
		}
		want = rows
	}
	for name, want := range map[string]string{"uneven.npz": "x\" has 3 rows", "objects.npy": "pickles", "complex.npy": "complex", "fields.npy": "structured"} {
		if err := connectortest.Drain(t, open(t, file.Local{}, dir+"/more/"+name, Options{}, 0), 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows := connectortest.ReadAll(t, open(t, file.Local{}, dir+"/more/scalar.npy", Options{}, 0), connectortest.NewRuntime(t)); len(rows) != 1 || rows[0].Values != "value=\"2.5\"\n" {
		t.Error(rows)
	}
}

// FuzzRead reads damaged files.
func FuzzRead(f *testing.F) {
	f.Add(npy("<i4", false, 5, 2))
	f.Add(npy(">i4", true, 5, 2, 2))
	f.Add(npy("<U2", false, 2))
	f.Add(npy("<M8[s]", false, 2))
	f.Add(npz(f, zip.Store, map[string][]byte{"x": npy("<i4", false, 3), "y": npy("<f4", true, 3, 2)}))
	f.Add(npz(f, zip.Deflate, map[string][]byte{"x": npy("|b1", false, 3)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "x.npy")
		put(t, p, data)
		if err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 1), 1000); err != nil && !strings.Contains(err.Error(), "x.npy") {
			t.Fatalf("the error names no file: %v", err)
		}
	})
}

// TestChecksum: a member that decompresses to other bytes than were saved is an error, however many of its rows are read at once.
func TestChecksum(t *testing.T) {
	noise := make([]byte, 4000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	head := []byte(npy("<i4", false, 1000))
	data := npz(t, zip.Deflate, map[string][]byte{"x": append(head[:len(head)-4000], noise...)})
	p := t.TempDir() + "/in.npz"
	put(t, p, data)
	if err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 0), 2000); err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x10 // noise is stored as it is
	put(t, p, data)
	err := connectortest.Drain(t, open(t, file.Local{}, p, Options{}, 0), 2000)
	if err == nil || !strings.Contains(err.Error(), `array "x": the checksum`) || !strings.Contains(err.Error(), "in.npz") {
		t.Errorf("got %v", err)
	}
}
