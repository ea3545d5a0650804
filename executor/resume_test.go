package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/connectors/jsonl"
	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// opened is an ints source that notes which files are opened and listed. Its files have times, so that they can be told apart.
type opened struct {
	*ints
	mu    sync.Mutex
	opens map[string]int
	lists int
}

func (s *opened) Splits(ctx context.Context, after dataset.Cursor) iter.Seq2[dataset.Split, error] {
	return func(yield func(dataset.Split, error) bool) {
		for sp, err := range s.ints.Splits(ctx, after) {
			if sp.Ranges[0].File.Path <= after.Path {
				continue
			}
			s.mu.Lock()
			s.lists++
			s.mu.Unlock()
			sp.Ranges[0].File.ETag = "1"
			if !yield(sp, err) {
				return
			}
		}
	}
}

func (s *opened) Open(ctx context.Context, rt dataset.Runtime, sp dataset.Split, offset uint64) (dataset.Reader, error) {
	s.mu.Lock()
	s.opens[sp.Ranges[0].File.Path]++
	s.mu.Unlock()
	return s.ints.Open(ctx, rt, sp, offset)
}

// numbersAt reads the numbers of a finished result, in the order of its files.
func numbersAt(t *testing.T, path string) (out []int64) {
	t.Helper()
	files := []string{path}
	if st, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if st.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var row struct{ N int64 }
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			out = append(out, row.N)
		}
	}
	return out
}

