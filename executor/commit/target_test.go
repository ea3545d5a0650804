package commit_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// refused runs w and checks that it is a usage error with all of these words, that leaves what was there.
func refused(t *testing.T, w world, words ...string) {
	t.Helper()
	before := fmt.Sprint(visible(w.Path))
	_, _, err := w.run(t.Context())
	if _, ok := errors.AsType[*dataset.UsageError](err); !ok {
		t.Fatalf("error %v, want a usage error", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q lacks %q", err, word)
		}
	}
	if after := fmt.Sprint(visible(w.Path)); after != before {
		t.Errorf("the refused run changed the target")
	}
}

func targets(t *testing.T, f func(t *testing.T, w world)) {
	for _, path := range []string{"out/", "out.txt"} {
		t.Run(path, func(t *testing.T) {
			f(t, world{Path: filepath.Join(t.TempDir(), "x") + path, Files: files(3, 100), Keep: 7, Lanes: 2, PartBytes: 1 << 20, Plan: "first"})
		})
	}
}

func TestSameCommandAgain(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		mustRun(t, w)
		for _, mode := range []dataset.TargetMode{dataset.TargetDefault, dataset.TargetAppend} {
			w.Target = mode
			d, _ := mustRun(t, w)
			if d.Kind != commit.Complete || d.Manifest == nil || d.Manifest.Number != 1 {
				t.Errorf("mode %q: decision %+v, want complete", mode, d)
			}
		}
		sameRows(t, allRows(t, w.Path), w.expected())
		w.Target = dataset.TargetOverwrite
		if d, _ := mustRun(t, w); d.Kind != commit.Overwrite {
			t.Errorf("a finished overwrite decided %q, want to run again", d.Kind)
		}
		sameRows(t, allRows(t, w.Path), w.expected())
	})
}

func TestOtherCommandRefused(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		mustRun(t, w)
		other := w
		other.Plan = "second"
		refused(t, other, `was "first", is "second"`, "--append", "--overwrite", "--incremental")
		more := w
		more.Files = files(5, 100)
		refused(t, more, "2 new", "in/003.rows", "--incremental")
		fewer := w
		fewer.Files = w.Files[:2]
		refused(t, fewer, "1 gone", "in/002.rows")
		changed := w
		changed.Files = slices.Clone(w.Files)
		changed.Files[1].Stamp++
		refused(t, changed, "1 changed", "in/001.rows")
		unknown := w
		unknown.noInput = true
		refused(t, unknown, "cannot be told")
	})
}

// TestUnpinnedInput: input without a time or a tag (a pipe) is never taken for the same again.
func TestUnpinnedInput(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		for i := range w.Files {
			w.Files[i].Stamp = -62135596800 // the zero time
		}
		mustRun(t, w)
		refused(t, w, "cannot be told from another version")
	})
}

func TestAppend(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		mustRun(t, w)
		next := w
		next.Target, next.Files = dataset.TargetAppend, files(6, 40)[3:]
		for range 2 { // a retried nightly job adds nothing
			mustRun(t, next)
		}
		want := append(w.expected(), next.expected()...)
		sort.Strings(want)
		sameRows(t, allRows(t, w.Path), want)
		again := w
		again.Target = dataset.TargetAppend
		mustRun(t, again)
		want = append(want, w.expected()...)
		sort.Strings(want)
		sameRows(t, allRows(t, w.Path), want)
		if strings.HasSuffix(w.Path, ".txt") {
			if st, err := os.Stat(w.Path); err != nil || st.IsDir() {
				t.Errorf("the one file did not stay one: %v", err)
			}
		}
		empty := next
		empty.Keep, empty.Plan = 0, "nothing"
		mustRun(t, empty)
		sameRows(t, allRows(t, w.Path), want)
	})
}

// TestLongChain appends more often than a manifest lists everything.
func TestLongChain(t *testing.T) {
	w := world{Path: quickDir(t) + "/out/", Keep: 10, Target: dataset.TargetAppend, PartBytes: 1 << 20}
	var want []string
	for i := range 40 {
		w.Files = []inputFile{{fmt.Sprintf("in/%d", i), 3, int64(i + 1)}}
		mustRun(t, w)
		want = append(want, w.expected()...)
	}
	sort.Strings(want)
	sameRows(t, allRows(t, w.Path), want)
	sink, err := w.sink()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sink.(dataset.Target).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	chain, err := commit.ReadChain(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	if len(chain.Live) != 40 || chain.Last.Number != 40 || chain.Last.NextOrdinal != 40 {
		t.Errorf("%d live parts, manifest %d, next ordinal %d; want 40 each", len(chain.Live), chain.Last.Number, chain.Last.NextOrdinal)
	}
	seqs := map[uint64]bool{}
	for _, p := range chain.Live {
		seqs[p.Part.Seq] = true
	}
	if len(seqs) != 40 {
		t.Errorf("%d part numbers of 40 parts", len(seqs))
	}
}

func TestOverwrite(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		mustRun(t, w)
		next := w
		next.Target, next.Files, next.Plan = dataset.TargetOverwrite, files(2, 77), "second"
		mustRun(t, next)
		sameRows(t, allRows(t, w.Path), next.expected())
		noStaged(t, w.Path)
		next.Target = dataset.TargetDefault
		if d, _ := mustRun(t, next); d.Kind != commit.Complete {
			t.Errorf("the overwritten result is %q, want complete", d.Kind)
		}
	})
}

