package text_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/internal/charset"
	"github.com/sluice-data/sluice/connectors/text"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, s := range files {
		data := []byte(s)
		switch filepath.Ext(name) {
		case ".gz":
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := z.Write(data); err != nil {
				tb.Fatal(err)
			}
			if err := z.Close(); err != nil {
				tb.Fatal(err)
			}
			data = b.Bytes()
		case ".zst":
			z, err := zstd.NewWriter(nil)
			if err != nil {
				tb.Fatal(err)
			}
			data = z.EncodeAll(data, nil)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

func open(tb testing.TB, fs file.FS, pattern string, opt text.Options, splitBytes int64) *text.Source {
	tb.Helper()
	src, err := text.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: pattern}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(splitBytes)
}

// wide is text as UTF-16, little endian, with its mark.
func wide(s string) string {
	out := "\xff\xfe"
	for _, r := range s {
		out += string([]byte{byte(r), byte(r >> 8)})
	}
	return out
}

func TestConformance(t *testing.T) {
	var big strings.Builder
	for i := range 100 {
		fmt.Fprintf(&big, "line %d %s", i, strings.Repeat("ü", i%23))
		big.WriteString([]string{"\n", "\r\n", "\n\n"}[i%3])
	}
	dir := t.TempDir()
	rows := 100 + 33
	write(t, dir, map[string]string{"a.txt": big.String(), "b.txt": "\xef\xbb\xbfone\ntwo", "c.txt": "", "d.txt.gz": big.String(),
		"e.txt.zst": "x\n", "f.txt": "\n", "g.txt": wide("ä\nb\n漢\n")})
	for _, size := range []int64{1 << 20, 300} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, text.Options{}, size) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, text.Options{}, 1) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, text.Options{}, 50) },
			},
			Rows: rows + 2 + rows + 1 + 1 + 3,
		})
	}
}

