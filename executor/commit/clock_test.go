package commit_test

import (
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

// TestClockJumps: a clock that jumps, within attempts and between them, changes neither what is committed nor which run goes on, nor the
// order of results.
func TestClockJumps(t *testing.T) {
	for name, w := range crashWorlds("") {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				w := w
				w.Path, w.Jumps, w.Seed = quickDir(t)+w.Path, true, seed*10
				kills := 0
				for _, point := range []string{"generation committed", "run resumed", "generation committed", "finish decided"} {
					w.Seed++
					if runChild(t, childJob{World: w, Point: point, Hit: 1}, 0) {
						kills++
					}
					checkLogs(t, w)
				}
				if kills == 0 {
					t.Error("no attempt was killed")
				}
				mustRun(t, w)
				sameRows(t, allRows(t, w.Path), w.expected())
				next := w
				next.Seed, next.Target, next.Files = w.Seed+1, dataset.TargetAppend, files(6, 50)[4:]
				mustRun(t, next)
				want := append(w.expected(), next.expected()...)
				slicesSort(want)
				sameRows(t, allRows(t, w.Path), want)
				next.Seed++
				if d, _ := mustRun(t, next); d.Manifest == nil || d.Manifest.Number != 2 {
					t.Errorf("the same command again: %+v", d)
				}
				noStaged(t, w.Path)
			}
		})
	}
}
