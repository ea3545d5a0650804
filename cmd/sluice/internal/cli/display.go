package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// display shows how a run goes on.
type display interface {
	// stop ends it, removes what would disturb other output, and waits; it may be called more than once.
	stop()
	// say writes whole lines of text so that they and the display do not disturb each other.
	say(text string)
}

// lookout is where displays get their numbers: the Watcher of the run, once there is one.
type lookout struct {
	w     atomic.Pointer[Watcher]
	begun func(*dataset.Report) // nil, or is told of a run that begins, before it does anything
	// offHeap is told how much of the budget is not for Go's heap; nil: nobody wants to know.
	offHeap func(bytes int64)
}

func (l *lookout) set(w Watcher) {
	l.w.Store(&w)
	if l.offHeap != nil {
		l.offHeap(w.OffHeapBytes())
	}
	if l.begun != nil {
		r := w.Snapshot()
		l.begun(&r)
	}
}

// snapshot is false before the run has begun.
func (l *lookout) snapshot() (dataset.Report, bool) {
	w := l.w.Load()
	if w == nil {
		return dataset.Report{}, false
	}
	return (*w).Snapshot(), true
}

// progressText is one line on a run that goes on.
func progressText(r dataset.Report) string {
	parts := []string{
		fmt.Sprintf("read %s (%s)", rows(r.RowsRead), size(r.BytesRead)),
		fmt.Sprintf("wrote %s", rows(r.RowsWritten)),
	}
	if s := r.Wall.Seconds(); s >= 1 && r.RowsRead > 0 {
		parts[0] += fmt.Sprintf(", %s/s", rows(int64(float64(r.RowsRead)/s)))
	}
	if r.RowsFailed > 0 {
		parts = append(parts, plural(r.RowsFailed, "failed row"))
	}
	if r.BudgetBytes > 0 {
		parts = append(parts, fmt.Sprintf("memory peak %s of %s", memorySize(r.PeakBytes), memorySize(r.BudgetBytes)))
	}
	if t := leftText(&r); t != "" {
		parts = append(parts, t)
	}
	if t := bottleneckText(&r); t != "" {
		parts = append(parts, t)
	}
	return strings.Join(parts, " · ")
}

// noDisplay shows nothing.
type noDisplay struct{ out io.Writer }

func (noDisplay) stop() {}

func (d noDisplay) say(text string) { _, _ = io.WriteString(d.out, text) }

// lineEvery is how often progress is written where no terminal shows it.
const lineEvery = 5 * time.Second

// lines writes a line every few seconds.
type lines struct {
	out  io.Writer
	done chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

func startLines(out io.Writer, look *lookout) display {
	d := &lines{out: out, done: make(chan struct{})}
	start := time.Now()
	d.wg.Go(func() {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		for {
			select {
			case <-d.done:
				return
			case <-tick.C:
				if r, ok := look.snapshot(); ok {
					fmt.Fprintf(out, "sluice: %s: %s\n", elapsed(time.Since(start)), progressText(r))
				}
			}
		}
	})
	return d
}

func (d *lines) say(text string) { _, _ = io.WriteString(d.out, text) }

func (d *lines) stop() {
	d.once.Do(func() { close(d.done) })
	d.wg.Wait()
}
