package file_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/text"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/expr"
)

var hiveFiles = []string{
	"year=2025/month=1/a.txt", "year=2025/month=2/b.txt", "year=2026/month=1/c.txt", "year=2026/month=2/d.txt", "year=__HIVE_DEFAULT_PARTITION__/month=2/e.txt",
}

// keysOf is a bucket of some keys that notes which prefixes were listed.
type keysOf struct {
	file.Local
	keys   []string
	listed []string
}

func (k *keysOf) List(ctx context.Context, m *file.Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	return file.ListKeys(ctx, k, m, after)
}

func (k *keysOf) Stat(_ context.Context, path string) (file.Info, error) {
	return file.Info{FileRef: dataset.FileRef{Path: path}, Dir: true}, nil
}

func (k *keysOf) Keys(_ context.Context, prefix, after string, folders bool) iter.Seq2[dataset.FileRef, error] {
	k.listed = append(k.listed, prefix)
	return func(yield func(dataset.FileRef, error) bool) {
		last := ""
		for _, key := range k.keys {
			rest, ok := strings.CutPrefix(key, prefix)
			if !ok || key <= after {
				continue
			}
			if i := strings.IndexByte(rest, '/'); folders && i >= 0 {
				if key = prefix + rest[:i+1]; key == last {
					continue
				}
				last = key
			}
			if !yield(dataset.FileRef{Path: key, Size: 1}, nil) {
				return
			}
		}
	}
}

// TestHiveListing lists partitions under filters, on a disk and in a bucket: what the filter excludes must not be looked into.
func TestHiveListing(t *testing.T) {
	for _, c := range []struct {
		where  string
		want   []string // files that are left
		looked string   // folders that must not be listed
	}{
		{"year == 2026", []string{"c.txt", "d.txt"}, "year=2025"},
		{"year == 2026 && month == 2", []string{"d.txt"}, "year=2026/month=1"},
		{"month == 1", []string{"a.txt", "c.txt"}, "year=2025/month=2"},
		{"year == nil", []string{"e.txt"}, "year=2026"},
		{"year > 3000", nil, "year=2025"},
		{"text == \"x\" || year == 2025", []string{"a.txt", "b.txt", "c.txt", "d.txt", "e.txt"}, "nothing"},
	} {
		pred, err := expr.Parse(c.where)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, f := range hiveFiles {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(f)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, f), []byte("x\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(filepath.Join(dir, c.looked, "trap"), 0o755); err != nil {
			t.Fatal(err)
		}
		if c.looked != "nothing" { // whoever lists it fails
			if err := os.Symlink("nowhere", filepath.Join(dir, c.looked, "broken")); err != nil {
				t.Fatal(err)
			}
		}
		checkListing(t, "disk: "+c.where, file.Local{}, dir, pred, c.want)
		bucket := &keysOf{}
		for _, f := range hiveFiles {
			bucket.keys = append(bucket.keys, "b/"+f)
		}
		slices.Sort(bucket.keys)
		checkListing(t, "bucket: "+c.where, bucket, "b", pred, c.want)
		for _, p := range bucket.listed {
			if strings.Contains(p, c.looked+"/") {
				t.Errorf("%s: the prefix %s was listed", c.where, p)
			}
		}
	}
}

func checkListing(t *testing.T, name string, fs file.FS, dir string, pred *expr.Expr, want []string) {
	t.Helper()
	set := file.NewSet(fs, []dataset.Pattern{{Text: dir, Literal: true}})
	inner, err := text.NewSource(set, text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	src, err := file.Partitioned(inner, set, "year int64, month int64")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for split, err := range src.(dataset.Prunable).Prune(pred).Splits(t.Context(), dataset.Cursor{}) {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, r := range split.Ranges {
			got = append(got, filepath.Base(r.File.Path))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: files %v, want %v", name, got, want)
	}
}