func jsonSink(t *testing.T, path string) *file.Sink {
	t.Helper()
	format, err := jsonl.NewFormat(jsonl.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := file.NewSink(path, format, file.Layout{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitParts returns when the unfinished run on each target has committed that many parts.
func awaitParts(t *testing.T, n int, paths ...string) {
	for _, path := range paths {
		store, err := jsonSink(t, path).State(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		for parts := 0; parts < n && t.Context().Err() == nil; runtime.Gosched() {
			runs, err := commit.Runs(t.Context(), store)
			if err != nil {
				t.Error(err)
				return
			}
			if len(runs) > 0 {
				parts = runs[0].Parts
			}
		}
	}
}

var errPulled = errors.New("somebody pulled the plug")

// TestResumeOpens: files whose rows are all committed are not opened again, nor listed; the run says how much that was.
func TestResumeOpens(t *testing.T) {
	const files, per = 30, 400
	for _, fail := range []int{3, 11, 29} {
		for _, target := range []string{"out/", "out.jsonl"} {
			t.Run(fmt.Sprint(target, fail), func(t *testing.T) {
				dir := t.TempDir()
				src := &opened{ints: &ints{files: files, perFile: per, perBlock: 100}, opens: map[string]int{}}
				path := filepath.Join(dir, target) + strings.Repeat("/", strings.Count(target, "/"))
				opts := dataset.Options{Ordered: true, PartBytes: 4000, CommitEvery: 1}
				run := func(parallel int) (*dataset.Report, error) {
					l := newLocal(t, 32<<20, parallel)
					return dataset.From(src, l).Via(pass("a")).To(jsonSink(t, path)).Run(t.Context(), opts)
				}
				src.fail = func(file int, _ uint64) error {
					if file == fail {
						awaitParts(t, fail/4, path)
						return errPulled
					}
					return nil
				}
				if _, err := run(2); !errors.Is(err, errPulled) {
					t.Fatal(err)
				}
				src.fail, src.opens, src.lists = nil, map[string]int{}, 0
				rep, err := run(4)
				if err != nil {
					t.Fatal(err)
				}
				var done, all int
				note := strings.Join(rep.Notes, "\n")
				if i := strings.Index(note, ": "); !strings.HasPrefix(note, "resumed run ") || i < 0 {
					if fail > 3 {
						t.Fatalf("notes %q", rep.Notes)
					}
				} else if _, err := fmt.Sscanf(note[i:], ": %d of %d ranges were committed before", &done, &all); err != nil {
					t.Fatal(note, err)
				}
				if fail == 29 && done < 5 {
					t.Errorf("%d of %d ranges were committed before file %d failed", done, all, fail)
				}
				if len(src.opens) != files-done {
					t.Errorf("%d files were opened again of %d, though %d were committed", len(src.opens), files, done)
				}
				if done > 0 && src.lists > files-done { // the log holds the list as far as the parts need it, and more where it was quick
					t.Errorf("%d files were listed again of %d, though %d were committed", src.lists, files, done)
				}
				if got := numbersAt(t, filepath.Join(dir, target)); !slices.Equal(got, upTo(files*per)) {
					t.Errorf("%d rows, or out of order", len(got))
				}
			})
		}
	}
}

// TestResumeTwoSinks: a sink that has committed drops its rows while they are read again for another one that has not.
func TestResumeTwoSinks(t *testing.T) {
	const files, per = 20, 500
	for _, lost := range []string{"", "a", "b"} { // which of the unfinished results is taken away
		t.Run("lost "+lost, func(t *testing.T) {
			dir := t.TempDir()
			src := &opened{ints: &ints{files: files, perFile: per, perBlock: 100}, opens: map[string]int{}}
			run := func() (*dataset.Report, error) {
				l := newLocal(t, 32<<20, 3)
				all := dataset.From(src, l)
				odd := all.Via(keep("odd", func(n int64) bool { return n%2 == 1 }))
				p, err := dataset.NewPlan(dataset.Options{PartBytes: 3000, CommitEvery: 1}, all.To(jsonSink(t, dir+"/a/")), odd.To(jsonSink(t, dir+"/b/")))
				if err != nil {
					t.Fatal(err)
				}
				return p.Report, dataset.Drain(t.Context(), l, p)
			}
			src.fail = func(file int, _ uint64) error {
				if file == files-3 {
					awaitParts(t, 2, dir+"/a/", dir+"/b/")
					return errPulled
				}
				return nil
			}
			if _, err := run(); !errors.Is(err, errPulled) {
				t.Fatal(err)
			}
			if lost != "" {
				if err := os.RemoveAll(filepath.Join(dir, lost)); err != nil {
					t.Fatal(err)
				}
			}
			src.fail, src.opens = nil, map[string]int{}
			rep, err := run()
			if err != nil {
				t.Fatal(err)
			}
			if lost == "" && !strings.Contains(strings.Join(rep.Notes, " "), "resumed run") {
				t.Errorf("notes %q", rep.Notes)
			}
			if lost != "" && len(src.opens) != files {
				t.Errorf("%d files were read for the sink that lacks all", len(src.opens))
			}
			if got := sorted(numbersAt(t, dir+"/a")); !slices.Equal(got, upTo(files*per)) {
				t.Errorf("a has %d rows", len(got))
			}
			var odd []int64
			for n := int64(1); n < files*per; n += 2 {
				odd = append(odd, n)
			}
			if got := sorted(numbersAt(t, dir+"/b")); !slices.Equal(got, odd) {
				t.Errorf("b has %d rows", len(got))
			}
			if rep, err := run(); err != nil || !rep.Complete {
				t.Errorf("then complete is %t, %v", rep.Complete, err)
			}
		})
	}
}

// TestResumeLimit: a limit sees all rows again, so its count stays exact.
func TestResumeLimit(t *testing.T) {
	dir := t.TempDir()
	src := &opened{ints: &ints{files: 30, perFile: 400, perBlock: 100}, opens: map[string]int{}}
	run := func(l int) error {
		_, err := dataset.From(src, newLocal(t, 32<<20, 2)).Via(limit(l)).To(jsonSink(t, dir+"/out/")).Run(t.Context(), dataset.Options{Ordered: true, PartBytes: 2000, CommitEvery: 1})
		return err
	}
	src.fail = func(file int, _ uint64) error {
		if file == 20 { // nothing is committed before the end
			return errPulled
		}
		return nil
	}
	if err := run(10_000); !errors.Is(err, errPulled) {
		t.Fatal(err)
	}
	src.fail = nil
	if err := run(10_000); err != nil {
		t.Fatal(err)
	}
	if got := numbersAt(t, dir+"/out"); !slices.Equal(got, upTo(10_000)) {
		t.Errorf("%d rows", len(got))
	}
}
