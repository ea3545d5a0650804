package sluice_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/gpu/gputest"
)

// TestCrashWithAModel kills runs with a model stage in the plan, at crash points and at random, on a server in a process of its own: in the end each row is
// there once, with its own answer.
func TestCrashWithAModel(t *testing.T) {
	py := connectortest.Python(t, "tritonclient.grpc", "grpc")
	if py == "" {
		t.SkipNow()
	}
	server := gputest.Serve(t, py)
	defer server.Kill()
	rounds := 1
	if os.Getenv("SLUICE_CHAOS") != "" {
		rounds = 10
	}
	crashWithAModel(t, "triton://"+server.Host()+"/ident_INT64", rounds)
}

// crashWithAModel does that with an identity model, with several requests in flight and answers kept in a cache or not.
func crashWithAModel(t *testing.T, model string, rounds int) {
	in := t.TempDir()
	writeNumbers(t, in, crashFiles, crashRows, false)
	if _, err := binaries(); err != nil { // before the first run is timed
		t.Fatal(err)
	}
	kills := map[string]int{}
	for i, options := range []string{"batch=64", "batch=64 inline=true cache=" + t.TempDir()} {
		plan := crashPlan{name: options, steps: "select n, mod | infer '" + model + "' n -> y:answer " + options, target: "out/"}
		c := &crasher{plan: plan, in: in, kills: kills, random: rand.New(rand.NewPCG(13, uint64(i)))}
		calm := local(t.TempDir())
		begun := time.Now()
		uncached := plan
		uncached.steps, _, _ = strings.Cut(plan.steps, " cache=")
		c.want, _ = uncached.finish(t, calm, in, 2, 64)
		c.span = time.Since(begun)
		for _, line := range c.want {
			var row struct {
				N      int64
				Answer []int64
			}
			_, text, _ := strings.Cut(line, "{")
			if err := json.Unmarshal([]byte("{"+text), &row); err != nil || !slices.Equal(row.Answer, []int64{row.N}) {
				t.Fatalf("row %q has not its own answer: %v", line, err)
			}
		}
		if len(c.want) != crashFiles*crashRows {
			t.Fatalf("the undisturbed run has %d rows, want %d", len(c.want), crashFiles*crashRows)
		}
		for range rounds {
			c.disturb(t, local(t.TempDir()), "", "generation committed", "")
		}
	}
	if kills["at random"] == 0 || kills["generation committed"] == 0 {
		t.Errorf("too few runs were killed: %v", kills)
	}
	t.Logf("kills: %v", kills)
}
