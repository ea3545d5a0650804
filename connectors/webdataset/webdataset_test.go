package webdataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
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

// shard makes an archive of name=content pairs; a name that ends in a slash is a folder, one with -> a link.
func shard(tb testing.TB, members ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		name, data, _ := strings.Cut(m, "=")
		h := &tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644, Typeflag: tar.TypeReg}
		if strings.HasSuffix(name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if n, to, ok := strings.Cut(name, "->"); ok {
			h.Name, h.Linkname, h.Typeflag = n, to, tar.TypeSymlink
		}
		if err := w.WriteHeader(h); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(data)); err != nil {
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

func samples(n int) []string {
	out := []string{"d/", "README=no extension", "d/l->x.txt"}
	for i := range n {
		out = append(out, fmt.Sprintf("d/%03d.jpg=%s", i, strings.Repeat("x", i*37)))
		if i%3 > 0 {
			out = append(out, fmt.Sprintf("d/%03d.meta.JSON={\"id\": %d}", i, i))
		}
		if i%5 == 0 {
			out = append(out, "d/sub/")
		}
		if i%7 == 0 {
			out = append(out, fmt.Sprintf("d/%03d.cls=%d", i, i%4))
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/a.tar", shard(t, samples(60)...))
	put(t, dir+"/b.tar", shard(t))
	put(t, dir+"/c.tar.gz", shard(t, samples(20)...))
	put(t, dir+"/d.tar", shard(t, "x.txt=only", "./y.txt=dot"))
	for _, opt := range []Options{{}, {WithPath: true}} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, opt, 0) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 1) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, opt, 3000) },
			},
			Rows: 60 + 20 + 2,
		})
	}
}

func TestRows(t *testing.T) {
	p := t.TempDir() + "/a.tar"
	put(t, p, shard(t, "a/1.jpg=J", "a/1.txt=T", "b/1.txt=U", "a/2.JPG="))
	rows := connectortest.ReadAll(t, open(t, file.Local{}, p, Options{}, 0), connectortest.NewRuntime(t))
	want := []string{
		"__key__=\"a/1\"\njpg=\"Sg==\"\ntxt=\"VA==\"\n",
		"__key__=\"b/1\"\njpg=null\ntxt=\"VQ==\"\n",
		"__key__=\"a/2\"\njpg=\"\"\ntxt=null\n",
	}
	for i, w := range want {
		if i >= len(rows) || rows[i].Values != w || rows[i].Position != []uint64{0, 2, 3}[i] {
			t.Fatalf("got %v, want %q", rows, want)
		}
	}
}

// TestRowErrors: what is wrong with one sample leaves the others alone.
func TestRowErrors(t *testing.T) {
	for name, c := range map[string]struct{ member, want string }{
		"large":    {"b.txt=" + strings.Repeat("x", 101), `sample "b": member "b.txt" has 101 bytes, more than max_member=100B; raise max_member`},
		"twice":    {"b.TXT=2", `its sample has a .txt already`},
		"climbs":   {"../../etc/b.txt=x", "leaves the archive"},
		"absolute": {"/etc/b.txt=x", "leaves the archive"},
		"hidden":   {"a/../../b.txt=x", "leaves the archive"},
		"reserved": {"b.__key__=x", "reserved"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "reserved" {
				c.want = "__key__ is that of the key"
			}
			members := []string{"a.txt=1", "b.jpg=2", c.member, "c.txt=3"}
			if name == "twice" {
				members[1] = "b.txt=2"
			}
			p := t.TempDir() + "/in.tar"
			put(t, p, shard(t, members...))
			rt := connectortest.NewRuntime(t)
			src := open(t, file.Local{}, p, Options{MaxMember: 100}, 0)
			if name == "reserved" {
				if _, err := src.Schema(t.Context()); err == nil || !strings.Contains(err.Error(), "two columns") {
					t.Fatal(err)
				}
				return
			}
			rows := connectortest.ReadAll(t, src, rt)
			if n := len(rt.Failures()); n != 1 || !strings.Contains(rt.Failures()[0].Err.Error(), c.want) {
				t.Fatalf("failures %v, want %q", rt.Failures(), c.want)
			}
			if len(rows) < 2 || !strings.Contains(rows[len(rows)-1].Values, `"c"`) {
				t.Fatalf("rows %v", rows)
			}
		})
	}
}

