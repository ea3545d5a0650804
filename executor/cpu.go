package executor

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// CPU is where the CPU time of the process went while it was profiled, by samples of a hundred a second.
type CPU struct {
	Steps   map[CPUStep]time.Duration
	GC      time.Duration // collecting garbage
	Other   time.Duration // the rest: scheduling, the display, listing, what else the process did
	Samples int
}

// CPUStep is a step of a stage.
type CPUStep struct {
	Stage int // number of the stage, from 0
	Step  string
}

// Total is all CPU time.
func (c *CPU) Total() time.Duration {
	sum := c.GC + c.Other
	for _, d := range c.Steps {
		sum += d
	}
	return sum
}

// Stage is the CPU time of one stage.
func (c *CPU) Stage(i int) (sum time.Duration) {
	for s, d := range c.Steps {
		if s.Stage == i {
			sum += d
		}
	}
	return sum
}

// CPUProfile is a profile that is being taken. The process can take one at a time.
type CPUProfile struct{ buf bytes.Buffer }

// StartCPU begins a profile of the process. It fails while another is being taken. Runs that go on at the same time are not told apart.
func StartCPU() (*CPUProfile, error) {
	p := &CPUProfile{}
	if err := pprof.StartCPUProfile(&p.buf); err != nil {
		return nil, fmt.Errorf("profile the process: %w", err)
	}
	return p, nil
}

// Stop ends the profile and adds it up. It is called once.
func (p *CPUProfile) Stop() (*CPU, error) {
	pprof.StopCPUProfile()
	prof, err := profile.Parse(&p.buf)
	if err != nil {
		return nil, fmt.Errorf("read the profile of the process: %w", err)
	}
	at := -1
	for i, t := range prof.SampleType {
		if t.Type == "cpu" && t.Unit == "nanoseconds" {
			at = i
		}
	}
	c := &CPU{Steps: map[CPUStep]time.Duration{}}
	for _, s := range prof.Sample {
		if at < 0 || at >= len(s.Value) {
			return nil, fmt.Errorf("read the profile of the process: it has no CPU time")
		}
		c.add(s, time.Duration(s.Value[at]))
		c.Samples += int(s.Value[0])
	}
	return c, nil
}

func (c *CPU) add(s *profile.Sample, d time.Duration) {
	var stage int
	if names := s.Label[labelStage]; len(names) == 1 {
		if _, err := fmt.Sscan(names[0], &stage); err == nil {
			c.Steps[CPUStep{stage - 1, strings.Join(s.Label[labelStep], " ")}] += d
			return
		}
	}
	if collects(s) {
		c.GC += d
		return
	}
	c.Other += d
}

// collects says whether a sample was taken in the garbage collector's own workers.
func collects(s *profile.Sample) bool {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil && (strings.HasPrefix(line.Function.Name, "runtime.gcBgMarkWorker") || strings.HasPrefix(line.Function.Name, "runtime.bgsweep") ||
				strings.HasPrefix(line.Function.Name, "runtime.bgscavenge")) {
				return true
			}
		}
	}
	return false
}
