package commit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

// TestChaos kills a run at every crash point, again and again while it goes on, each time with other lanes and blocks, before one is
// left to end. With SLUICE_CHAOS set each point is passed at least fifty times.
func TestChaos(t *testing.T) {
	least := 2
	if os.Getenv("SLUICE_CHAOS") != "" {
		least = 50
	}
	for i, point := range append(slices.Clone(crashPoints), "run resumed") {
		t.Run(point, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			here, kills := 0, 0
			for round := 0; here < least && round < 20*least; round++ {
				for name, w := range chaosWorlds(t) {
					h, k := disturb(t, r, name, w, point)
					here, kills = here+h, kills+k
				}
			}
			if here < least {
				t.Errorf("%d kills here, want %d", here, least)
			}
			t.Logf("%d kills here, %d in all", here, kills)
		})
	}
}

func chaosWorlds(t *testing.T) map[string]world {
	dir := quickDir(t)
	out := crashWorlds(dir)
	out["ordered"] = world{Path: filepath.Join(dir, "f") + "/", Files: files(4, 300), Keep: 7, PartBytes: 1500, Ordered: true}
	out["joined"] = world{Path: filepath.Join(dir, "g.txt"), Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["append"] = world{Path: filepath.Join(dir, "h") + "/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	out["append one"] = world{Path: filepath.Join(dir, "i.txt"), Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["overwrite"] = world{Path: filepath.Join(dir, "j") + "/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	return out
}

// disturb kills runs of w, at the point and at others, and then lets one end. It returns how many kills there were, here and in all.
func disturb(t *testing.T, r *rand.Rand, name string, w world, point string) (here, kills int) {
	t.Helper()
	want := w.expected()
	if strings.HasPrefix(name, "append") || name == "overwrite" {
		mustRun(t, w)
		w.Files, w.Target = files(6, 200)[3:], dataset.TargetMode(strings.Fields(name)[0])
		want = w.expected()
		if w.Target == dataset.TargetAppend {
			want = append(want, world{Files: files(3, 150), Keep: 7}.expected()...)
			slicesSort(want)
		}
	}
	if name == "joined" { // committed in pieces, joined in the end
		w.Ordered, w.Lanes = true, 1
	}
	lanes := w.Lanes
	for try := range 2 + r.IntN(2) {
		if w.Seed = r.Uint64(); lanes > 1 {
			w.Lanes = 1 + r.IntN(3)
		}
		job := childJob{w, point, 1 + r.Int64N(3)}
		if try > 0 && r.IntN(2) == 0 {
			job.Point = crashPoints[r.IntN(len(crashPoints))]
		}
		if point == "run resumed" && try == 0 {
			job.Point = "generation committed"
		}
		if runChild(t, job, 0) {
			kills++
			if job.Point == point {
				here++
			}
		} else if w.Target == dataset.TargetOverwrite {
			continue // it is run again
		}
		if _, err := visible(w.Path); err != nil {
			t.Fatalf("%s: after kill %d: %v", name, kills, err)
		}
		checkLogs(t, w)
	}
	w.Lanes = min(lanes, 1)
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), want)
	if w.Ordered && !slices.IsSorted(allRows(t, w.Path)) {
		t.Fatalf("%s: the rows are out of order after %d kills", name, kills)
	}
	noStaged(t, w.Path)
	return here, kills
}

// TestExactAfterKills: an exact run that is killed gives the same bytes under the same numbers.
func TestExactAfterKills(t *testing.T) {
	for _, by := range []bool{false, true} {
		calm := world{Path: quickDir(t) + "/out/", Files: files(6, 1200), Keep: 7, PartBytes: 3000, Exact: true, By: by, OpenParts: 3}
		mustRun(t, calm)
		want := exactParts(t, calm)
		kills := 0
		for hit := range int64(5) {
			w := calm
			w.Path, w.Seed = quickDir(t)+"/out/", uint64(hit)
			for range 3 {
				w.Seed++
				if runChild(t, childJob{w, "generation committed", 1 + hit}, 0) {
					kills++
				}
			}
			mustRun(t, w)
			if got := exactParts(t, w); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("by %t, hit %d: %d files that differ from the %d of an undisturbed run", by, hit, len(got), len(want))
			}
		}
		if kills == 0 {
			t.Error("no run was killed")
		}
	}
}

// exactParts are the rows of all files, by folder and number.
func exactParts(t *testing.T, w world) map[string]string {
	t.Helper()
	all, err := visible(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for p, rows := range all {
		rel, err := filepath.Rel(w.Path, p)
		if err != nil {
			t.Fatal(err)
		}
		dir, base := filepath.Split(rel)
		out[dir+base[:len("part-0000000000")]] = strings.Join(rows, "\n")
	}
	return out
}

// TestFaultsWhileResuming fails every single operation of the attempt that goes on with an unfinished run, in every way.
func TestFaultsWhileResuming(t *testing.T) {
	from := quickDir(t)
	w := world{Path: from + "/out/", Files: files(4, 120), Keep: 7, PartBytes: 900, Ordered: true}
	unfinishedWorld(t, w, 1)
	want := w.expected()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			struck, last := 0, false
			for nth := int64(1); !last; nth += 2 {
				dir := quickDir(t)
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				x := w
				d := &faultDisk{f: f, nth: nth}
				x.Path, x.disk = dir+"/out/", d
				_, _, err := x.run(t.Context())
				last = d.count.Load() < nth
				if err != nil {
					struck++
					clearError(t, f, err)
				} else {
					sameRows(t, allRows(t, x.Path), want)
				}
				if _, verr := visible(x.Path); verr != nil {
					t.Fatalf("operation %d (%v): %v", nth, err, verr)
				}
				x.disk = &faultDisk{}
				if _, _, rerr := x.run(t.Context()); rerr != nil {
					t.Fatalf("operation %d (%v): the next run: %v", nth, err, rerr)
				}
				sameRows(t, allRows(t, x.Path), want)
				noStaged(t, x.Path)
			}
			if struck == 0 && f.name != "lost rename" {
				t.Error("the fault struck nothing")
			}
		})
	}
}