// TestOverwriteChangesForm: one file becomes a folder of that name, and back.
func TestOverwriteChangesForm(t *testing.T) {
	w := world{Path: filepath.Join(t.TempDir(), "out.txt"), Files: files(3, 300), Keep: 7, PartBytes: 1 << 20}
	mustRun(t, w)
	w.Target = dataset.TargetOverwrite
	for i := range 4 {
		w.PartBytes, w.Plan = []int64{1000, 1 << 20}[i%2], fmt.Sprint(i)
		mustRun(t, w)
		sameRows(t, allRows(t, w.Path), w.expected())
		if st, err := os.Stat(w.Path); err != nil || st.IsDir() != (i%2 == 0) {
			t.Fatalf("step %d: the result is a folder: %v, %v", i, st.IsDir(), err)
		}
	}
}

func TestForeignData(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		foreign := w.Path
		if strings.HasSuffix(w.Path, "/") {
			foreign = filepath.Join(w.Path, "foreign.txt")
			if err := os.MkdirAll(w.Path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(foreign, []byte("mine\n#end 1"), 0o666); err != nil {
			t.Fatal(err)
		}
		refused(t, w, "did not write", filepath.Base(foreign), "--overwrite")
		if _, err := os.Stat(stateOf(w.Path)); err == nil {
			t.Error("the refused run left a state folder in somebody else's place")
		}
		w.Target = dataset.TargetAppend
		refused(t, w, "did not write")
		w.Target = dataset.TargetOverwrite
		mustRun(t, w)
		sameRows(t, allRows(t, w.Path), w.expected())
	})
}

// TestOverwriteReach: an overwrite removes parts, not whatever lies in or below the folder.
func TestOverwriteReach(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(2, 20), Keep: 7, Target: dataset.TargetOverwrite}
	stay := []string{"notes.md", "deep/er/data.txt"}
	for _, name := range append(stay, "old.txt", "key=z/old.txt") {
		p := filepath.Join(w.Path, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("#end 0"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := mustRun(t, w)
	if len(d.Notes) == 0 || !strings.Contains(d.Notes[0], "deep/er/data.txt") {
		t.Errorf("notes %q do not name what stays", d.Notes)
	}
	for _, name := range stay {
		if _, err := os.Stat(filepath.Join(w.Path, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"old.txt", "key=z"} {
		if _, err := os.Stat(filepath.Join(w.Path, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}

func TestMissingAndChangedParts(t *testing.T) {
	w := world{Path: t.TempDir() + "/out/", Files: files(4, 300), Keep: 7, PartBytes: 1500}
	mustRun(t, w)
	all, err := visible(w.Path)
	if err != nil || len(all) < 3 {
		t.Fatal(len(all), err)
	}
	names := slices.Sorted(mapKeys(all))
	whole, err := os.ReadFile(names[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[1], []byte(strings.ToUpper(string(whole))), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(names[0]); err != nil {
		t.Fatal(err)
	}
	_, _, err = w.run(t.Context())
	for _, word := range []string{"1 missing", filepath.Base(names[0]), "1 changed", filepath.Base(names[1]), "--overwrite"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error %v lacks %q", err, word)
		}
	}
	// a copy of the same bytes is no change
	if err := os.WriteFile(names[1], whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err = w.run(t.Context()); err == nil || strings.Contains(err.Error(), "changed") {
		t.Errorf("a restored part: %v", err)
	}
	w.Target = dataset.TargetOverwrite
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), w.expected())
}

func TestAllFilesGone(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		mustRun(t, w)
		all, err := visible(w.Path)
		if err != nil {
			t.Fatal(err)
		}
		for p := range all {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
		}
		d, _ := mustRun(t, w)
		if d.Kind != commit.Fresh || len(d.Notes) == 0 {
			t.Errorf("decision %+v, want a fresh run that says why", d)
		}
		sameRows(t, allRows(t, w.Path), w.expected())
	})
}

func TestSecondLiveRun(t *testing.T) {
	targets(t, func(t *testing.T, w world) {
		cfg, err := w.config()
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := commit.Prepare(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		host, _ := os.Hostname()
		refused(t, w, "another run", fmt.Sprintf("process %d on %s", os.Getpid(), host))
		if err := m.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(stateOf(w.Path)); err == nil {
			t.Error("an aborted run that committed nothing left its state folder")
		}
		mustRun(t, w)
	})
}

func TestAppendOtherColumns(t *testing.T) {
	w := world{Path: filepath.Join(t.TempDir(), "out.txt"), Files: files(2, 20), Keep: 7}
	mustRun(t, w)
	w.Target, w.Plan = dataset.TargetAppend, "other"
	cfg, err := w.config()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Schema = schemaOf("id")
	_, _, err = commit.Prepare(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "same columns") {
		t.Errorf("error %v, want a refusal of other columns", err)
	}
}