// TestLines checks what lines become, by encoding, and what is said of those that cannot be read.
func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, in string
		opt      text.Options
		want     []string
		fail     []string // words of the one failure
	}{
		{"utf-8", "a\r\n\n ü \nlast", text.Options{}, []string{"a", "", " ü ", "last"}, nil},
		{"lone cr", "a\rb\n", text.Options{}, []string{"a\rb"}, nil},
		{"latin1", "\xfc\x80\n", text.Options{Encoding: charset.Latin1}, []string{"ü\u0080"}, nil},
		{"windows-1252", "\xfc\x80\n", text.Options{Encoding: charset.Windows1252}, []string{"ü€"}, nil},
		{"utf-16", wide("ä\nb"), text.Options{}, []string{"ä", "b"}, nil},
		{"big endian", "\x00a\x00\n\xd8\x3d\xde\x00", text.Options{Encoding: charset.UTF16BE}, []string{"a", "😀"}, nil},
		{"half a pair", "\xff\xfea\x00\n\x00\x3d\xd8\n\x00b\x00", text.Options{}, []string{"a", "b"}, []string{"line at byte 2", "not UTF-8"}},
		{"invalid", "a\n\xff\nb\n", text.Options{}, []string{"a", "b"}, []string{"line at byte 2", "not UTF-8", "encoding=latin1", "invalid=replace"}},
		{"replaced", "a\xffb\n", text.Options{Invalid: text.InvalidReplace}, []string{"a\ufffdb"}, nil},
		{"long", "a\n" + strings.Repeat("x", 3000) + "\nb\n", text.Options{MaxLine: 1024}, []string{"a", "b"},
			[]string{"line at byte 2", "max_line=1KiB", "raise max_line"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.txt": c.in})
			rt := connectortest.NewRuntime(t)
			src, err := open(t, file.Local{}, dir, c.opt, 0).Project([]string{text.TextColumn})
			if err != nil {
				t.Fatal(err)
			}
			rows := connectortest.ReadAll(t, src, rt)
			if len(rows) != len(c.want) {
				t.Fatalf("got %v, want %q", rows, c.want)
			}
			for i, r := range rows {
				if want := fmt.Sprintf("text=%q\n", c.want[i]); r.Values != want {
					t.Errorf("row %d is %s, want %s", i, r.Values, want)
				}
			}
			if fails := rt.Failures(); len(fails) > 1 || (len(fails) == 1) != (c.fail != nil) {
				t.Fatalf("failures %v", fails)
			}
			for _, w := range c.fail {
				if msg := rt.Failures()[0].Err.Error(); !strings.Contains(msg, w) {
					t.Errorf("error %q lacks %q", msg, w)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		opt  text.Options
		want string
	}{{text.Options{Encoding: "x"}, "encoding=x"}, {text.Options{Invalid: "x"}, "error or replace"}, {text.Options{MaxLine: 1}, "max_line=1B"}} {
		if err := c.opt.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opt, err)
		}
	}
}

// texts makes n rows from row number first on; every seventh is null.
func texts(mem memory.Allocator, first, n int) arrow.RecordBatch {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	for i := first; i < first+n; i++ {
		if i%7 == 0 {
			b.AppendNull()
		} else {
			b.Append(fmt.Sprintf("row %d", i))
		}
	}
	a := b.NewArray()
	defer a.Release()
	return block.FromColumns(textSchema, []arrow.Array{a}, n)
}

var textSchema = arrow.NewSchema([]arrow.Field{{Name: "line", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

func TestSinkConformance(t *testing.T) {
	for _, compression := range []string{"none", "gzip", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			f, err := text.NewFormat(text.WriteOptions{Compression: compression})
			if err != nil {
				t.Fatal(err)
			}
			connectortest.RunSink(t, connectortest.SinkConfig{
				Format: f, Schema: textSchema, Rows: texts,
				Read: func(path string) ([]string, error) {
					h, err := os.Open(path)
					if err != nil {
						return nil, err
					}
					r, err := file.Decompress(h, strings.TrimPrefix(compression, "none"))
					if err != nil {
						return nil, errors.Join(err, h.Close())
					}
					var out bytes.Buffer
					_, err = out.ReadFrom(r)
					lines := strings.Split(out.String(), "\n")
					return lines[:len(lines)-1], errors.Join(err, h.Close())
				},
				Text: func(row int) string {
					if row%7 == 0 {
						return ""
					}
					return fmt.Sprintf("row %d", row)
				},
				Bad: arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil),
			})
		})
	}
}

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		in   []string
		opt  text.WriteOptions
		want string
		err  string
	}{
		{[]string{"a", "", "ü"}, text.WriteOptions{}, "a\n\nü\n", ""},
		{[]string{"a", "b\nc"}, text.WriteOptions{}, "", `row 1 of the file, column "line"`},
		{[]string{"b\r\nc\rd"}, text.WriteOptions{Newline: text.NewlineSpace}, "b c d\n", ""},
		{[]string{"b\nc"}, text.WriteOptions{Newline: text.NewlineSplit}, "b\nc\n", ""},
		{[]string{"a\xff"}, text.WriteOptions{}, "a\ufffd\n", ""},
	} {
		f, err := text.NewFormat(c.opt)
		if err != nil {
			t.Fatal(err)
		}
		sb := array.NewStringBuilder(memory.DefaultAllocator)
		sb.AppendValues(c.in, nil)
		a := sb.NewArray()
		b := block.New(block.FromColumns(textSchema, []arrow.Array{a}, a.Len()), block.Identity{})
		var out bytes.Buffer
		e, err := f.NewEncoder(&out, textSchema, memory.DefaultAllocator, 1)
		if err != nil {
			t.Fatal(err)
		}
		err = e.Write(t.Context(), b)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v", c.in, err)
			}
		} else if err != nil || out.String() != c.want {
			t.Errorf("%q: got %q, %v", c.in, out.String(), err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		b.Release()
		a.Release()
	}
	two := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil)
	f, err := text.NewFormat(text.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Check(two); err == nil || !strings.Contains(err.Error(), "column=") {
		t.Error(err)
	}
}

// FuzzLines reads any bytes, cut anywhere, and compares with a plain split.
func FuzzLines(f *testing.F) {
	f.Add("a\nb\r\n\nc", uint8(3))
	f.Add("\xef\xbb\xbfa\n", uint8(1))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, in string, cut uint8) {
		if strings.HasPrefix(in, "\xff\xfe") || strings.HasPrefix(in, "\xfe\xff") {
			return
		}
		write(t, dir, map[string]string{"in.txt": in})
		rt := connectortest.NewRuntime(t)
		src, err := open(t, file.Local{}, dir, text.Options{Invalid: text.InvalidReplace}, int64(cut)+1).Project([]string{text.TextColumn})
		if err != nil {
			t.Fatal(err)
		}
		rows := connectortest.ReadAll(t, src, rt)
		want := strings.Split(strings.TrimPrefix(in, "\xef\xbb\xbf"), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if len(rows) != len(want) {
			t.Fatalf("%d rows, want %q", len(rows), want)
		}
		for i, r := range rows {
			if w := fmt.Sprintf("text=%q\n", string([]rune(strings.TrimSuffix(want[i], "\r")))); r.Values != w {
				t.Fatalf("row %d is %s, want %s", i, r.Values, w)
			}
		}
	})
}
