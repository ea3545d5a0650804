package executor

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/sched"
)

// stageMemory is the memory of one stage as the workers see it: credit is what the scheduler granted and nobody uses yet. Buffers
// charge and refund it without a word to the scheduler as long as it lasts.
type stageMemory struct {
	run    *run
	stage  *stage
	credit atomic.Int64
	used   atomic.Int64
	total  atomic.Int64 // ever used, by buffers
	peak   atomic.Int64 // of used, at the ends of tasks
}

// workerMemory is the block.Account of one worker: what it cannot take from the stage's credit it asks the scheduler for, and waits.
type workerMemory struct {
	*stageMemory
	worker *worker
	// forced is set for stages with asynchronous calls: their goroutines belong to no task that could be parked, so their
	// buffers are charged at once and the debt is settled before the stage's next task is started.
	forced bool
}

// askAtLeast is the least that is asked of the scheduler at once, so that small buffers do not each cost a round trip.
const askAtLeast = 64 << 10

// Charge implements block.Account.
func (a *workerMemory) Charge(n int64) {
	a.used.Add(n)
	a.total.Add(n)
	if a.credit.Add(-n) >= 0 || a.forced || a.worker.task == nil {
		return
	}
	for {
		a.credit.Add(n)
		if err := a.worker.askMemory(max(n, askAtLeast)); err != nil {
			a.used.Add(-n)
			a.total.Add(-n)
			a.worker.run.freeze()
			panic(err) //nolint // an Arrow allocator cannot return an error; the stage boundary recovers it
		}
		if a.credit.Add(-n) >= 0 {
			return
		}
	}
}

// Refund implements block.Account.
func (a *workerMemory) Refund(n int64) { a.refund(n) }

func (m *stageMemory) refund(n int64) {
	m.used.Add(-n)
	if have := m.credit.Add(n); have > 0 && (m.run.memoryWaiters.Load() > 0 || have > m.run.surplus) {
		m.giveBack()
	}
}

// charge counts what is held beside the workers (ranges of files far away that are fetched ahead) until release is called. It does not wait: the debt is
// settled by what the stage asks for next.
func (m *stageMemory) charge(n int64) (release func()) {
	m.used.Add(n)
	m.credit.Add(-n)
	return func() { m.refund(n) }
}

// giveBack returns all credit of the stage to the scheduler.
func (m *stageMemory) giveBack() {
	if n := m.take(); n != 0 {
		m.run.send(sched.Event{Kind: sched.EvFreed, Stage: m.stage.id, Bytes: n})
	}
}

// take empties the stage's credit and returns it.
func (m *stageMemory) take() int64 {
	for {
		n := m.credit.Load()
		if n <= 0 {
			return 0
		}
		if m.credit.CompareAndSwap(n, 0) {
			return n
		}
	}
}

// MemoryError says that the budget cannot hold what a task needs.
type MemoryError struct {
	Stage  string
	Bytes  int64 // asked for
	Budget int64
	Need   int64  // the budget that would do
	Held   string // what the stages hold
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%s needs %s more at once, and the memory budget of %s is used up (%s): run with --memory %s or more",
		e.Stage, size(e.Bytes), size(e.Budget), e.Held, size(e.Need))
}

// held says what each stage has in use.
func (r *run) held() string {
	var parts []string
	for _, s := range r.stages {
		if n := s.memory.used.Load(); n > 0 {
			parts = append(parts, fmt.Sprintf("%s holds %s", s.Name, size(n)))
		}
	}
	return strings.Join(parts, ", ")
}

// Class implements dataset.Classed.
func (e *MemoryError) Class() string { return "row too large for the memory budget" }

var _ dataset.Classed = (*MemoryError)(nil)

// roughly writes a size for people who compare it with others: to two digits, as summaries do. size rounds up, for what is to be asked for.
func roughly(n int64) string {
	v, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for v >= 1023.5 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit > 0 && v < 9.95 {
		return fmt.Sprintf("%.1f %s", v, units[unit])
	}
	return fmt.Sprintf("%.0f %s", v, units[unit])
}

// size prints bytes the way the flags take them.
func size(n int64) string {
	switch {
	case n >= 10<<30 || n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%dGiB", (n+1<<30-1)>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", (n+1<<20-1)>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dKiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprintf("%dB", n)
}