// TestBroken: a damaged archive is an error that names the file and the entry, not an early end.
func TestBroken(t *testing.T) {
	good := shard(t, samples(9)...)
	bad := append([]byte(nil), good...)
	copy(bad[3072:], strings.Repeat("?", 512))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut in a member": {good[:len(good)-2600], "tar entry"},
		"cut in a header": {good[:512*5+100], "the archive is cut off"},
		"no header":       {bad, "header is damaged"},
		"text":            {[]byte(strings.Repeat("hello, ", 200)), "tar entry 0: this is no tar archive"},
	} {
		t.Run(name, func(t *testing.T) {
			p := t.TempDir() + "/in.tar"
			put(t, p, c.data)
			src := open(t, file.Local{}, p, Options{}, 0)
			_, err := src.Schema(t.Context())
			if err == nil {
				_, err = connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), connectortest.Splits(t, src, dataset.Cursor{})[0], 0)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "in.tar") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func sinkRows(mem memory.Allocator, first, n int) arrow.RecordBatch {
	s := arrow.NewSchema([]arrow.Field{{Name: KeyColumn, Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "jpg", Type: arrow.BinaryTypes.Binary, Nullable: true}, {Name: "cls", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	b := array.NewRecordBuilder(mem, s)
	defer b.Release()
	for i := first; i < first+n; i++ {
		b.Field(0).(*array.StringBuilder).Append(fmt.Sprintf("k/%06d", i))
		b.Field(1).(*array.BinaryBuilder).Append(bytes.Repeat([]byte{byte(i)}, i%700))
		if i%7 == 0 {
			b.Field(2).AppendNull()
		} else {
			b.Field(2).(*array.Int64Builder).Append(int64(i))
		}
	}
	return b.NewRecordBatch()
}

func sinkText(i int) string {
	cls := fmt.Sprint(i)
	if i%7 == 0 {
		cls = "none"
	}
	return fmt.Sprintf("k/%06d %d %s", i, i%700, cls)
}

// readTar reads with the standard library alone.
func readTar(path string, compressed bool) (out []string, err error) {
	set := file.NewSet(file.Local{}, []dataset.Pattern{{Text: path}})
	for ref, err := range set.Files(context.Background(), "") {
		if err != nil {
			return nil, err
		}
		t, err := set.OpenText(context.Background(), ref, 0)
		if err != nil {
			return nil, err
		}
		defer t.Close()
		r := tar.NewReader(t)
		for {
			h, err := r.Next()
			if err != nil {
				if err.Error() == "EOF" {
					return out, nil
				}
				return nil, err
			}
			var b bytes.Buffer
			if _, err := b.ReadFrom(r); err != nil {
				return nil, err
			}
			key, ext, _ := strings.Cut(h.Name, ".")
			switch ext {
			case "jpg":
				out = append(out, fmt.Sprintf("%s %d none", key, b.Len()))
			case "cls":
				out[len(out)-1] = strings.Replace(out[len(out)-1], "none", b.String(), 1)
			}
		}
	}
	return out, nil
}

func TestSinkConformance(t *testing.T) {
	for _, opt := range []WriteOptions{{}, {Compression: "gzip"}, {Compression: "zstd"}} {
		f, err := NewFormat(opt)
		if err != nil {
			t.Fatal(err)
		}
		connectortest.RunSink(t, connectortest.SinkConfig{
			Format: f, Schema: sinkRows(memory.NewGoAllocator(), 0, 0).Schema(), Rows: sinkRows, Text: sinkText,
			Read: func(path string) ([]string, error) { return readTar(path, opt.Compression != "") },
			Bad:  arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.BinaryTypes.String}}, nil),
		})
	}
}

// TestWriteErrors checks what rows are refused with.
func TestWriteErrors(t *testing.T) {
	for key, want := range map[string]string{"": "must not be empty", "a.b": "a dot", "../a": "leaves the archive", "/a": "leaves the archive", "x": "that of the row before", "a/": "end in a slash"} {
		s := arrow.NewSchema([]arrow.Field{{Name: KeyColumn, Type: arrow.BinaryTypes.String}, {Name: "txt", Type: arrow.BinaryTypes.String}}, nil)
		b := array.NewRecordBuilder(memory.NewGoAllocator(), s)
		for _, k := range []string{"x", key} {
			b.Field(0).(*array.StringBuilder).Append(k)
			b.Field(1).(*array.StringBuilder).Append("t")
		}
		f, err := NewFormat(WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		e, err := f.NewEncoder(&bytes.Buffer{}, s, memory.NewGoAllocator(), 1)
		if err != nil {
			t.Fatal(err)
		}
		err = e.Write(t.Context(), connectortest.Block(b.NewRecordBatch()))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "row 1") {
			t.Errorf("key %q: %v", key, err)
		}
	}
}

// TestPython has the webdataset package, or tarfile, read our shard, and reads what tarfile writes.
func TestPython(t *testing.T) {
	py := connectortest.Python(t, "tarfile")
	if py == "" {
		return
	}
	dir := t.TempDir()
	connectortest.RunPython(t, py, "testdata/interop.py", "write", dir)
	if err := os.Mkdir(dir+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(dir + "/*.tar*")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, p := range files {
		comp := file.Compression(p)
		f, err := NewFormat(WriteOptions{Compression: comp})
		if err != nil {
			t.Fatal(err)
		}
		connectortest.Copy(t, open(t, file.Local{}, p, Options{}, 0), f, filepath.Join(dir, "out", filepath.Base(p)))
	}
	connectortest.RunPython(t, py, "testdata/interop.py", "check", dir)
}

// FuzzRead reads damaged archives: every way ends in rows, row errors or an error.
func FuzzRead(f *testing.F) {
	f.Add(shard(f, samples(4)...))
	f.Add(shard(f, "../a.txt=x", "b.txt=y"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "x.tar")
		put(t, p, data)
		if err := connectortest.Drain(t, open(t, file.Local{}, p, Options{MaxMember: 1 << 16}, 1), 10_000); err != nil && !strings.Contains(err.Error(), "x.tar") {
			t.Fatalf("the error names no file: %v", err)
		}
	})
}
