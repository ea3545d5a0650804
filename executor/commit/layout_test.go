package commit_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

var partName = regexp.MustCompile(`^part-\d{10}-\d{8}T\d{6}-[a-z0-9]+-1\.txt$`)

// TestLayout: where results and their state lie, under which names, and what marks them complete.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		name  string
		w     world
		state string // below the folder of the result
		mark  string
	}{
		{"folder", world{Path: "/out/", PartBytes: 1500}, "out/_sluice", "out/_SUCCESS"},
		{"one file", world{Path: "/out.txt", PartBytes: 1 << 20}, ".out.txt.sluice", ".out.txt.sluice/_SUCCESS"},
		{"one file that became a folder", world{Path: "/out.txt", PartBytes: 1500}, ".out.txt.sluice", "out.txt/_SUCCESS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := c.w
			w.Path, w.Files, w.Keep, w.Ordered = dir+w.Path, files(4, 200), 7, true
			if !runChild(t, childJob{World: w, Point: "parts durable", Hit: 1}, 0) {
				t.Fatal("not killed")
			}
			mustRun(t, w)
			state := filepath.Join(dir, c.state)
			err := filepath.WalkDir(state, func(p string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && filepath.Ext(p) == ".txt" {
					t.Errorf("%s has the extension of data", p)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, c.mark)); err != nil {
				if entries, _ := os.ReadDir(dir); true {
					t.Errorf("no mark %s: %v; there are %v", c.mark, err, entries)
				}
			}
			all, err := visible(w.Path)
			if err != nil {
				t.Fatal(err)
			}
			names := slices.Sorted(mapKeys(all))
			for _, n := range names {
				if base := filepath.Base(n); base != "out.txt" && !partName.MatchString(base) {
					t.Errorf("a part is called %s", base)
				}
			}
			if rows := allRows(t, w.Path); !slices.IsSorted(rows) || len(names) > 1 != (w.PartBytes == 1500) {
				t.Errorf("%d files, whose names sort as their rows: %v", len(names), slices.IsSorted(rows))
			}
		})
	}
}

// TestManifestChain: each manifest names the one before it and a higher epoch.
func TestManifestChain(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Keep: 10, Target: dataset.TargetAppend}
	for i := range 5 {
		w.Files = []inputFile{{string(rune('a' + i)), 3, int64(i + 1)}}
		mustRun(t, w)
	}
	chain, err := commit.Manifests(t.Context(), storeOf(t, w))
	if err != nil || len(chain) != 5 {
		t.Fatal(len(chain), err)
	}
	for i, m := range chain {
		if m.Number != uint64(i+1) || m.Previous != uint64(i) || m.Epoch != uint64(i+1) || m.Format != 1 {
			t.Errorf("manifest %d: number %d behind %d, epoch %d, format %d", i+1, m.Number, m.Previous, m.Epoch, m.Format)
		}
	}
}

// TestOldResultUntilDecided: an overwrite, and an append to one file, leave what is visible as it was until the manifest exists.
func TestOldResultUntilDecided(t *testing.T) {
	for _, mode := range []dataset.TargetMode{dataset.TargetOverwrite, dataset.TargetAppend} {
		for _, point := range []string{"run begun", "parts durable", "result joined", "finish decided", "manifest created", "parts published"} {
			t.Run(string(mode)+" "+point, func(t *testing.T) {
				w := world{Path: quickDir(t) + "/out.txt", Files: files(3, 60), Keep: 7, PartBytes: 1 << 20}
				mustRun(t, w)
				next := w
				next.Target, next.Plan, next.Files = mode, "second", files(4, 90)
				if !runChild(t, childJob{World: next, Point: point, Hit: 1}, 0) {
					t.Fatal("not killed")
				}
				want := w.expected()
				if point == "parts published" {
					want = next.expected()
					if mode == dataset.TargetAppend {
						want = append(want, w.expected()...)
						slicesSort(want)
					}
				}
				sameRows(t, allRows(t, w.Path), want)
			})
		}
	}
}

// TestOtherDecoders: going on with other decoders than a run began with is said.
func TestOtherDecoders(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Files: files(6, 300), Keep: 7, PartBytes: 1500, Backends: "jpeg: turbo"}
	unfinishedWorld(t, w, 1)
	w.Backends = "jpeg: std"
	d, _ := mustRun(t, w)
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "began with other decoders (jpeg: turbo, now jpeg: std)") {
		t.Errorf("notes %q", notes)
	}
	sameRows(t, allRows(t, w.Path), w.expected())
}
