//go:build objects

package object

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/connectors/object/objecttest"
	"github.com/sluice-data/sluice/dataset"
)

// lines makes n rows of JSON lines.
func lines(first, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":%d,\"text\":\"row %d\"}\n", first+i, first+i)
	}
	return b.String()
}

func packed(t *testing.T, name, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if name == "zstd" {
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// flaky fails about every third read in one way or another, never the same request for ever.
func flaky(seed uint64) func(r *http.Request) objecttest.Fault {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func(r *http.Request) objecttest.Fault {
		mu.Lock()
		defer mu.Unlock()
		switch n := rnd.IntN(18); {
		case n == 0:
			return objecttest.Fault{Status: 503}
		case n == 1:
			return objecttest.Fault{Status: 429, After: "0"}
		case n == 2:
			return objecttest.Fault{Status: 500}
		case n == 3 && r.Method == http.MethodGet:
			return objecttest.Fault{Cut: true, Keep: rnd.Int64N(200)}
		case n == 4:
			return objecttest.Fault{Lost: true}
		}
		return objecttest.Fault{}
	}
}

// TestSourceConformance: reading from a store that fails now and then is reading from a disk.
func TestSourceConformance(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		for name, rule := range map[string]func(*http.Request) objecttest.Fault{"sound": nil, "flaky": flaky(3)} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t, at, func(c *Config) { c.RangeBytes = 64 << 10 })
				p.put(t, map[string]string{"in/a.jsonl": lines(0, 40), "in/b/c.jsonl": lines(40, 3), "in/d.jsonl.gz": packed(t, "gzip", lines(43, 20)),
					"in/e.jsonl.zst": packed(t, "zstd", lines(63, 7)), "in/empty.jsonl": "", "in/_hidden/x.jsonl": lines(900, 1), "other.jsonl": lines(800, 2)})
				p.Set(rule)
				open := func(tb testing.TB, fs file.FS, split int64) dataset.Source {
					if f, ok := fs.(*connectortest.FaultFS); ok {
						f.FS = storeFS{p.store}
					} else {
						fs = storeFS{p.store}
					}
					src, err := jsonl.NewSource(file.NewSet(fs, []dataset.Pattern{{Text: p.url("in/**/*.jsonl*")}}), jsonl.Options{})
					if err != nil {
						tb.Fatal(err)
					}
					return src.SplitBytes(split)
				}
				connectortest.RunSource(t, connectortest.SourceConfig{
					Rows: 40 + 3 + 20 + 7 + 1,
					New:  func(tb testing.TB, fs file.FS) dataset.Source { return open(tb, fs, 0) },
					Resplit: []func(tb testing.TB) dataset.Source{
						func(tb testing.TB) dataset.Source { return open(tb, nil, 100) },
					},
				})
			})
		}
	})
}

// TestList: globs, in order, resumed behind every file, in pages of the server.
func TestList(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, nil)
		all := map[string]string{}
		for _, k := range []string{"a/b.txt", "a/b/c.txt", "a/b/d/e.txt", "a-b.txt", "a/b0.txt", "a.txt", "z/y=1/p.txt", "z/y=2/p.txt", "z/y=2/q.bin", "ü/ö.txt", "sp ace/x+y.txt"} {
			all[k] = k
		}
		p.put(t, all)
		for pattern, want := range map[string][]string{
			"**":            {"a-b.txt", "a.txt", "a/b.txt", "a/b/c.txt", "a/b/d/e.txt", "a/b0.txt", "sp ace/x+y.txt", "z/y=1/p.txt", "z/y=2/p.txt", "z/y=2/q.bin", "ü/ö.txt"},
			"a/**/*.txt":    {"a/b.txt", "a/b/c.txt", "a/b/d/e.txt", "a/b0.txt"},
			"a/*":           {"a/b.txt", "a/b0.txt"},
			"*/b*":          {"a/b.txt", "a/b0.txt"},
			"z/y=*/p.txt":   {"z/y=1/p.txt", "z/y=2/p.txt"},
			"{a,z}/*/*.txt": {"a/b/c.txt", "z/y=1/p.txt", "z/y=2/p.txt"},
			"z/":            {"z/y=1/p.txt", "z/y=2/p.txt", "z/y=2/q.bin"},
			"ü/ö.txt":       {"ü/ö.txt"},
			"sp*/x+y.txt":   {"sp ace/x+y.txt"},
		} {
			set := file.NewSet(storeFS{p.store}, []dataset.Pattern{{Text: p.url(pattern)}})
			list := func(after string) (out []string) {
				for ref, err := range set.Files(t.Context(), after) {
					if err != nil {
						t.Fatalf("%s after %q: %v", pattern, after, err)
					}
					if ref.ETag == "" || ref.Size == 0 {
						t.Fatalf("%s is not pinned: %+v", ref.Path, ref)
					}
					out = append(out, strings.TrimPrefix(ref.Path, p.url("")))
				}
				return out
			}
			got := list("")
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", pattern, got, want)
				continue
			}
			for i, k := range want {
				if rest := list(p.url(k)); !slices.Equal(rest, want[i+1:]) {
					t.Errorf("%s after %s: %q, want %q", pattern, k, rest, want[i+1:])
				}
			}
		}
	})
}

