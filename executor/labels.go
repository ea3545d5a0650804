package executor

import (
	"context"
	"fmt"
	"runtime/pprof"
)

// Labels of the goroutines of a run, by which CPU profiles of the process can be split. The stage is its number from 1 and its name.
const (
	labelStage = "sluice_stage"
	labelStep  = "sluice_step"
)

// stageLabels are the labels of a stage's workers outside their operators. Goroutines that a worker starts inherit what it has.
func (s *stage) stageLabels() context.Context { return s.labelsOf(s.Name) }

func (s *stage) labelsOf(step string) context.Context {
	return pprof.WithLabels(context.Background(), pprof.Labels(labelStage, fmt.Sprintf("%d %s", s.id+1, s.Name), labelStep, step))
}

// label sets the labels of operator c while it runs and returns those that were set before. Setting them is one pointer store, and it is done
// only where the operator changes within a stage.
func (w *worker) label(c *chainOp) (was context.Context) {
	was = w.labels
	if was != c.labels {
		w.relabel(c.labels)
	}
	return was
}

// relabel sets the labels of the worker's goroutine.
func (w *worker) relabel(to context.Context) {
	if w.labels != to {
		w.labels = to
		pprof.SetGoroutineLabels(to)
	}
}
