package sched

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func reasonText(r Reason) string {
	return fmt.Sprintf("%s (have %d, need %d %s, stage %q)", r.Policy, r.Have, r.Need, r.Unit, r.Stage)
}

// envInt reads a number that makes the simulator run longer: SLUICE_SIM_SEEDS how many plans, SLUICE_SIM_SEED one of them only.
func envInt(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func simulate(seed uint64) (x *sim, err error) {
	p := makePlan(seed)
	x, err = newSim(p)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p)
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, p)
		}
	}()
	if err = x.run(); err != nil {
		return x, fmt.Errorf("%w\n%s", err, p)
	}
	return x, nil
}

// TestSimulator runs thousands of random plans and checks the invariants after every event.
func TestSimulator(t *testing.T) {
	if one := envInt("SLUICE_SIM_SEED", -1); one >= 0 {
		if _, err := simulate(uint64(one)); err != nil {
			t.Fatal(err)
		}
		return
	}
	n := envInt("SLUICE_SIM_SEEDS", 2000)
	if testing.Short() {
		n /= 10
	}
	begin := time.Now()
	totals := make([]simTotals, runtime.GOMAXPROCS(0))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range totals {
		wg.Go(func() { totals[i].run(&next, n) })
	}
	wg.Wait()
	var all simTotals
	for _, o := range totals {
		all.add(o)
	}
	if all.err != nil {
		t.Fatal(all.err)
	}
	t.Logf("%d plans, %d events, %d requests denied (%d for want of memory in that moment, in %d plans), %v",
		n, all.events, all.denied, all.moment, all.plans, time.Since(begin).Round(time.Millisecond))
}

// simTotals adds up what many plans did.
type simTotals struct {
	events, denied, moment, plans int
	seed                          int64 // of err
	err                           error
}

// run takes one seed after the other until one fails or all are done.
func (o *simTotals) run(next *atomic.Int64, n int) {
	for seed := next.Add(1) - 1; seed < int64(n); seed = next.Add(1) - 1 {
		x, err := simulate(uint64(seed))
		if err != nil {
			o.seed, o.err = seed, err
			next.Store(int64(n))
			return
		}
		o.events += x.steps
		o.denied += x.chk.denied
		o.moment += x.chk.deniedLast
		if x.chk.deniedLast > 0 {
			o.plans++
		}
	}
}

// add sums up; of several errors the one of the smallest seed stays.
func (o *simTotals) add(b simTotals) {
	o.events += b.events
	o.denied += b.denied
	o.moment += b.moment
	o.plans += b.plans
	if b.err != nil && (o.err == nil || b.seed < o.seed) {
		o.seed, o.err = b.seed, b.err
	}
}
