package cli

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// standstill is a run in which nothing happened since a time.
type standstill struct{ since time.Time }

func (s *standstill) Snapshot() dataset.Report {
	return dataset.Report{Progress: dataset.Progress{State: dataset.RunRunning, Quiet: time.Since(s.since).Round(time.Second)}}
}
func (*standstill) OffHeapBytes() int64 { return 0 }

func TestStallsAreToldAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var look lookout
		var at []time.Duration
		w := watchStalls(&look, func(r dataset.Report) { at = append(at, r.Quiet) })
		time.Sleep(40 * time.Second) // no run yet: nothing to tell
		look.set(&standstill{since: time.Now()})
		time.Sleep(130 * time.Second)
		look.set(&standstill{since: time.Now()}) // it went on
		time.Sleep(35 * time.Second)
		w.stop()
		w.stop()
		if got := fmt.Sprint(at); got != "[30s 1m0s 2m0s 30s]" {
			t.Errorf("stalls were told at %s", got)
		}
	})
}
