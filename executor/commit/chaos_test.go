package commit_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

// allPoints are the moments between which a crash can fall, all that there are in the package.
func allPoints() []string {
	return slices.Concat(crashPoints, resumePoints, []string{"dead letters durable"})
}

// TestCrashPoints: the list is that of the code.
func TestCrashPoints(t *testing.T) {
	var got []string
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		raw, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\tcrashpoint\("([^"]+)"\)`).FindAllStringSubmatch(string(raw), -1) {
			got = append(got, m[1])
		}
	}
	want := allPoints()
	slices.Sort(got)
	slices.Sort(want)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("the code has the points %q, the tests kill at %q", got, want)
	}
}

// TestChaos kills a run at every crash point, again and again while it goes on, each time with other lanes and blocks, before one is
// left to end. With SLUICE_CHAOS set each point is passed at least fifty times.
func TestChaos(t *testing.T) {
	least := 2
	if os.Getenv("SLUICE_CHAOS") != "" {
		least = 50
	}
	chaos(t, least, func(t *testing.T, name string, w world) world {
		w.Path = quickDir(t) + w.Path
		return w
	})
}

// chaos kills at least so many times at each point. place gives a world a place of its own.
func chaos(t *testing.T, least int, place func(t *testing.T, name string, w world) world) {
	total := 0
	var table strings.Builder
	for i, point := range allPoints() {
		t.Run(point, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 5))
			here, kills := 0, 0
			for round := 0; here < least && round < 20*least; round++ {
				for name, w := range chaosWorlds() {
					if here >= least && least > 2 {
						break
					}
					h, k := disturb(t, r, name, place(t, name, w), point)
					here, kills = here+h, kills+k
				}
			}
			if here < least {
				t.Errorf("%d kills here, want %d", here, least)
			}
			fmt.Fprintf(&table, "%-24s %5d here, %5d in all\n", point, here, kills)
			total += kills
		})
	}
	t.Logf("%d kills:\n%s", total, table.String())
}

// chaosWorlds are runs of every kind, with paths that begin with a slash.
func chaosWorlds() map[string]world {
	out := crashWorlds("")
	out["ordered"] = world{Path: "/f/", Files: files(4, 300), Keep: 7, PartBytes: 1500, Ordered: true}
	out["joined"] = world{Path: "/g.txt", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["append"] = world{Path: "/h/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	out["append one"] = world{Path: "/i.txt", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
	out["overwrite"] = world{Path: "/j/", Files: files(3, 150), Keep: 7, Lanes: 2, PartBytes: 1500}
	out["dead letters"] = world{Path: "/k/", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1500, Dead: 9}
	return out
}

// killsFor is where the attempts of a run are killed that is to be killed at a point.
func killsFor(r *rand.Rand, point string) []string {
	var out []string
	switch i := slices.Index(resumePoints, point); {
	case i == 0:
		out = append(out, "generation committed")
	case i > 0: // a segment to give up comes from an attempt that was killed
		out = append(out, "generation committed", resumePoints[0])
	}
	out = append(out, point)
	for range 1 + r.IntN(2) {
		if all := allPoints(); r.IntN(2) == 0 {
			out = append(out, all[r.IntN(len(all))])
		} else {
			out = append(out, point)
		}
	}
	return out
}

// oftenPassed are points that a run passes several times.
var oftenPassed = []string{"parts durable", "dead letters durable", "generation appended", "generation committed"}

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
	for _, at := range killsFor(r, point) {
		if w.Seed = r.Uint64(); lanes > 1 {
			w.Lanes = 1 + r.IntN(3)
		}
		job := childJob{World: w, Point: at, Hit: 1, CompactAfter: 1 + r.IntN(2)}
		if slices.Contains(resumePoints, point) {
			job.CompactAfter = 1
		}
		if slices.Contains(oftenPassed, at) {
			job.Hit = 1 + r.Int64N(3)
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
	if w.Dead > 0 {
		sameDead(t, w)
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
				if runChild(t, childJob{World: w, Point: "generation committed", Hit: 1 + hit}, 0) {
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
