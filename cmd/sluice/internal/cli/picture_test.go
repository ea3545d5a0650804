package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/dataset"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestPictures(t *testing.T) {
	r := busy()
	for _, size := range [][2]int{{40, 24}, {60, 24}, {80, 24}, {120, 24}, {80, 6}} {
		lines := picture(&r, size[0], size[1])
		golden(t, fmt.Sprintf("picture-%dx%d", size[0], size[1]), strings.Join(lines, "\n")+"\n")
	}
	r.State, r.Bottleneck = dataset.RunPublishing, dataset.Bottleneck{Index: -1}
	for i := range r.Stages {
		r.Stages[i].State, r.Stages[i].Why, r.Stages[i].Running = "ended", dataset.WaitReason{}, 0
	}
	golden(t, "picture-publishing", strings.Join(picture(&r, 80, 24), "\n")+"\n")
}

// TestPicturesFit draws reports of any numbers on terminals of any size.
func TestPicturesFit(t *testing.T) {
	number := rapid.Int64Range(0, 1<<50)
	rapid.Check(t, func(t *rapid.T) {
		r := dataset.Report{RowsRead: number.Draw(t, "read"), BytesRead: number.Draw(t, "bytes"), RowsWritten: number.Draw(t, "written"),
			RowsFailed: number.Draw(t, "failed"), BudgetBytes: number.Draw(t, "budget"), SpilledBytes: number.Draw(t, "spilled"), Wall: time.Duration(number.Draw(t, "wall"))}
		r.State = rapid.SampledFrom([]string{"running", "draining", "publishing", "ended", ""}).Draw(t, "state")
		r.Input = dataset.InputProgress{ListedBytes: number.Draw(t, "listed"), ReadBytes: number.Draw(t, "input"), Listed: rapid.Bool().Draw(t, "all"), Left: time.Duration(number.Draw(t, "left") - 1000)}
		for range rapid.IntRange(0, 40).Draw(t, "stages") {
			s := dataset.StageReport{Name: rapid.SampledFrom([]string{"read jsonl", "where → select → 写入", strings.Repeat("x", 90), "s"}).Draw(t, "name"),
				RowsIn: number.Draw(t, "in"), Failed: number.Draw(t, "errors"), Busy: time.Duration(number.Draw(t, "busy"))}
			s.State = rapid.SampledFrom([]string{"open", "ended", "flushing"}).Draw(t, "life")
			s.Flow.In, s.QueuedBytes, s.Running, s.Allowed = dataset.Rate{Rows: float64(number.Draw(t, "rate"))}, number.Draw(t, "queued"), rapid.IntRange(0, 4096).Draw(t, "running"), 4096
			s.Why = dataset.WaitReason{Policy: rapid.SampledFrom([]string{"", "input", "output", "memory"}).Draw(t, "why"), Have: number.Draw(t, "have"), Need: number.Draw(t, "need")}
			r.Stages = append(r.Stages, s)
		}
		r.Bottleneck = dataset.Bottleneck{Stage: "where", Index: rapid.IntRange(-1, 40).Draw(t, "bottleneck"), Why: "2 of 2 CPUs busy"}
		width, height := rapid.IntRange(leastWidth+1, 300).Draw(t, "width"), rapid.IntRange(1, 80).Draw(t, "height")
		lines := picture(&r, width, height)
		if len(lines) > max(height-1, 1) {
			t.Fatalf("%d lines on a terminal of %d", len(lines), height)
		}
		for _, l := range lines {
			if w := runewidth.StringWidth(l); w >= width || strings.ContainsAny(l, "\n\t\x1b") {
				t.Fatalf("a line of %d columns on a terminal of %d: %q", w, width, l)
			}
		}
	})
}

func TestShortNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.04: "0.0", 0.5: "0.5", 7: "7", 31.6: "32", 999: "999", 999.6: "1.0k", 1234: "1.2k", 34_567: "35k", 5.6e6: "5.6M", 2e13: "20T", 3e17: "300000T"} {
		if got := short(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func TestStatsAndStatus(t *testing.T) {
	r := busy()
	golden(t, "stats-wide", statsText(&r, 1<<20))
	golden(t, "stats-80", statsText(&r, 80))
	golden(t, "stats-40", statsText(&r, 40))
	r.Quiet = 34 * time.Second
	golden(t, "stall", stallText(&r))
	if got := statsText(&dataset.Report{}, 80); got != "" {
		t.Errorf("the table of no stages is %q", got)
	}
}
