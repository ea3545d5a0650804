package metrics

import (
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/sluice-data/sluice/dataset"
)

// maxClasses is how many classes of failures, and of warnings, are told apart.
const maxClasses = 100

// Collector is a prometheus.Collector of one run. It is safe for concurrent use.
type Collector struct {
	version, command string
	look             func() (dataset.Report, bool)

	mu      sync.Mutex
	classes map[[2]string]bool // those that are told apart
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector makes a Collector. look returns the state of the run, or false before it has begun.
func NewCollector(version, command string, look func() (dataset.Report, bool)) *Collector {
	return &Collector{version: version, command: command, look: look, classes: map[[2]string]bool{}}
}

// Registry makes a registry with the collector and what is known of the process: Go's memory and goroutines, CPU time, open files.
func Registry(c *Collector) (*prometheus.Registry, error) {
	reg := prometheus.NewPedanticRegistry()
	for _, x := range []prometheus.Collector{c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := reg.Register(x); err != nil {
			return nil, err
		}
	}
	return reg, nil
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range all {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	out := emitter{ch}
	out.gauge(runInfo, 1, c.version, c.command)
	r, ok := c.look()
	if !ok {
		return
	}
	c.run(out, &r)
	for i := range r.Stages {
		stage(out, i, &r.Stages[i])
	}
}

func (c *Collector) run(out emitter, r *dataset.Report) {
	state := r.State
	if state == "" { // nothing had to be run
		state = dataset.RunEnded
	}
	out.gauge(runState, 1, state)
	out.gauge(runSeconds, r.Wall.Seconds())
	out.gauge(quiet, r.Quiet.Seconds())
	out.counter(rowsRead, float64(r.RowsRead))
	out.counter(rowsWritten, float64(r.RowsWritten))
	out.counter(rowsFailed, float64(r.RowsFailed))
	out.counter(bytesRead, float64(r.BytesRead))
	out.gauge(listed, float64(r.Input.ListedBytes))
	out.gauge(read, float64(r.Input.ReadBytes))
	out.gauge(complete, boolean(r.Input.Listed))
	if r.Input.Left >= 0 && r.Input.Listed {
		out.gauge(left, r.Input.Left.Seconds())
	}
	out.gauge(memUsed, float64(r.UsedBytes))
	out.gauge(memPeak, float64(r.PeakBytes))
	out.gauge(memBudget, float64(r.BudgetBytes))
	out.counter(spilled, float64(r.SpilledBytes))
	out.gauge(slots, float64(r.Slots))
	out.gauge(slotsBusy, float64(r.SlotsBusy))
	if b := r.Bottleneck; b.Stage != "" {
		out.gauge(bottleneck, 1, strconv.Itoa(b.Index+1), b.Stage)
	}
	c.classed(out, r)
}

// classed gives the failures and warnings. A class that was told apart once stays so, or its counter would fall.
func (c *Collector) classed(out emitter, r *dataset.Report) {
	failed, warned := map[[2]string]int64{}, map[[2]string]int64{}
	c.mu.Lock()
	for _, f := range r.Failures {
		failed[c.known("f"+f.Op, f.Op, f.Class)] += f.Count
	}
	for _, w := range r.Warnings {
		warned[c.known("", "", w.Class)] += w.Count
	}
	c.mu.Unlock()
	for k, n := range failed {
		out.counter(failures, float64(n), k[0], k[1])
	}
	for k, n := range warned {
		out.counter(warnings, float64(n), k[1])
	}
}

// known is step and class, or step and "other" for a class beyond the first ones.
func (c *Collector) known(group, step, class string) [2]string {
	key := [2]string{group, class}
	if !c.classes[key] {
		if len(c.classes) >= 2*maxClasses {
			return [2]string{step, "other"}
		}
		c.classes[key] = true
	}
	return [2]string{step, class}
}

func stage(out emitter, i int, s *dataset.StageReport) {
	id := []string{strconv.Itoa(i + 1), s.Name}
	for _, m := range []struct {
		of    *prometheus.Desc
		value float64
	}{
		{stageRowsIn, float64(s.RowsIn)}, {stageRowsOut, float64(s.RowsOut)}, {stageBytesIn, float64(s.BytesIn)}, {stageBytesOut, float64(s.BytesOut)},
		{stageBlocksIn, float64(s.BlocksIn)}, {stageBlocksOut, float64(s.BlocksOut)}, {stageFailed, float64(s.Failed)},
		{stageSlots, s.Busy.Seconds()}, {stageWorking, s.Working.Seconds()}, {stageSpilled, float64(s.Spilled)},
		{stageAllocated, float64(s.Allocated)},
	} {
		out.counter(m.of, m.value, id...)
	}
	for _, m := range []struct {
		of    *prometheus.Desc
		value float64
	}{
		{stageQueued, float64(s.QueuedBytes)}, {stageBlocks, float64(s.QueuedBlocks)}, {stageOnDisk, float64(s.OnDisk)},
		{stageRunning, float64(s.Running)}, {stageAllowed, float64(s.Allowed)}, {stageInFlight, float64(s.InFlight)},
		{stageMemory, float64(max(s.HeldBytes, 0))}, {stagePeak, float64(s.PeakBytes)},
	} {
		out.gauge(m.of, m.value, id...)
	}
	for reason, d := range s.Idle {
		out.counter(stageIdle, d.Seconds(), id[0], id[1], reason)
	}
	for reason, d := range s.Waits {
		out.counter(stageWaits, d.Seconds(), id[0], id[1], reason)
	}
	blocks := max(s.BlocksIn, s.BlocksOut)
	out.ch <- prometheus.MustNewConstSummary(stageTook, uint64(blocks), s.Busy.Seconds(), map[float64]float64{0.5: s.P50.Seconds(), 0.99: s.P99.Seconds()}, id...)
}

// emitter makes metrics of numbers.
type emitter struct{ ch chan<- prometheus.Metric }

func (e emitter) gauge(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (e emitter) counter(d *prometheus.Desc, v float64, labels ...string) {
	e.ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
