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
	rounds   = 11
	roundFor = 700 * time.Millisecond
)

// sample is one round: requests a second, and milliseconds of processor time a request.
type sample struct{ rate, client, server float64 }

// cpuTime is what this process, the client, has used.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestB2 prints the table; it fails when requests fail, not when they are slow: the machine may be busy. The ratio of processor time, both sides
// together, is what the ratio of requests comes to where nothing else runs.
func TestB2(t *testing.T) {
	s := tritontest.Triton(t, tritontest.Repository(t, tritontest.Identity))
	t.Logf("%8s  %-14s  %10s  %14s  %14s", "bytes", "", "requests/s", "client CPU/req", "server CPU/req")
	for _, c := range []struct {
		n     int64
		ratio float64 // the goal
		cpu   float64 // the goal, milliseconds
	}{{150528, 2.2, 0.15}, {3 << 20, 2.7, 0.35}} {
		inline, shared := open(t, s, false), open(t, s, true)
		var a, b []sample
		for range rounds {
			a = append(a, round(t, s, inline, c.n))
			b = append(b, round(t, s, shared, c.n))
		}
		var rates, cpus []float64
		for i := range a {
			rates = append(rates, b[i].rate/a[i].rate)
			cpus = append(cpus, (a[i].client+a[i].server)/(b[i].client+b[i].server))
		}
		for _, x := range []struct {
			way  string
			list []sample
		}{{"inline", a}, {"shared memory", b}} {
			t.Logf("%8d  %-14s  %10.1f  %11.3f ms  %11.3f ms", 4*c.n, x.way, median(x.list, func(s sample) float64 { return s.rate }),
				median(x.list, func(s sample) float64 { return s.client }), median(x.list, func(s sample) float64 { return s.server }))
		}
		t.Logf("%8s  goals: client CPU %.2f ms, ratio %.1f; ratios of requests a second %s, of CPU %s", "", c.cpu, c.ratio, spread(rates), spread(cpus))
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
func round(t *testing.T, s *tritontest.Server, m gpu.Model, n int64) sample {
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
	before := s.CPU() // reading that is the client's work, and no request's
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
	served := s.CPU() - before
	k := float64(max(done.Load(), 1))
	return sample{k / passed.Seconds(), float64(spent.Microseconds()) / 1e3 / k, float64(served.Microseconds()) / 1e3 / k}
}

func median[T any](list []T, of func(T) float64) float64 {
	var v []float64
	for _, x := range list {
		v = append(v, of(x))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

// spread tells the median, and the quarters on both sides of it.
func spread(v []float64) string {
	v = slices.Sorted(slices.Values(v))
	return fmt.Sprintf("%.2f (%.2f to %.2f)", v[len(v)/2], v[len(v)/4], v[3*len(v)/4])
}
