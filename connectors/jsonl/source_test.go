package jsonl_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
)

// write puts files into a folder; names that end in .gz or .zst are compressed.
func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		data := []byte(text)
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
		if err := os.WriteFile(p, data, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// open makes a source of the files that a pattern means.
func open(tb testing.TB, fs file.FS, pattern string, opt jsonl.Options, splitBytes int64) *jsonl.Source {
	tb.Helper()
	src, err := jsonl.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: pattern}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(splitBytes)
}

func TestConformance(t *testing.T) {
	var big strings.Builder
	for i := range 120 {
		fmt.Fprintf(&big, `{"id": %d, "name": "row %d", "tags": ["a", "b%d"], "in": {"x": %d.5, "y": null}, "pad": "%s"}`+"\n", i, i, i%3, i, strings.Repeat("x", i%60))
		if i%17 == 0 {
			big.WriteString("\r\n")
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a/one.jsonl":     big.String(),
		"a/two.jsonl":     `{"id": 1, "name": "ü\n\u00e9", "in": {"x": 2}}` + "\n" + `{"id": 2, "more": true}`,
		"b.jsonl":         "\xef\xbb\xbf" + `{"id": 7}` + "\n\n  \n" + `{"name": null}` + "\n",
		"c/empty.jsonl":   "",
		"d.jsonl.gz":      big.String(),
		"e.jsonl.zst":     `{"id": 5}` + "\n",
		"_left/out.jsonl": `{"id": "no"}`,
		"a/.hidden.jsonl": `{"id": "no"}`,
	})
	for _, size := range []int64{1 << 20, 700} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, jsonl.Options{}, size) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, jsonl.Options{}, 31) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, jsonl.Options{}, 97) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, jsonl.Options{}, 4096) },
			},
			Rows: 120 + 2 + 2 + 120 + 1,
		})
	}
}

// TestBadLines checks what is said about each kind of broken line, and that the other lines survive.
func TestBadLines(t *testing.T) {
	const good = `{"id": 1, "score": 0.5, "name": "a", "ok": true, "tags": ["x"], "in": {"n": 1}}` + "\n"
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for _, c := range []struct {
		name, line string
		opt        jsonl.Options
		want       []string
	}{
		{"type", `{"id": "seven"}`, jsonl.Options{}, []string{"line 2", `column "id"`, `"seven"`, "is a string", "int64", `schema="id:string"`}},
		{"fraction", `{"id": 1.5}`, jsonl.Options{}, []string{`column "id"`, "1.5", "not a whole number", `schema="id:float64"`}},
		{"past int64", `{"id": 9223372036854775808}`, jsonl.Options{}, []string{"9223372036854775808", "out of range", "int64", `schema="id:uint64"`}},
		{"past float64", `{"score": 1e999}`, jsonl.Options{}, []string{"1e999", "out of range", "float64"}},
		{"nested", `{"in": {"n": []}}`, jsonl.Options{}, []string{`column "in.n"`, "is an array", `schema="in.n:string"`}},
		{"list element", `{"tags": ["a", 3]}`, jsonl.Options{}, []string{`column "tags[1]"`, "3", "is a number", `schema="tags[]:string"`}},
		{"number as text", `{"name": 12}`, jsonl.Options{}, []string{`column "name"`, "12", "is a number", "utf8", `schema="name:string"`}},
		{"array line", `[1, 2]`, jsonl.Options{}, []string{"line 2", "an array, not an object"}},
		{"cut", `{"id": 1, "name": "x`, jsonl.Options{}, []string{"line 2", "no closing quote"}},
		{"cut after value", `{"id": 1,`, jsonl.Options{}, []string{"object key"}},
		{"more text", `{"id": 1} {"id": 2}`, jsonl.Options{}, []string{"more text after the object"}},
		{"single quotes", `{'id': 1}`, jsonl.Options{}, []string{"object key must be a string"}},
		{"NaN", `{"score": NaN}`, jsonl.Options{}, []string{"not a JSON value", `column "score"`}},
		{"deep", `{"zzz": ` + deep + `}`, jsonl.Options{}, []string{"nested too deep", "max_depth=128"}},
		{"long", `{"name": "` + strings.Repeat("y", 5000) + `"}`, jsonl.Options{MaxLine: 4096}, []string{"line 2", "longer than max_line=4KiB", "raise max_line"}},
		{"surrogate", `{"name": "\ud800"}`, jsonl.Options{}, []string{`column "name"`, "lone surrogate", "invalid=replace"}},
		{"utf8", "{\"name\": \"a\xffb\"}", jsonl.Options{}, []string{`column "name"`, "invalid UTF-8", "invalid=replace"}},
		{"escape", `{"name": "\q"}`, jsonl.Options{}, []string{"unknown escape"}},
		{"control", "{\"name\": \"a\x01\"}", jsonl.Options{}, []string{"control character"}},
		{"leading zero", `{"id": 01}`, jsonl.Options{}, []string{"starts with a zero"}},
		{"extra", `{"nope": 1}`, jsonl.Options{Extra: jsonl.ExtraError}, []string{"schema does not have", "extra=ignore"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.jsonl": good})
			src := open(t, file.Local{}, dir+"/in.jsonl", c.opt, 1<<20)
			if _, err := src.Schema(t.Context()); err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{"in.jsonl": good + c.line + "\n" + good})
			late := open(t, file.Local{}, dir+"/in.jsonl", c.opt, 1<<20).Pinned(src)
			rt := connectortest.NewRuntime(t)
			rows := connectortest.ReadAll(t, late, rt)
			if len(rows) != 2 || rows[1].Values != rows[0].Values {
				t.Fatalf("the good lines give %v", rows)
			}
			if len(rt.Failures()) != 1 {
				t.Fatalf("want one failure, got %v", rt.Failures())
			}
			f := rt.Failures()[0]
			if f.Position != uint64(len(good)) {
				t.Errorf("the failure is at %d, want %d", f.Position, len(good))
			}
			for _, w := range c.want {
				if !strings.Contains(f.Err.Error(), w) {
					t.Errorf("error %q lacks %q", f.Err, w)
				}
			}
			row := &dataset.RowError{Op: "jsonl", Err: f.Err}
			row.Row.File, row.Row.Position = f.File, f.Position
			if !strings.Contains(row.Error(), "in.jsonl") {
				t.Errorf("error %q names no file", row)
			}
		})
	}
}

