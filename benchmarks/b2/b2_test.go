//go:build models

package b2

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton"
	"github.com/sluice-data/sluice/gpu/triton/tritontest"
)

const (
	inFlight = 4
	rounds   = 5
	roundFor = 1500 * time.Millisecond
)

// sample is one round.
type sample struct{ rate, cpuMillis float64 }

// cpuTime is what this process, the client, has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestB2 prints the table; it fails when requests fail, not when they are slow: the machine may be busy.
func TestB2(t *testing.T) {
	s := tritontest.Triton(t, tritontest.Repository(t, tritontest.Identity))
	t.Logf("%8s  %-14s  %10s  %12s", "bytes", "", "requests/s", "client CPU/req")
	for _, c := range []struct {
		n     int64
		ratio float64 // the goal
		cpu   float64 // the goal, milliseconds
	}{{150528, 2.2, 0.15}, {3 << 20, 2.7, 0.35}} {
		inline, shared := open(t, s, false), open(t, s, true)
		var a, b []sample
		for range rounds {
			a = append(a, round(t, inline, c.n))
			b = append(b, round(t, shared, c.n))
		}
		x, y := median(a), median(b)
		t.Logf("%8d  %-14s  %10.1f  %9.3f ms", 4*c.n, "inline", x.rate, x.cpuMillis)
		t.Logf("%8d  %-14s  %10.1f  %9.3f ms   (goal %.2f ms)", 4*c.n, "shared memory", y.rate, y.cpuMillis, c.cpu)
		t.Logf("%8s  ratio of the medians %.2f, of the rounds %s   (goal %.1f)", "", y.rate/x.rate, ratios(a, b), c.ratio)
		if info, err := shared.Info(t.Context()); err != nil || len(info.Notes) > 0 {
			t.Errorf("shared memory was not used: %v, %v", info.Notes, err)
		}
	}
}

func open(t *testing.T, s *tritontest.Server, share bool) gpu.Model {
	t.Helper()
	m, err := triton.Open("triton://"+s.Host+"/identity", gpu.Options{Shared: share})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// round keeps so many requests in flight for a while. Inputs are not written again: filling them is the caller's work, whatever the way.
func round(t *testing.T, m gpu.Model, n int64) sample {
	t.Helper()
	ask := func(ctx context.Context) error {
		data, err := m.Alloc(ctx, int(4*n))
		if err != nil {
			return err
		}
		resp, err := m.Infer(ctx, &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.FP32, Shape: []int64{1, n}, Data: data}}})
		if err != nil {
			return err
		}
		resp.Release()
		return nil
	}
	for range inFlight { // warm
		if err := ask(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var done atomic.Int64
	var wg sync.WaitGroup
	start, used := time.Now(), cpuTime()
	for range inFlight {
		wg.Go(func() {
			for time.Since(start) < roundFor {
				if err := ask(t.Context()); err != nil {
					t.Error(err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	passed, spent := time.Since(start), cpuTime()-used
	k := float64(max(done.Load(), 1))
	return sample{k / passed.Seconds(), float64(spent.Microseconds()) / 1e3 / k}
}

func median(list []sample) sample {
	by := func(f func(sample) float64) float64 {
		var v []float64
		for _, s := range list {
			v = append(v, f(s))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	return sample{by(func(s sample) float64 { return s.rate }), by(func(s sample) float64 { return s.cpuMillis })}
}

// ratios lists shared over inline, round by round.
func ratios(a, b []sample) string {
	s := ""
	for i := range a {
		s += fmt.Sprintf(" %.2f", b[i].rate/a[i].rate)
	}
	return s[1:]
}
