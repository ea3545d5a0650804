package commit_test

import (
	"fmt"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/commit"
)

// TestCompact: an attempt that finds many segments gives up those that its snapshot stands for, and the run ends as if it had not.
func TestCompact(t *testing.T) {
	for name, w := range map[string]world{
		"folder": {Path: "/a/", Files: files(1, 30_000), Keep: 7, PartBytes: 1500, Ordered: true},
		"dead":   {Path: "/b.txt", Files: files(1, 30_000), Keep: 7, PartBytes: 1500, Ordered: true, Dead: 9},
	} {
		t.Run(name, func(t *testing.T) {
			w.Path = quickDir(t) + w.Path
			run := ""
			var there, dropped []int
			for attempt := 0; len(dropped) < 4; attempt++ { // once all is listed, segments hold nothing but generations
				if !runChild(t, childJob{World: w, Point: "generation committed", Hit: 1, CompactAfter: 2}, 0) {
					t.Fatalf("attempt %d was not killed, and %v were given up", attempt, dropped)
				}
				checkLogs(t, w)
				run = checkSegments(t, w, attempt)
				var err error
				if there, dropped, err = commit.Segments(t.Context(), storeOf(t, w), run); err != nil {
					t.Fatal(err)
				}
			}
			names, err := storeOf(t, w).List(t.Context(), run+"/log")
			if err != nil || len(names) != len(there) {
				t.Errorf("%q lie there, want segments %v; %v", names, there, err)
			}
			d, _ := mustRun(t, w)
			if d.Kind != commit.Resume {
				t.Errorf("decision %q", d.Kind)
			}
			sameRows(t, allRows(t, w.Path), w.expected())
			if w.Dead > 0 {
				sameDead(t, w)
			}
			// what reads the logs of finished runs does so still
			ranges, err := commit.ReadRanges(t.Context(), storeOf(t, w), run)
			if err != nil || len(ranges) == 0 {
				t.Errorf("ranges %v, %v", ranges, err)
			}
			seen := map[string]bool{}
			err = commit.ReadJournal(t.Context(), storeOf(t, w), run, func(_ uint32, _ uint64, r dataset.SplitRange) error {
				seen[r.File.Path] = true
				return nil
			})
			if err != nil || len(seen) != len(w.Files) {
				t.Errorf("the journal names %d files, %v", len(seen), err)
			}
			if cleaned, err := commit.Clean(t.Context(), storeOf(t, w), true); err != nil || len(cleaned) > 0 {
				t.Errorf("cleaned %v, %v", cleaned, err)
			}
		})
	}
}

// checkSegments checks that the first segment, which has the plan and the splits, is always there.
func checkSegments(t *testing.T, w world, attempt int) (run string) {
	t.Helper()
	runs, err := commit.Summaries(t.Context(), storeOf(t, w))
	if err != nil || len(runs) != 1 || runs[0].State != commit.RunUnfinished {
		t.Fatalf("attempt %d: runs %v, %v", attempt, fmt.Sprintf("%+v", runs), err)
	}
	there, _, err := commit.Segments(t.Context(), storeOf(t, w), runs[0].Run)
	if err != nil || there[0] != 1 {
		t.Fatalf("attempt %d: segments %v, %v", attempt, there, err)
	}
	return runs[0].Run
}
