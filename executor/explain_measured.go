package executor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// fewSamples is below how many samples a share of CPU time says little.
const fewSamples = 50

// stageReport is what was measured of stage i.
func (e *Explanation) stageReport(i int) (dataset.StageReport, bool) {
	if e.measured == nil || i >= len(e.measured.report.Stages) || e.measured.report.Stages[i].Name != e.stages[i].Name { // of another plan
		return dataset.StageReport{}, false
	}
	return e.measured.report.Stages[i], true
}

// measuredStage are lines on what stage i was seen to do.
func (e *Explanation) measuredStage(i int) []string {
	s, ok := e.stageReport(i)
	if !ok {
		return nil
	}
	var flow []string
	if e.stages[i].Source == nil {
		flow = append(flow, "in "+moved(s.RowsIn, s.BlocksIn, s.BytesIn))
	}
	if s.BlocksOut > 0 || e.stages[i].Sink == nil && !e.stages[i].Yield {
		flow = append(flow, "out "+moved(s.RowsOut, s.BlocksOut, s.BytesOut))
	}
	if s.Failed > 0 {
		flow = append(flow, fmt.Sprintf("%s failed", plural(int(s.Failed), "row")))
	}
	took := fmt.Sprintf("measured: slots held %s, worked %s, a block %s (p50) to %s (p99), memory peak %s, %s allocated", brief(s.Busy), brief(s.Working), brief(s.P50), brief(s.P99), roughly(s.PeakBytes), roughly(s.Allocated))
	if s.Spilled > 0 {
		took += ", spilled " + roughly(s.Spilled)
	}
	lines := []string{"measured: " + strings.Join(flow, "; "), took}
	if w := e.waitText(s); w != "" {
		lines = append(lines, "measured: stood still for "+w)
	}
	return append(lines, e.cpuLines(i)...)
}

func moved(rows, blocks, bytes int64) string {
	return fmt.Sprintf("%s in %s, %s", plural(int(rows), "row"), plural(int(blocks), "block"), roughly(bytes))
}

// waitText are the reasons for which the stage ran nothing, longest first.
func (e *Explanation) waitText(s dataset.StageReport) string {
	names := slices.SortedFunc(maps.Keys(s.Idle), func(a, b string) int { return cmp.Or(cmp.Compare(s.Idle[b], s.Idle[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, n := range names {
		if s.Idle[n] >= time.Millisecond {
			parts = append(parts, fmt.Sprintf("%s %s", n, brief(s.Idle[n])))
		}
	}
	return strings.Join(parts, ", ")
}

// cpuLines are the CPU time of the stage's steps.
func (e *Explanation) cpuLines(i int) []string {
	c := e.measured.cpu
	if c == nil || c.Stage(i) == 0 {
		return nil
	}
	line := fmt.Sprintf("CPU: %s", partOf(c.Stage(i), c.Total()))
	var steps []string
	for _, k := range slices.SortedFunc(maps.Keys(c.Steps), func(a, b CPUStep) int {
		return cmp.Or(cmp.Compare(c.Steps[b], c.Steps[a]), cmp.Compare(a.Step, b.Step))
	}) {
		if k.Stage == i {
			steps = append(steps, fmt.Sprintf("%s %s", k.Step, brief(c.Steps[k])))
		}
	}
	if len(steps) > 1 {
		line += ": " + strings.Join(steps, ", ")
	}
	return []string{line}
}

func partOf(d, of time.Duration) string {
	return fmt.Sprintf("%s (%d %%)", brief(d), 100*d/max(of, 1))
}

// measuredRun are lines on the run as a whole.
func (e *Explanation) measuredRun() []string {
	if e.measured == nil {
		return nil
	}
	r, c := e.measured.report, e.measured.cpu
	lines := []string{"", "Measured"}
	if e.measured.note != "" {
		lines = append(lines, "  "+e.measured.note)
	}
	if r.Complete {
		return append(lines, "  the result was complete already: nothing ran; --overwrite runs it again")
	}
	lines = append(lines, fmt.Sprintf("  read %s (%s), wrote %s in %s; memory peak %s of %s", plural(int(r.RowsRead), "row"), roughly(r.BytesRead),
		plural(int(r.RowsWritten), "row"), brief(r.Wall), roughly(r.PeakBytes), roughly(r.BudgetBytes)))
	if b := r.Bottleneck; b.Stage != "" {
		lines = append(lines, fmt.Sprintf("  bottleneck: %s: %s", b.Stage, b.Why))
	}
	if c == nil {
		return lines
	}
	lines = append(lines, fmt.Sprintf("  CPU: %s in %s; garbage collection %s, everything else %s", brief(c.Total()), plural(c.Samples, "sample"),
		partOf(c.GC, c.Total()), partOf(c.Other, c.Total())))
	if c.Samples < fewSamples {
		lines = append(lines, "  so few samples say little about shares of CPU time: run it on more input")
	}
	return lines
}
