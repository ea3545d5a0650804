package sched

import (
	"fmt"
	"os"
	"strconv"
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
	n := envInt("SLUICE_SIM_SEEDS", 3000)
	if testing.Short() {
		n /= 10
	}
	if n > 20 {
		t.Parallel()
	}
	begin, steps, denied := time.Now(), 0, 0
	last, plans := 0, 0
	for seed := range n {
		x, err := simulate(uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		steps += x.steps
		denied += x.chk.denied
		last += x.chk.deniedLast
		if x.chk.deniedLast > 0 {
			plans++
		}
	}
	t.Logf("%d plans, %d events, %d denials (%d for want of memory in that moment, in %d plans) in %v", n, steps, denied, last, plans, time.Since(begin).Round(time.Millisecond))
}
