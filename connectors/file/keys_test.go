package file_test

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// bucket is a place of keys in memory.
type bucket []string

const bucketURL = "mem://b/"

// Keys implements file.Keys.
func (b bucket) Keys(_ context.Context, prefix, after string, folders bool) iter.Seq2[dataset.FileRef, error] {
	return func(yield func(dataset.FileRef, error) bool) {
		var out []string
		for _, k := range b {
			k = bucketURL + k
			if !strings.HasPrefix(k, prefix) {
				continue
			}
			if i := strings.IndexByte(k[len(prefix):], '/'); folders && i >= 0 {
				k = k[:len(prefix)+i+1]
			}
			if k > after {
				out = append(out, k)
			}
		}
		slices.Sort(out)
		for _, k := range slices.Compact(out) {
			if !yield(dataset.FileRef{Path: k, Size: 1, ETag: "1"}, nil) {
				return
			}
		}
	}
}

// Stat implements file.Keys.
func (b bucket) Stat(_ context.Context, path string) (file.Info, error) {
	key := strings.TrimPrefix(path, bucketURL)
	if slices.Contains(b, key) {
		return file.Info{FileRef: dataset.FileRef{Path: path, Size: 1, ETag: "1"}}, nil
	}
	dir := strings.TrimSuffix(key, "/") + "/"
	if dir == "/" || slices.ContainsFunc(b, func(k string) bool { return strings.HasPrefix(k, dir) }) {
		return file.Info{FileRef: dataset.FileRef{Path: path}, Dir: true}, nil
	}
	return file.Info{}, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

// List implements file.FS.
func (b bucket) List(ctx context.Context, m *file.Matcher, after string) iter.Seq2[dataset.FileRef, error] {
	return file.ListKeys(ctx, b, m, after)
}

// Open implements file.FS.
func (b bucket) Open(context.Context, dataset.FileRef) (file.Handle, error) {
	return nil, fs.ErrInvalid
}

// TestKeysAreFolders: a place of keys lists what a folder with the same files lists, in the same order, from everywhere on.
func TestKeysAreFolders(t *testing.T) {
	name := rapid.SampledFrom([]string{"a", "b", "a-b", "ab", "_x", ".h", "a.txt", "b0.txt", "_sluice", "ü"})
	patterns := rapid.SampledFrom([]string{"**", "*", "*/*", "a/**", "a/*", "**/*.txt", "a/**/b*", "{a,b}/*", "{a/b,b}/*.txt", "a*/**", "*/a/b", "a/b", "**/.h", "a?b/*", "ü/**", "[ab]*/**/a", "a/"})
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "d")
		if err != nil {
			t.Fatal(err)
		}
		var keys bucket
		for _, parts := range rapid.SliceOfN(rapid.SliceOfN(name, 1, 4), 1, 12).Draw(t, "files") {
			key := strings.Join(parts, "/")
			p := filepath.Join(dir, filepath.FromSlash(key))
			if os.MkdirAll(filepath.Dir(p), 0o755) != nil {
				continue // a file of that name is in the way, which only a bucket can have
			}
			if f, err := os.OpenFile(p, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644); err == nil {
				f.Close()
				keys = append(keys, key)
			}
		}
		pattern := patterns.Draw(t, "pattern")
		list := func(s *file.Set, base, after string) (out []string, failed bool) {
			if after != "" {
				after = base + after
			}
			for ref, err := range s.Files(t.Context(), after) {
				if err != nil {
					return nil, true
				}
				out = append(out, strings.TrimPrefix(ref.Path, base))
			}
			return out, false
		}
		local := file.NewSet(file.Local{}, []dataset.Pattern{{Text: dir + "/" + pattern}})
		remote := file.NewSet(keys, []dataset.Pattern{{Text: bucketURL + pattern}})
		want, bad := list(local, dir+"/", "")
		got, badToo := list(remote, bucketURL, "")
		if !slices.Equal(got, want) || bad != badToo {
			t.Fatalf("%s of %q: %q (%v), want %q (%v)", pattern, keys, got, badToo, want, bad)
		}
		for i, k := range want {
			if rest, _ := list(remote, bucketURL, k); !slices.Equal(rest, want[i+1:]) {
				t.Fatalf("%s of %q after %s: %q, want %q", pattern, keys, k, rest, want[i+1:])
			}
		}
	})
}

// TestOddKeys: keys that no folder could hold.
func TestOddKeys(t *testing.T) {
	b := bucket{"a/", "a/x.txt", "b//y.txt", "c"}
	for pattern, want := range map[string]string{"a/*": "a/x.txt", "a/": "a/x.txt", "c": "c", "b/**": "empty folder name", "b/*/*": "empty folder name"} {
		var got []string
		for ref, err := range file.NewSet(b, []dataset.Pattern{{Text: bucketURL + pattern}}).Files(t.Context(), "") {
			if err != nil {
				got = append(got, err.Error())
				break
			}
			got = append(got, strings.TrimPrefix(ref.Path, bucketURL))
		}
		if s := strings.Join(got, " "); !strings.Contains(s, want) {
			t.Errorf("%s: %s, want %s", pattern, s, want)
		}
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]string{
		"mem://b/none/*.txt": `the nearest folder that exists is "mem://b/"`, "mem://b/a/none": `the nearest folder that exists is "mem://b/a"`,
		"mem://*/x": "cannot be a pattern", "mem://{b,c}/x": "cannot be a pattern",
	} {
		_, err := first(t, file.NewSet(bucket{"a/x"}, []dataset.Pattern{{Text: text}}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, err := first(t, file.NewSet(file.Local{}, []dataset.Pattern{{Text: "nosuch://b/x.txt"}}))
	if err == nil || !strings.Contains(err.Error(), "nosuch://") {
		t.Errorf("an unknown scheme: %v", err)
	}
	if _, err := file.OpenSink("nosuch://b/x/", nil, file.Layout{}); err == nil || !strings.Contains(err.Error(), "nosuch://") {
		t.Errorf("a sink of an unknown scheme: %v", err)
	}
	for p, want := range map[string]string{"https://h/a.jsonl.gz?x=1.parquet": "jsonl", "s3://b/k.parquet": "parquet", "http://h/x": ""} {
		if got := file.Extension(p); got != want {
			t.Errorf("%s: extension %q", p, got)
		}
	}
	if c := file.Compression("https://h/a.jsonl.gz?x=1"); c != "gzip" {
		t.Errorf("compression %q", c)
	}
}

func first(t *testing.T, s *file.Set) (string, error) {
	for ref, err := range s.Files(t.Context(), "") {
		return ref.Path, err
	}
	return "", nil
}
