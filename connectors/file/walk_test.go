package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/dataset"
)

// files makes files (or folders, for names that end in a slash) below a new folder and makes that the working folder.
func files(tb testing.TB, names ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, name := range names {
		p := filepath.Join(dir, name)
		folder := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			folder = p
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			tb.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			continue
		}
		if err := os.WriteFile(p, []byte(name), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if t, ok := tb.(*testing.T); ok {
		t.Chdir(dir)
	}
	return dir
}

// list is the paths of a set, behind a path.
func list(tb testing.TB, after string, patterns ...dataset.Pattern) ([]string, error) {
	tb.Helper()
	var out []string
	for f, err := range NewSet(Local{}, patterns).Files(tb.Context(), after) {
		if err != nil {
			return out, err
		}
		out = append(out, f.Path)
	}
	return out, nil
}

func globs(texts ...string) []dataset.Pattern {
	var out []dataset.Pattern
	for _, t := range texts {
		out = append(out, dataset.Pattern{Text: t})
	}
	return out
}

func TestList(t *testing.T) {
	files(t, "b.jsonl", "a/2.jsonl", "a/1.jsonl", "a.jsonl", "a/b/3.jsonl", "a/_x.jsonl", "a/.y.jsonl", "_s/z.jsonl", "a-b/4.jsonl", "odd[1].jsonl", "-", "empty/")
	for _, c := range []struct {
		patterns []dataset.Pattern
		want     []string
	}{
		{globs("a"), []string{"a/1.jsonl", "a/2.jsonl", "a/b/3.jsonl"}},
		{globs("."), []string{"-", "a-b/4.jsonl", "a.jsonl", "a/1.jsonl", "a/2.jsonl", "a/b/3.jsonl", "b.jsonl", "odd[1].jsonl"}},
		{globs("**/*.jsonl"), []string{"_s/z.jsonl", "a-b/4.jsonl", "a.jsonl", "a/1.jsonl", "a/2.jsonl", "a/_x.jsonl", "a/b/3.jsonl", "b.jsonl", "odd[1].jsonl"}},
		{globs("b.jsonl", "a/*.jsonl", "*.jsonl"), []string{"b.jsonl", "a/1.jsonl", "a/2.jsonl", "a/_x.jsonl", "a.jsonl", "odd[1].jsonl"}},
		{globs("./b.jsonl", "b.jsonl"), []string{"b.jsonl"}},
		{[]dataset.Pattern{{Text: "odd[1].jsonl", Literal: true}}, []string{"odd[1].jsonl"}},
		{[]dataset.Pattern{{Text: "-", Literal: true}}, []string{"./-"}},
		{globs("a/b/3.jsonl"), []string{"a/b/3.jsonl"}},
		{globs("{a/b,a-b}/*"), []string{"a-b/4.jsonl", "a/b/3.jsonl"}},
	} {
		got, err := list(t, "", c.patterns...)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, %v; want %v", c.patterns, got, err, c.want)
			continue
		}
		for i, after := range got {
			rest, err := list(t, after, c.patterns...)
			if err != nil || !slices.Equal(rest, c.want[i+1:]) {
				t.Errorf("%v behind %s: %v, %v; want %v", c.patterns, after, rest, err, c.want[i+1:])
			}
		}
	}
}

func TestListErrors(t *testing.T) {
	files(t, "in/photos/x.jpg", "only/_left.jpg", "file.x", "odd[1].x")
	if err := os.Symlink("nowhere", "in/photos/broken.jpg"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern dataset.Pattern
		want    []string
	}{
		{dataset.Pattern{Text: "in/nope/deep/*.jpg"}, []string{`"in/nope/deep/*.jpg" matches no file`, `nearest folder that exists is "in"`}},
		{dataset.Pattern{Text: "in/photos/**.png"}, []string{"matches no file", `"in/photos"`, `write "in/photos/**/*.png"`}},
		{dataset.Pattern{Text: "missing.jpg"}, []string{`no such file or folder "missing.jpg"`, `nearest folder that exists is "."`}},
		{dataset.Pattern{Text: "only"}, []string{`folder "only" holds no files`, "begin with _ or ."}},
		{dataset.Pattern{Text: "file.x/"}, []string{"it is a file, not a folder"}},
		{dataset.Pattern{Text: "odd[1].x"}, []string{"one of exactly that name exists", "quote"}},
		{dataset.Pattern{Text: "pipe"}, []string{"pipe or a device", "- < pipe"}},
		{dataset.Pattern{Text: "in"}, []string{"in/photos/broken.jpg", "leads nowhere"}},
		{dataset.Pattern{Text: ""}, []string{"a path is empty"}},
	} {
		_, err := list(t, "", c.pattern)
		if err == nil {
			t.Errorf("%v: no error", c.pattern)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %q lacks %q", c.pattern, err, w)
			}
		}
	}
}

