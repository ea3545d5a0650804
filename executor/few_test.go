package executor

import (
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor/sched"
)

// limiter is a step that says how many rows it wants.
type limiter struct {
	*step
	rows int64
}

func (l limiter) Limit() int64 { return l.rows }

// TestBlocksOfPlansThatEndEarly: who asks for a few rows must not wait for blocks of 64 MiB, and who sorts first gets them all the same.
func TestBlocksOfPlansThatEndEarly(t *testing.T) {
	few, many := &dataset.Node{Spec: limiter{limit(5), 5}}, &dataset.Node{Spec: limiter{limit(5), 1_000_000}}
	read := &PhysicalStage{Source: &ints{}}
	steps := func(barrier bool, inputs []int, ops ...*dataset.Node) *PhysicalStage {
		return &PhysicalStage{Ops: ops, Inputs: inputs, Sched: sched.Stage{Barrier: barrier}}
	}
	const budget = 8 << 30
	for name, tt := range map[string]struct {
		stages []*PhysicalStage
		few    bool
	}{
		"no limit":                    {[]*PhysicalStage{read, steps(false, []int{0}, &dataset.Node{Spec: pass("a")})}, false},
		"few rows of a source":        {[]*PhysicalStage{read, steps(false, []int{0}, few)}, true},
		"few rows behind other steps": {[]*PhysicalStage{read, steps(false, []int{0}), steps(false, []int{1}, &dataset.Node{Spec: pass("a")}, few)}, true},
		"many rows":                   {[]*PhysicalStage{read, steps(false, []int{0}, many)}, false},
		"few rows behind a sort":      {[]*PhysicalStage{read, steps(true, []int{0}), steps(false, []int{1}, few)}, false},
		"few rows of one of two":      {[]*PhysicalStage{read, steps(true, []int{0}), read, steps(false, []int{1, 2}, few)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := blockTarget(&Physical{Stages: tt.stages}, budget)
			if want := int64(maxBlockBytes); !tt.few && got != want {
				t.Errorf("blocks of %d bytes, want %d", got, want)
			}
			if tt.few && got != fewBlockBytes {
				t.Errorf("blocks of %d bytes, want %d", got, fewBlockBytes)
			}
			if got := blockTarget(&Physical{Stages: tt.stages}, 1<<20); got != minBlockBytes {
				t.Errorf("blocks of %d bytes under a budget of 1 MiB, want %d", got, minBlockBytes)
			}
		})
	}
}
