package executor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-data/sluice/backpressure"
	"github.com/sluice-data/sluice/dataset"
)

// Explanation is a plan for people: the steps as they were written, what the optimizer did, and the stages that they are compiled to with
// the memory that each may take. Once it was run, the numbers that were measured stand beside the plan. It is not safe for concurrent use.
type Explanation struct {
	outs     []dataset.Output
	changes  []dataset.Change
	stages   []*PhysicalStage
	slots    int
	budget   int64
	block    int64 // size that blocks should have
	accounts []backpressure.Account
	measured *measured
}

// measured is what a run of the plan was seen to do.
type measured struct {
	report dataset.Report
	cpu    *CPU // nil where it was not profiled
	note   string
}

// Describe explains a plan without running it.
func (l *Local) Describe(ctx context.Context, p *dataset.Plan) (*Explanation, error) {
	c, err := Compile(ctx, p, &l.cfg)
	if err != nil {
		return nil, err
	}
	e := &Explanation{outs: p.Outputs, changes: c.Changes, stages: c.Stages, slots: l.cfg.Parallel, budget: l.cfg.MemoryBytes, block: blockTarget(c, l.cfg.MemoryBytes)}
	fixed, permits := make([]int64, len(c.Stages)), make([]int64, len(c.Stages))
	for i, s := range c.Stages {
		fixed[i] = s.Sched.OffHeap * int64(max(1, s.Sched.MaxWorkers))
		if s.Sched.Ordered {
			permits[i] = e.block
		}
	}
	e.accounts = backpressure.NewBudget(e.budget, fixed, permits).Accounts
	return e, nil
}

// Explain is Describe as text.
func (l *Local) Explain(ctx context.Context, p *dataset.Plan) (string, error) {
	e, err := l.Describe(ctx, p)
	if err != nil {
		return "", err
	}
	return e.Text(), nil
}

// Analyze runs a plan, with whatever results it writes, and explains it with what was measured. Blocks of an output without a sink are dropped. Of
// the CPU time, the whole process is profiled: other runs at the same time count as its own. The explanation is there also when the run fails.
func (l *Local) Analyze(ctx context.Context, p *dataset.Plan) (*Explanation, error) {
	e, err := l.Describe(ctx, p)
	if err != nil {
		return nil, err
	}
	prof, err := StartCPU()
	if err != nil {
		return nil, err
	}
	err = dataset.Drain(ctx, l, p)
	cpu, perr := prof.Stop()
	if err == nil {
		err = perr
	}
	e.Measured(*p.Report, cpu, "")
	return e, err
}

// Measured puts what a run of the plan did beside it. cpu may be nil; note is a remark on the run, for people.
func (e *Explanation) Measured(report dataset.Report, cpu *CPU, note string) {
	e.measured = &measured{report, cpu, note}
}

// Text prints both trees.
func (e *Explanation) Text() string {
	var out strings.Builder
	out.WriteString("Logical plan\n")
	out.WriteString(indent(dataset.Explain(e.outs...)))
	if len(e.changes) > 0 {
		out.WriteString("\nPushed down and joined\n")
		for _, c := range e.changes {
			fmt.Fprintf(&out, "  %s: %s\n", c.Rule, c.Text)
		}
	}
	fmt.Fprintf(&out, "\nPhysical plan: %s, %s, memory budget %s, blocks of up to %s\n",
		plural(len(e.stages), "stage"), plural(e.slots, "CPU slot"), roughly(e.budget), roughly(e.block))
	for i, s := range e.stages {
		fmt.Fprintf(&out, "  %d  %s%s\n", i+1, s.Name, s.facts())
		if s.Source != nil {
			fmt.Fprintf(&out, "       %s  [streams]\n", dataset.StepText(&dataset.Node{Source: s.Source}))
		}
		for _, n := range s.Ops {
			fmt.Fprintf(&out, "       %s\n", dataset.StepText(n))
		}
		fmt.Fprintf(&out, "       gives %s\n", columns(s))
		fmt.Fprintf(&out, "       memory: %s\n", e.memory(i))
		for _, line := range e.measuredStage(i) {
			fmt.Fprintf(&out, "       %s\n", line)
		}
	}
	for _, line := range e.measuredRun() {
		out.WriteString(line + "\n")
	}
	return out.String()
}

// memory predicts what a stage takes: at first a block target for each task at once, and never more than what others have not reserved.
func (e *Explanation) memory(i int) string {
	s, a := e.stages[i], e.accounts[i]
	tasks := s.Sched.MaxWorkers
	if tasks == 0 || !s.Sched.NoCPU {
		tasks = min(max(tasks, 1), e.slots)
		if s.Sched.MaxWorkers == 0 {
			tasks = e.slots
		}
	}
	text := fmt.Sprintf("about %s at first (%s of a block); %s reserved", roughly(min(int64(tasks)*e.block, e.budget)), plural(tasks, "task"), roughly(a.Reserved+a.Permit))
	if s.Sched.OffHeap > 0 {
		text += fmt.Sprintf(", %s of it outside the heap", roughly(s.Sched.OffHeap*int64(max(1, s.Sched.MaxWorkers))))
	}
	for _, n := range s.Ops {
		if m, ok := n.Spec.(dataset.Memory); ok && m.Holds() != "streams" {
			text += fmt.Sprintf("; %s %s", n.Name(), m.Holds())
		}
	}
	return text
}

// facts are the properties of a stage that change how it runs.
func (s *PhysicalStage) facts() string {
	var f []string
	if len(s.Inputs) > 0 {
		from := make([]string, len(s.Inputs))
		for i, n := range s.Inputs {
			from[i] = fmt.Sprint(n + 1)
		}
		f = append(f, "from "+strings.Join(from, ", "))
	}
	if n := s.Sched.MaxWorkers; n == 1 {
		f = append(f, "1 worker")
	} else if n > 1 {
		f = append(f, fmt.Sprintf("up to %d workers", n))
	}
	if s.Sched.Ordered {
		f = append(f, "keeps order")
	}
	if s.Sched.NoCPU {
		f = append(f, "waits, holds no CPU")
	}
	if s.Sched.Barrier {
		f = append(f, "in phases")
	}
	if len(f) == 0 {
		return ""
	}
	return "  (" + strings.Join(f, "; ") + ")"
}

func columns(s *PhysicalStage) string {
	var cols []string
	for _, f := range s.out().Fields() {
		cols = append(cols, fmt.Sprintf("%s %s", f.Name, f.Type))
	}
	if len(cols) == 0 {
		return "no columns"
	}
	return strings.Join(cols, ", ")
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n  ") + "\n"
}

// brief writes a duration with three digits at most.
func brief(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
