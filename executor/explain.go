package executor

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-data/sluice/dataset"
)

// Explain prints a plan: the logical tree as it was written, and the stages that it is compiled to, with what the optimizer changed.
func (l *Local) Explain(ctx context.Context, p *dataset.Plan) (string, error) {
	c, err := Compile(ctx, p, l.cfg.Parallel)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString("Logical plan\n")
	out.WriteString(indent(dataset.Explain(p.Outputs...)))
	fmt.Fprintf(&out, "\nPhysical plan: %d stages, %d CPU slots, memory budget %s\n", len(c.Stages), l.cfg.Parallel, roughly(l.cfg.MemoryBytes))
	for i, s := range c.Stages {
		fmt.Fprintf(&out, "  %d  %s%s\n", i+1, s.Name, s.facts())
		if s.Source != nil {
			fmt.Fprintf(&out, "       %s\n", dataset.StepText(&dataset.Node{Source: s.Source}))
		}
		for _, n := range s.Ops {
			fmt.Fprintf(&out, "       %s\n", dataset.StepText(n))
		}
		fmt.Fprintf(&out, "       gives %s\n", columns(s))
	}
	return out.String(), nil
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