func TestLinks(t *testing.T) {
	files(t, "real/a.x", "real/sub/b.x", "in/")
	for from, to := range map[string]string{"in/folder": "../real", "real/sub/up": "../../real", "in/file.x": "../real/a.x"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	got, err := list(t, "", globs("in")...)
	want := []string{"in/file.x", "in/folder/a.x", "in/folder/sub/b.x"}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%v, %v; want %v", got, err, want)
	}
}

func TestListCancel(t *testing.T) {
	files(t, "a/1", "a/2")
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	cause := errors.New("enough")
	n := 0
	for _, err := range NewSet(Local{}, globs("a")).Files(ctx, "") {
		if n++; n == 1 {
			stop(cause)
			continue
		}
		if !errors.Is(err, cause) {
			t.Fatal(err)
		}
	}
	if n != 2 {
		t.Fatalf("%d results", n)
	}
}

func TestOpenChanged(t *testing.T) {
	files(t, "a")
	info, err := Local{}.Stat(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("a", []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Local{}).Open(t.Context(), info.FileRef); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "read a: ") {
		t.Fatal(err)
	}
	if err := os.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := (Local{}).Open(t.Context(), info.FileRef); !errors.Is(err, ErrChanged) || !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func TestSplits(t *testing.T) {
	dir := files(t)
	for i, size := range []int{0, 10, 1000, 30, 30, 30, 30, 250} {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.x", i)), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	show := func(p Planner, after dataset.Cursor) []string {
		var out []string
		for s, err := range p.Splits(t.Context(), NewSet(Local{}, globs(".")), after) {
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			sum := int64(0)
			for _, r := range s.Ranges {
				parts = append(parts, fmt.Sprintf("%s[%d:%d]", r.File.Path, r.Start, r.End))
				sum += rangeBytes(r)
			}
			if sum != s.Bytes {
				t.Errorf("split says %d bytes, its ranges have %d", s.Bytes, sum)
			}
			out = append(out, strings.Join(parts, " "))
		}
		return out
	}
	p := Planner{TargetBytes: 300, Range: ByteRange}
	all := []string{"f0.x[0:0] f1.x[0:10] f2.x[0:250]", "f2.x[250:500]", "f2.x[500:750]", "f2.x[750:1000] f3.x[0:30]", "f4.x[0:30] f5.x[0:30] f6.x[0:30]", "f7.x[0:250]"}
	if got := show(p, dataset.Cursor{}); !slices.Equal(got, all) {
		t.Errorf("got %q", got)
	}
	if got, want := show(p, dataset.Cursor{Path: "f2.x", End: 500}), []string{"f2.x[500:750]", "f2.x[750:1000] f3.x[0:30]"}; !slices.Equal(got[:2], want) {
		t.Errorf("behind the cursor: %q", got)
	}
	p.MaxFiles = 2
	if got := show(p, dataset.Cursor{Path: "f2.x", End: 1000}); !slices.Equal(got, []string{"f3.x[0:30] f4.x[0:30]", "f5.x[0:30] f6.x[0:30]", "f7.x[0:250]"}) {
		t.Errorf("two files a split: %q", got)
	}
	if got := show(Planner{TargetBytes: 100, Range: WholeRange}, dataset.Cursor{Path: "f6.x", End: 1}); !slices.Equal(got, []string{"f7.x[0:1]"}) {
		t.Errorf("whole files: %q", got)
	}
}

func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for i := range 20000 {
		p := filepath.Join(dir, fmt.Sprint(i%100))
		if i < 100 {
			if err := os.Mkdir(p, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(p, fmt.Sprintf("%05d.jpg", i)), nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range NewSet(Local{}, globs(dir+"/**/*.{jpg,png}")).Files(b.Context(), "") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 20000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(20000*b.N)/b.Elapsed().Seconds(), "files/s")
}
