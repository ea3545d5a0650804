package binary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/binary"
	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

func write(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

func open(tb testing.TB, fs file.FS, dir string, opt binary.Options, split int64) *binary.Source {
	tb.Helper()
	src, err := binary.NewSource(binary.Default, file.NewSet(fs, []dataset.Pattern{{Text: dir}}), opt)
	if err != nil {
		tb.Fatal(err)
	}
	return src.SplitBytes(split)
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"empty": "", "z/last.bin": "\x00\xff"}
	for i := range 40 {
		files[fmt.Sprintf("d%d/f%02d.bin", i%3, i)] = strings.Repeat(string(rune('a'+i%26)), i*20)
	}
	write(t, dir, files)
	for _, size := range []int64{1 << 20, 300} {
		connectortest.RunSource(t, connectortest.SourceConfig{
			New: func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, dir, binary.Options{}, size) },
			Resplit: []func(testing.TB) dataset.Source{
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, binary.Options{}, 1) },
				func(tb testing.TB) dataset.Source { return open(tb, file.Local{}, dir, binary.Options{}, 5000) },
			},
			Rows: len(files),
		})
	}
}

func TestContents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "one", "b": ""})
	rows := connectortest.ReadAll(t, open(t, file.Local{}, dir, binary.Options{}, 0), connectortest.NewRuntime(t))
	want := fmt.Sprintf("path=%q\ndata=%q\n", dir+"/a", "b25l")
	if len(rows) != 2 || rows[0].Values != want {
		t.Fatalf("got %v, want %q first", rows, want)
	}
}

// TestRowErrors: what is wrong with one file leaves the others alone.
func TestRowErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"too large": {func(string) error { return nil }, "more than max_file=10B; raise max_file"},
		"vanished":  {func(dir string) error { return os.Remove(dir + "/b") }, "b: the file was listed and is gone"},
		"changed":   {func(dir string) error { return os.Chtimes(dir+"/b", time.Time{}, time.Unix(1, 0)) }, "b: the file changed"},
		"grown":     {func(dir string) error { return os.WriteFile(dir+"/b", []byte("longer now"), 0o644) }, "b: the file changed"},
		"cut":       {func(dir string) error { return os.Truncate(dir+"/b", 1) }, "b: the file changed"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"a": "one", "b": "two", "c": "three"})
			if name == "too large" {
				write(t, dir, map[string]string{"b": strings.Repeat("x", 11)})
			}
			src := open(t, file.Local{}, dir, binary.Options{MaxFile: 10}, 0)
			splits := connectortest.Splits(t, src, dataset.Cursor{})
			if err := c.change(dir); err != nil {
				t.Fatal(err)
			}
			rt := connectortest.NewRuntime(t)
			rows, err := connectortest.ReadSplit(t.Context(), src, rt, splits[0], 0)
			if err != nil || len(rows) != 2 || !strings.Contains(rows[1].Path, "/c") {
				t.Fatalf("rows %v, error %v", rows, err)
			}
			fails := rt.Failures()
			if len(fails) != 1 || !strings.HasSuffix(fails[0].File.Path, "/b") || !strings.Contains(fails[0].Err.Error(), c.want) {
				t.Fatalf("failures %v, want one of %q", fails, c.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	_, err := binary.NewSource(binary.Default, file.NewSet(file.Local{}, nil), binary.Options{MaxFile: 2 << 30})
	if err == nil || !strings.Contains(err.Error(), "max_file=2GiB: must be between 1B and 1GiB") {
		t.Fatal(err)
	}
}

func BenchmarkSmallFiles(b *testing.B) {
	dir := b.TempDir()
	const n = 5000
	text := strings.Repeat("4KB.", 1024)
	for i := range n {
		write(b, dir, map[string]string{fmt.Sprintf("%02d/%04d.bin", i%50, i): text})
	}
	src := open(b, file.Local{}, dir, binary.Options{}, 0)
	rt := &connectortest.Runtime{}
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			connectortest.Splits(b, src, dataset.Cursor{})
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "files/s")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(n * 4096)
		splits := connectortest.Splits(b, src, dataset.Cursor{})
		for b.Loop() {
			for _, s := range splits {
				if got, err := connectortest.Count(b.Context(), src, rt, s); err != nil || got == 0 {
					b.Fatal(got, err)
				}
			}
		}
		b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "files/s")
	})
}