// TestStopsAtFirstFailure hands the policy's error to the caller.
func TestStopsAtFirstFailure(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.jsonl": "{\"id\":1}\n{\"id\":}\n{\"id\":3}\n"})
	rt := connectortest.NewRuntime(t)
	stop := errors.New("policy is fail")
	rt.Policy = func(error) error { return stop }
	src := open(t, file.Local{}, dir, jsonl.Options{}, 1<<20)
	for _, s := range connectortest.Splits(t, src, dataset.Cursor{}) {
		if _, err := connectortest.ReadSplit(t.Context(), src, rt, s, 0); !errors.Is(err, stop) {
			t.Fatalf("got %v", err)
		}
	}
}

// TestLineNumbersInLaterSplits numbers a broken line from the start of the file whatever split it is in.
func TestLineNumbersInLaterSplits(t *testing.T) {
	var text strings.Builder
	want := map[int]bool{}
	for i := 1; i <= 300; i++ {
		if i%41 == 0 {
			fmt.Fprintf(&text, `{"id": "x%d"}`+"\n", i)
			want[i] = true
		} else {
			fmt.Fprintf(&text, `{"id": %d}`+"\n", i)
		}
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"in.jsonl": `{"id": 1}`})
	probe := open(t, file.Local{}, dir, jsonl.Options{}, 0)
	if _, err := probe.Schema(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"in.jsonl": text.String()})
	for _, size := range []int64{1, 13, 100, 1 << 20} {
		rt := connectortest.NewRuntime(t)
		connectortest.ReadAll(t, open(t, file.Local{}, dir, jsonl.Options{}, size).Pinned(probe), rt)
		var got []int
		for _, f := range rt.Failures() {
			le, ok := errors.AsType[*jsonl.LineError](f.Err)
			if !ok || !strings.Contains(le.Value, fmt.Sprintf("x%d", le.Line)) {
				t.Fatalf("split size %d: %v", size, f.Err)
			}
			got = append(got, int(le.Line))
		}
		if len(got) != len(want) || !slices.IsSorted(got) {
			t.Fatalf("split size %d: lines %v", size, got)
		}
	}
}

// TestFileChanges: a file that changes or vanishes is an error that names it.
func TestFileChanges(t *testing.T) {
	for name, change := range map[string]func(p string) error{
		"grown":    func(p string) error { return os.WriteFile(p, []byte("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n"), 0o644) },
		"cut":      func(p string) error { return os.Truncate(p, 5) },
		"touched":  func(p string) error { return os.Chtimes(p, time.Time{}, time.Now().Add(time.Hour)) },
		"vanished": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"in.jsonl": "{\"id\":1}\n{\"id\":2}\n"})
			src := open(t, file.Local{}, dir, jsonl.Options{}, 1<<20)
			if _, err := src.Schema(t.Context()); err != nil {
				t.Fatal(err)
			}
			splits := connectortest.Splits(t, src, dataset.Cursor{})
			if err := change(filepath.Join(dir, "in.jsonl")); err != nil {
				t.Fatal(err)
			}
			_, err := connectortest.ReadSplit(t.Context(), src, connectortest.NewRuntime(t), splits[0], 0)
			if !errors.Is(err, file.ErrChanged) || !strings.Contains(err.Error(), "in.jsonl") {
				t.Fatalf("got %v", err)
			}
		})
	}
}

// TestChangeWhileReading: a change after the first block is noticed before the split ends well.
func TestChangeWhileReading(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "in.jsonl")
	write(t, dir, map[string]string{"in.jsonl": strings.Repeat("{\"id\":1}\n", 100)})
	src := open(t, file.Local{}, dir, jsonl.Options{}, 1<<20)
	rt := connectortest.NewRuntime(t)
	rt.Rows = 10
	r, err := src.Open(t.Context(), rt, connectortest.Splits(t, src, dataset.Cursor{})[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.Release()
	if err := os.WriteFile(p, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for err == nil {
		if b, err = r.Next(t.Context()); err == nil {
			b.Release()
		}
	}
	if !errors.Is(err, file.ErrChanged) {
		t.Fatalf("got %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHundredMegabyteLine: a line over the limit is passed in bounded memory.
func TestHundredMegabyteLine(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "in.jsonl")
	f, err := os.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	write("{\"id\": 1}\n{\"id\": \"")
	mega := strings.Repeat("z", 1<<20)
	for range 100 {
		write(mega)
	}
	write("\"}\n{\"id\": 2}\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{8 << 20, 1 << 30} {
		rt := connectortest.NewRuntime(t)
		rows := connectortest.ReadAll(t, open(t, file.Local{}, p, jsonl.Options{MaxLine: 1 << 20}, size), rt)
		if len(rows) != 2 || len(rt.Failures()) != 1 {
			t.Fatalf("rows %v, failures %v", rows, rt.Failures())
		}
		if msg := rt.Failures()[0].Err.Error(); !strings.Contains(msg, "line 2") || !strings.Contains(msg, "max_line=1MiB") {
			t.Fatal(msg)
		}
	}
}
