package commit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/executor/commit"
)

func TestRowsArriveOnce(t *testing.T) {
	for name, w := range map[string]world{
		"folder":              {Path: "out/", Files: files(5, 300), Keep: 7, Lanes: 3, PartBytes: 2000},
		"one file":            {Path: "out.txt", Files: files(5, 300), Keep: 7, Lanes: 2, PartBytes: 1 << 20},
		"one file of folder":  {Path: "out.txt", Files: files(5, 300), Keep: 7, Lanes: 2, PartBytes: 2000},
		"partitioned":         {Path: "out/", Files: files(5, 300), Keep: 7, Lanes: 2, PartBytes: 2000, By: true},
		"few open parts":      {Path: "out/", Files: files(5, 300), Keep: 7, Lanes: 2, PartBytes: 1 << 20, By: true, OpenParts: 4},
		"behind a barrier":    {Path: "out/", Files: files(5, 300), Keep: 7, Lanes: 2, PartBytes: 2000, Deferred: true},
		"ordered":             {Path: "out/", Files: files(5, 300), Keep: 7, PartBytes: 2000, Ordered: true},
		"exact":               {Path: "out/", Files: files(9, 900), Keep: 7, PartBytes: 2000, Exact: true},
		"exact, partitioned":  {Path: "out/", Files: files(9, 900), Keep: 7, PartBytes: 2000, Exact: true, By: true, OpenParts: 3},
		"exact, barrier":      {Path: "out.txt", Files: files(9, 900), Keep: 7, PartBytes: 2000, Exact: true, Deferred: true},
		"nothing kept":        {Path: "out/", Files: files(3, 50), Lanes: 2},
		"nothing kept, one":   {Path: "out.txt", Files: files(3, 50), Lanes: 2},
		"nothing kept, parts": {Path: "out/", Files: files(3, 50), Lanes: 2, By: true},
		"no input":            {Path: "out/", Lanes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			w.Path = filepath.Join(t.TempDir(), strings.TrimSuffix(w.Path, "/")) + strings.Repeat("/", strings.Count(w.Path, "/"))
			w.mem = mem
			d, r := mustRun(t, w)
			if d.Kind != commit.Fresh {
				t.Errorf("decision %q, want fresh", d.Kind)
			}
			got, want := allRows(t, w.Path), w.expected()
			sameRows(t, got, want)
			if int(r.Rows) != len(want) {
				t.Errorf("report says %d rows, want %d", r.Rows, len(want))
			}
			if (w.Ordered || w.Exact) && !w.By && !slices.Equal(got, want) {
				t.Error("the rows are not in source order")
			}
			if d, _ := mustRun(t, w); d.Kind != commit.Complete {
				t.Errorf("the second run decided %q, want complete", d.Kind)
			}
			noStaged(t, w.Path)
		})
	}
}

// noStaged fails if a finished run has left staged files.
func noStaged(t *testing.T, path string) {
	t.Helper()
	state := stateOf(path)
	err := filepath.WalkDir(state, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(p, ".part") || strings.HasPrefix(d.Name(), ".tmp")) {
			t.Errorf("%s was left behind", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func stateOf(path string) string {
	if strings.HasSuffix(path, "/") {
		return filepath.Join(onDisk(path), "_sluice")
	}
	path = onDisk(path)
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".sluice")
}

func TestRandomRuns(t *testing.T) {
	dir := quickDir(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w := world{
			Path:      filepath.Join(dir, string(rune('a'+n%26))+rapid.StringMatching(`[a-z]{12}`).Draw(rt, "name")),
			Files:     files(rapid.IntRange(0, 6).Draw(rt, "files"), rapid.IntRange(0, 200).Draw(rt, "rows")),
			Keep:      rapid.IntRange(0, 10).Draw(rt, "keep"),
			Lanes:     rapid.IntRange(1, 4).Draw(rt, "lanes"),
			By:        rapid.Bool().Draw(rt, "by"),
			Deferred:  rapid.Bool().Draw(rt, "deferred"),
			PartBytes: int64(rapid.IntRange(1, 4000).Draw(rt, "part")),
			OpenParts: rapid.IntRange(2, 9).Draw(rt, "open"),
			Seed:      rapid.Uint64().Draw(rt, "seed"),
		}
		if rapid.Bool().Draw(rt, "exact") {
			w.Exact, w.Lanes = true, 1
		}
		if w.By || rapid.Bool().Draw(rt, "folder") {
			w.Path += "/"
		} else {
			w.Path += ".txt"
		}
		if _, _, err := w.run(t.Context()); err != nil {
			rt.Fatal(err)
		}
		sameRows(t, allRows(t, w.Path), w.expected())
	})
}

// TestExactBytes: whatever the sizes of blocks, files and their names up to the run id are the same.
func TestExactBytes(t *testing.T) {
	for _, by := range []bool{false, true} {
		var first map[string]string
		for seed := range uint64(6) {
			w := world{Path: quickDir(t) + "/out/", Files: files(9, 1200), Keep: 7, PartBytes: 3000, Exact: true, By: by, OpenParts: 3, Seed: seed}
			mustRun(t, w)
			got := map[string]string{}
			all, err := visible(w.Path)
			if err != nil {
				t.Fatal(err)
			}
			for p, rows := range all {
				rel, _ := filepath.Rel(w.Path, p)
				dir, base := filepath.Split(rel)
				got[dir+base[:len("part-0000000000")]] = strings.Join(rows, "\n")
			}
			if first == nil {
				first = got
				if len(got) < 6 {
					t.Fatalf("only %d parts: the test cuts nothing", len(got))
				}
				continue
			}
			if len(got) != len(first) {
				t.Fatalf("seed %d: %d files, want %d", seed, len(got), len(first))
			}
			for name, rows := range first {
				if got[name] != rows {
					t.Fatalf("seed %d: file %s differs", seed, name)
				}
			}
		}
	}
}