// TestListedAndLookedAt: a file is pinned in the same way by a listing and by a look at it.
func TestListedAndLookedAt(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, nil)
		p.put(t, map[string]string{"x/a.txt": "hello"})
		f := storeFS{p.store}
		info, err := f.Stat(t.Context(), p.url("x/a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for ref, err := range f.Keys(t.Context(), p.url("x/"), "", false) {
			if err != nil || ref != info.FileRef {
				t.Errorf("listed %+v, looked at %+v, %v", ref, info.FileRef, err)
			}
		}
		if info, err := f.Stat(t.Context(), p.url("x")); err != nil || !info.Dir {
			t.Errorf("a prefix: %+v, %v", info, err)
		}
		if _, err := f.Stat(t.Context(), p.url("none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("nothing: %v", err)
		}
		if _, err := f.Stat(t.Context(), at.URL("no-such-bucket-at-all", "x")); err == nil || !strings.Contains(err.Error(), "there is no bucket no-such-bucket-at-all") {
			t.Errorf("no bucket: %v", err)
		}
	})
}

// TestChanged: a file that is replaced after it was listed is an error that names it.
func TestChanged(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, nil)
		p.put(t, map[string]string{"a.txt": "hello", "b.txt": "hello"})
		f := storeFS{p.store}
		for name, change := range map[string]func(){
			"a.txt": func() { p.put(t, map[string]string{"a.txt": "world"}) },
			"b.txt": func() { p.remove(t, "b.txt") },
		} {
			info, err := f.Stat(t.Context(), p.url(name))
			if err != nil {
				t.Fatal(err)
			}
			change()
			h, err := f.Open(t.Context(), info.FileRef)
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.ReadAt(make([]byte, 5), 0)
			if !errors.Is(err, file.ErrChanged) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestResume: bodies that break and stall are resumed where they broke; all bytes come, each at its place.
func TestResume(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, func(c *Config) { c.RangeBytes, c.Ranges = 64<<10, 4 })
		text := lines(0, 60_000)
		p.put(t, map[string]string{"big.txt": text})
		rnd := rand.New(rand.NewPCG(1, 2))
		p.Set(func(r *http.Request) objecttest.Fault {
			if r.Method != http.MethodGet {
				return objecttest.Fault{}
			}
			switch rnd.IntN(8) {
			case 0:
				return objecttest.Fault{Stall: true, Keep: rnd.Int64N(60_000)}
			case 1, 2:
				return objecttest.Fault{Cut: true, Keep: rnd.Int64N(60_000)}
			case 3:
				return objecttest.Fault{Status: 503}
			}
			return objecttest.Fault{}
		})
		set := file.NewSet(storeFS{p.store}, []dataset.Pattern{{Text: p.url("big.txt")}})
		for ref, err := range set.Files(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			for _, from := range []int64{0, 1_000_001} {
				r, err := set.OpenText(t.Context(), ref, from)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if err != nil || string(got) != text[from:] {
					t.Fatalf("from %d: %d bytes of %d, %v", from, len(got), len(text)-int(from), err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			h, err := set.FS().Open(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			whole := make([]byte, len(text))
			if _, err := h.ReadAt(whole, 0); err != nil || string(whole) != text {
				t.Errorf("in one read: %v", err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
		if p.Faults.Load() < 10 {
			t.Errorf("only %d faults were injected", p.Faults.Load())
		}
	})
}

// TestGivesUp: a store that never answers is an error that names the file, the place in it and the time spent.
func TestGivesUp(t *testing.T) {
	everyCloud(t, func(t *testing.T, at *objecttest.Server) {
		p := newPlace(t, at, func(c *Config) { c.Patience = 300 * time.Millisecond })
		p.put(t, map[string]string{"a.txt": "hello"})
		f := storeFS{p.store}
		info, err := f.Stat(t.Context(), p.url("a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			fault objecttest.Fault
			want  string
		}{{objecttest.Fault{Status: 503}, "given up after"}, {objecttest.Fault{Status: 403}, p.store.drv.help}, {objecttest.Fault{Stall: true}, "nothing arrives for 200ms"}} {
			p.Set(func(*http.Request) objecttest.Fault { return c.fault })
			h, err := f.Open(t.Context(), info.FileRef)
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.ReadAt(make([]byte, 5), 0)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), p.url("a.txt")) {
				t.Errorf("%+v: %v, want %q", c.fault, err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "testsecret") || strings.Contains(err.Error(), os.Getenv("AZURE_STORAGE_KEY"))) {
				t.Errorf("the error shows a secret: %v", err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
