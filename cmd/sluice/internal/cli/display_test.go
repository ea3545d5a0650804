package cli

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// fakeWatcher is a run that stands still.
type fakeWatcher struct{ r dataset.Report }

func (w fakeWatcher) Snapshot() dataset.Report { return w.r }
func (fakeWatcher) OffHeapBytes() int64        { return 0 }

// lockedText collects what displays write.
type lockedText struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedText) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var midway = dataset.Report{RowsRead: 1500, BytesRead: 3_000_000, RowsWritten: 1000, RowsFailed: 2, Wall: 10 * time.Second,
	PeakBytes: 64 << 20, BudgetBytes: 1 << 30}

const midwayText = "read 1,500 rows (3.0 MB), 150 rows/s · wrote 1,000 rows · 2 failed rows · memory peak 64 MiB of 1.0 GiB"

func TestLinesEveryFewSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out lockedText
		var look lookout
		d := startLines(&out, &look)
		time.Sleep(lineEvery + time.Second)
		look.set(fakeWatcher{midway})
		time.Sleep(2 * lineEvery)
		d.stop()
		d.stop()
		want := "sluice: 10.0 s: " + midwayText + "\nsluice: 15.0 s: " + midwayText + "\n"
		if out.text() != want {
			t.Errorf("got\n%s\nwant\n%s", out.text(), want)
		}
	})
}

func TestPictureShowsAndGoes(t *testing.T) {
	var out lockedText
	var look lookout
	look.set(fakeWatcher{midway})
	startLive(&out, func() (int, int) { return 100, 30 }, &look).stop()
	if out.text() != "" {
		t.Errorf("a short run shows %q", out.text())
	}
	d := startLive(&out, func() (int, int) { return 100, 30 }, &look)
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(out.text(), "wrote 1,000 rows") {
		select {
		case <-deadline.C:
			t.Fatalf("the picture shows %q", out.text())
		case <-tick.C:
		}
	}
	d.stop()
	d.stop()
}

// TestNotices: a thousand waits at once are one line, and a later one is another.
func TestNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := scratch(t)
		a := &app{Program: Program{Stderr: err}}
		for range 1000 {
			a.notice("attempt 3 failed: slow down")
		}
		time.Sleep(noticesApart)
		a.notice("attempt 9 failed: slow down")
		a.flags.quiet = true
		time.Sleep(noticesApart)
		a.notice("not said")
		if got, want := content(t, err), "note: attempt 3 failed: slow down\nnote: attempt 9 failed: slow down\n"; got != want {
			t.Errorf("said %q, want %q", got, want)
		}
	})
}
