package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// stallAfter is how long nothing may happen before it is said what everything waits for; it is said again each time this has doubled.
const stallAfter = 30 * time.Second

// stalls watches a run for standing still.
type stalls struct {
	done chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

// watchStalls calls report with a snapshot whenever the run stood still for stallAfter, twice that, and so on.
func watchStalls(look *lookout, report func(dataset.Report)) *stalls {
	w := &stalls{done: make(chan struct{})}
	w.wg.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		next := stallAfter
		for {
			select {
			case <-w.done:
				return
			case <-tick.C:
			}
			r, ok := look.snapshot()
			switch {
			case !ok || r.State == dataset.RunEnded || r.Quiet < stallAfter:
				next = stallAfter
			case r.Quiet >= next:
				report(r)
				next = 2 * r.Quiet
			}
		}
	})
	return w
}

func (w *stalls) stop() {
	w.once.Do(func() { close(w.done) })
	w.wg.Wait()
}

// stallText says that nothing happens, and why.
func stallText(r *dataset.Report) string {
	return fmt.Sprintf("sluice: no progress for %s; the run goes on. What each stage waits for:\n%s", coarse(r.Quiet), statusText(r))
}

// statusText is what each stage does or waits for, with the numbers that would have to change.
func statusText(r *dataset.Report) string {
	var b strings.Builder
	table := make([][]string, len(r.Stages))
	for i := range r.Stages {
		s := &r.Stages[i]
		table[i] = []string{"  " + s.Name, waitText(s) + holdText(s)}
	}
	for _, l := range grid(table, 1<<20) {
		b.WriteString(l + "\n")
	}
	fmt.Fprintf(&b, "  %s of %s memory in use; %d of %s busy; read %s, wrote %s", memorySize(r.UsedBytes), memorySize(r.BudgetBytes),
		r.SlotsBusy, plural(int64(r.Slots), "CPU slot"), rows(r.RowsRead), rows(r.RowsWritten))
	if r.State == dataset.RunPublishing {
		b.WriteString("; publishing the result")
	}
	b.WriteString("\n")
	if t := bottleneckText(r); t != "" {
		b.WriteString("  " + t + "\n")
	}
	return b.String()
}

// waitText is what a stage does now.
func waitText(s *dataset.StageReport) string {
	switch {
	case s.State == "ended":
		return "done"
	case s.Running > 0 && (s.Why.Policy == "" || s.Why.Policy == "input" || s.Why.Policy == "workers"):
		return fmt.Sprintf("computes: %d of %s", s.Running, plural(int64(s.Allowed), "worker"))
	case s.Running > 0:
		return fmt.Sprintf("computes: %d of %s; more %s", s.Running, plural(int64(s.Allowed), "worker"), s.Why)
	case s.Why.Policy == "":
		return "waits for nothing: " + s.State
	}
	return s.Why.String()
}

// holdText is what a stage has before it.
func holdText(s *dataset.StageReport) string {
	var parts []string
	if s.QueuedBlocks > 0 {
		parts = append(parts, fmt.Sprintf("%s queued (%s)", plural(s.QueuedBlocks, "block"), memorySize(s.QueuedBytes)))
	}
	if s.OnDisk > 0 {
		parts = append(parts, plural(s.OnDisk, "block")+" on disk")
	}
	if s.InFlight > 0 && s.Why.Policy != "async" {
		parts = append(parts, plural(int64(s.InFlight), "call")+" in flight")
	}
	if s.HeldBytes > 0 {
		parts = append(parts, "holds "+memorySize(s.HeldBytes))
	}
	if len(parts) == 0 || s.State == "ended" {
		return ""
	}
	return "; " + strings.Join(parts, ", ")
}
