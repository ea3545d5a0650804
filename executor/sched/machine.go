package sched

import (
	"errors"
	"fmt"

	"github.com/sluice-data/sluice/backpressure"
)

// Machine is the scheduler's state. It is not safe for concurrent use: whoever drives it serialises Step and the methods that look.
type Machine struct {
	cfg    Config
	stages []stage
	byRank []*stage
	tasks  []*task
	free   []TaskID
	now    int64
	out    []Effect

	budget    backpressure.Budget
	memWait   bitset // ranks of stages with tasks that wait for memory, or that would start but for it
	serveDue  bool   // memory or a place in the line of waiters became free
	tokenRank int    // rank of the stage that drew on the overdraft last

	cpu     bitset // ranks of stages that could do something with a slot
	nocpu   bitset // and of those that need none
	feeds   []bitset
	busiest *stage
	charges int // since the loads were halved

	slotsBusy int
	running   int
	active    int
	outside   int // waits that only an event can end: tasks, calls in flight, listings, spills
	left      int // stages that have not ended

	timers    timers
	started   bool
	cancelled bool
	draining  bool
	forced    bool
	snap      backpressure.Snapshot
	drops     []Item
	err       error
}

// New makes a machine for a plan. It fails when the plan is not well formed, could not run to its end, or cannot fit its memory; the last
// error names the budget that would do.
func New(cfg Config) (*Machine, error) {
	if err := validate(&cfg); err != nil {
		return nil, err
	}
	n := len(cfg.Stages)
	m := &Machine{cfg: cfg, left: n, cpu: newBitset(n), nocpu: newBitset(n), memWait: newBitset(n), stages: make([]stage, n)}
	fixed, permits := make([]int64, n), make([]int64, n)
	for i := range m.stages {
		m.initStage(i)
		fixed[i] = cfg.Stages[i].OffHeap * int64(max(1, cfg.Stages[i].MinWorkers))
		if cfg.Stages[i].Ordered {
			permits[i] = cfg.BlockBytes
		}
	}
	m.rank()
	if err := m.initSpill(); err != nil {
		return nil, err
	}
	m.budget = backpressure.NewBudget(cfg.BudgetBytes, fixed, permits)
	return m, nil
}

func (m *Machine) initStage(i int) {
	c := m.cfg.Stages[i]
	s := &m.stages[i]
	s.id, s.cfg, s.most = StageID(i), c, c.MaxWorkers
	if s.most == 0 {
		s.most = max(m.cfg.Slots, c.MinWorkers)
	}
	s.width = s.most
	if !c.NoCPU {
		s.width = min(s.most, m.cfg.Slots)
	}
	s.idle.first, s.due.first = -1, -1
	if c.Source {
		s.ports = []port{{}}
	}
	for p, pc := range c.Ports {
		from := &m.stages[pc.From]
		s.ports = append(s.ports, port{from: from, phase: pc.Phase, room: backpressure.EdgeRoom(m.cfg.BlockBytes, s.most)})
		from.outs = append(from.outs, outRef{s, p})
		from.liveOuts++
	}
	s.pending.buf = make([]int32, len(s.ports))
	s.beginPhase()
}

// beginPhase accepts the ports of the lowest phase that has unfinished ones.
func (s *stage) beginPhase() {
	lowest, found := 0, false
	for i := range s.ports {
		if p := &s.ports[i]; !p.finished && (!found || p.phase < lowest) {
			lowest, found = p.phase, true
		}
	}
	s.phase, s.phaseLeft = lowest, 0
	for i := range s.ports {
		p := &s.ports[i]
		if p.finished || p.phase != lowest {
			continue
		}
		s.phaseLeft++
		s.waiting -= int64(p.q.n)
		s.queued += int64(p.q.n)
		s.offer(i)
	}
	s.waiting = max(0, s.waiting)
}

func validate(cfg *Config) error {
	if len(cfg.Stages) == 0 {
		return errors.New("schedule plan: it has no stage")
	}
	if cfg.Slots < 1 {
		return fmt.Errorf("schedule plan: %d CPU slots, at least 1 is needed", cfg.Slots)
	}
	var fixed int64
	workers := 0
	for i := range cfg.Stages {
		s := &cfg.Stages[i]
		if err := validateStage(i, s); err != nil {
			return fmt.Errorf("schedule stage %d (%s): %w", i, s.Name, err)
		}
		fixed += s.OffHeap * int64(max(1, s.MinWorkers))
		workers += max(1, s.MinWorkers)
	}
	if need := backpressure.Required(len(cfg.Stages), fixed); cfg.BudgetBytes < need {
		return fmt.Errorf("schedule plan: --memory is %.1f MiB, and %d stages need %.1f MiB: two blocks of %d KiB each and %.1f MiB off-heap; raise --memory, or use fewer steps",
			mib(cfg.BudgetBytes), len(cfg.Stages), mib(need), int64(backpressure.MinBlockBytes)>>10, mib(fixed))
	}
	if cfg.BlockBytes <= 0 {
		cfg.BlockBytes = min(max(cfg.BudgetBytes/int64(4*(len(cfg.Stages)+workers)), backpressure.MinBlockBytes), 64<<20)
	}
	return nil
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

func validateStage(i int, s *Stage) error {
	switch {
	case s.Source && len(s.Ports) > 0:
		return errors.New("a source has no ports")
	case !s.Source && len(s.Ports) == 0:
		return errors.New("it is no source and has no ports")
	case s.MinWorkers < 0 || s.MaxWorkers < 0 || (s.MaxWorkers > 0 && s.MaxWorkers < s.MinWorkers):
		return fmt.Errorf("%d to %d workers make no range", s.MinWorkers, s.MaxWorkers)
	case s.OffHeap < 0:
		return fmt.Errorf("%d bytes off-heap", s.OffHeap)
	}
	for p := range s.Ports {
		if f := s.Ports[p].From; f < 0 || int(f) >= i {
			return fmt.Errorf("port %d is fed by stage %d, which is not before it", p, f)
		}
	}
	return nil
}

// Ended says whether all stages have ended.
func (m *Machine) Ended() bool { return m.left == 0 && m.started }

// Err returns the first event that made no sense (an unknown task, a second EvTaskDone): a mistake of the driver. Such events are ignored.
func (m *Machine) Err() error { return m.err }

func (m *Machine) misuse(ev *Event, what string) {
	if m.err == nil {
		m.err = fmt.Errorf("schedule event %d of stage %d, worker %d, task %d: %s", ev.Kind, ev.Stage, ev.Worker, ev.Task, what)
	}
}

func (m *Machine) fx(e Effect) { m.out = append(m.out, e) }
