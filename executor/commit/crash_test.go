package commit_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// childVariable carries the job of a child process, this test binary run again.
const childVariable = "COMMIT_TEST_CHILD"

// killRounds makes TestKillAtRandom longer: ten kills a round.
var killRounds = flag.Int("kills", 3, "rounds of random kills")

// childJob is a run that kills itself.
type childJob struct {
	World world
	Point string // crash point; "" to be killed from outside
	Hit   int64  // at which pass
	// CompactAfter is how many segments of the log must be there to be given up; 0: as many as in earnest.
	CompactAfter int
}

func childMain() {
	var job childJob
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &job); err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	if job.CompactAfter > 0 {
		commit.SetCompactAfter(job.CompactAfter)
	}
	var hits atomic.Int64
	commit.SetCrashpoint(func(name string) {
		if name == job.Point && hits.Add(1) == job.Hit {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	fmt.Println("started")
	if _, _, err := job.World.run(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// runChild runs a job in a child process, which is killed after the given time if it is positive, and tells whether it died.
func runChild(t *testing.T, job childJob, after time.Duration) (killed bool) {
	t.Helper()
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if after > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, after)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(raw))
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState != nil && cmd.ProcessState.Success() { // it may end just before it would be killed
		return false
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return true
}

// crashPoints are the moments between which a crash can fall.
var crashPoints = []string{
	"run begun", "parts durable", "generation appended", "generation committed", "result joined", "finish decided",
	"manifest created", "old parts removed", "parts published", "target sealed", "stage removed", "run marked",
}

// resumePoints are those that only an attempt passes which goes on with a run.
var resumePoints = []string{"run resumed", "log snapshot written", "log segments given up", "log compacted"}

func crashWorlds(dir string) map[string]world {
	return map[string]world{
		"folder":      {Path: dir + "/a/", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1500},
		"one file":    {Path: dir + "/b.txt", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1 << 20},
		"partitioned": {Path: dir + "/c/", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1500, By: true},
		"exact":       {Path: dir + "/d/", Files: files(4, 900), Keep: 7, PartBytes: 1500, Exact: true},
		"barrier":     {Path: dir + "/e/", Files: files(4, 150), Keep: 7, Lanes: 2, PartBytes: 1500, Deferred: true},
	}
}

// TestKillAtPoints kills a run at every crash point, also while it appends and overwrites, and runs it again.
func TestKillAtPoints(t *testing.T) {
	for _, point := range crashPoints {
		t.Run(point, func(t *testing.T) {
			dir := quickDir(t)
			for name, w := range crashWorlds(dir) {
				killed := 0
				for hit := int64(1); hit <= 2; hit++ {
					w.Path = strings.Replace(w.Path, dir, filepath.Join(dir, fmt.Sprint(hit)), 1)
					if err := os.MkdirAll(filepath.Join(dir, fmt.Sprint(hit)), 0o777); err != nil {
						t.Fatal(err)
					}
					if runChild(t, childJob{World: w, Point: point, Hit: hit}, 0) {
						killed++
						afterKill(t, name, w, w.expected())
					}
					w.Path = strings.Replace(w.Path, filepath.Join(dir, fmt.Sprint(hit)), dir, 1)
				}
				if killed == 0 && point != "old parts removed" && !(point == "generation committed" || point == "generation appended") {
					t.Errorf("%s: it never passes here", name)
				}
			}
		})
	}
}

// afterKill checks that nothing half-written is visible, runs again and compares.
func afterKill(t *testing.T, name string, w world, want []string) {
	t.Helper()
	if _, err := visible(w.Path); err != nil {
		t.Fatalf("%s: after the kill: %v", name, err)
	}
	checkLogs(t, w)
	w.Lanes = 1
	mustRun(t, w)
	sameRows(t, allRows(t, w.Path), want)
	noStaged(t, w.Path)
}

// TestKillWhileReplacing kills runs that append to a result and that overwrite one.
func TestKillWhileReplacing(t *testing.T) {
	for _, mode := range []dataset.TargetMode{dataset.TargetAppend, dataset.TargetOverwrite} {
		for _, point := range crashPoints {
			t.Run(string(mode)+" "+point, func(t *testing.T) {
				for _, path := range []string{"out/", "out.txt"} {
					w := world{Path: filepath.Join(quickDir(t), "x") + path, Files: files(3, 100), Keep: 7, Lanes: 2, PartBytes: 1 << 20}
					mustRun(t, w)
					second := w
					second.Target, second.Plan = mode, "second"
					second.Files = files(4, 120)
					want := second.expected()
					if mode == dataset.TargetAppend {
						want = append(want, w.expected()...)
					}
					if !runChild(t, childJob{World: second, Point: point, Hit: 1}, 0) {
						continue
					}
					slicesSort(want)
					afterKill(t, path, second, want)
				}
			})
		}
	}
}

// TestKilledSwitch: an overwrite that was killed after its decision is completed by the next one, not done again; if its parts are
// gone meanwhile, only another overwrite helps.
func TestKilledSwitch(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := world{Path: quickDir(t) + "/out/", Files: files(2, 50), Keep: 7}
		mustRun(t, w)
		w.Target, w.Plan = dataset.TargetOverwrite, "second"
		if !runChild(t, childJob{World: w, Point: "finish decided", Hit: 1}, 0) {
			t.Fatal("not killed")
		}
		if lost {
			staged, err := filepath.Glob(filepath.Join(w.Path, "_sluice/*/stage/*"))
			if err != nil || len(staged) == 0 {
				t.Fatal(staged, err)
			}
			if err := os.Remove(staged[0]); err != nil {
				t.Fatal(err)
			}
			other := w
			other.Target = dataset.TargetAppend
			if _, _, err := other.run(t.Context()); err == nil || !strings.Contains(err.Error(), "--overwrite") {
				t.Errorf("append to it: %v", err)
			}
		}
		d, _ := mustRun(t, w)
		if (d.Kind == commit.Complete) == lost || len(d.Notes) == 0 {
			t.Errorf("lost %v: decision %q, notes %q", lost, d.Kind, d.Notes)
		}
		sameRows(t, allRows(t, w.Path), w.expected())
		noStaged(t, w.Path)
	}
}

// TestKillAtRandom kills runs from outside, several times, before one is left to end.
func TestKillAtRandom(t *testing.T) {
	killAtRandom(t, func(t *testing.T, w world) world {
		w.Path = quickDir(t) + w.Path
		return w
	})
}

func killAtRandom(t *testing.T, place func(t *testing.T, w world) world) {
	rounds, kills := *killRounds, 0
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds *= 4
	}
	for round := range rounds {
		for name, w := range crashWorlds("") {
			w = place(t, w)
			w.Files = files(6, 3000)
			for range 2 {
				if runChild(t, childJob{World: w}, time.Duration(10+rand.IntN(60))*time.Millisecond) {
					kills++
				}
				if _, err := visible(w.Path); err != nil {
					t.Fatalf("round %d, %s: %v", round, name, err)
				}
			}
			afterKill(t, name, w, w.expected())
		}
	}
	t.Logf("%d kills", kills)
}
