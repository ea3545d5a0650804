package executor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
)

// spin computes for a while, so that a profile sees it.
func spin(d time.Duration) (sum int) {
	for begun := time.Now(); time.Since(begun) < d; {
		for i := range 10_000 {
			sum ^= i * sum
		}
	}
	return sum
}

// TestAnalyze runs a plan whose second step takes nearly all of the time, and looks for it in the explanation.
func TestAnalyze(t *testing.T) {
	l := newLocal(t, 64<<20, 2)
	heavy := &step{name: "heavy", process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		spin(40 * time.Millisecond)
		return emit(b.Retain())
	}}
	d := dataset.From(&ints{files: 2, perFile: 1000, perBlock: 100}, l).Via(pass("light")).Via(heavy)
	opts := dataset.Options{}
	opts.Batch.NoCoalesce = true
	p, err := dataset.NewPlan(opts, d.To(nil))
	if err != nil {
		t.Fatal(err)
	}
	e, err := l.Analyze(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	c := e.measured.cpu
	if got := c.Steps[CPUStep{1, "heavy"}]; got < c.Total()/2 || c.Samples < 3 {
		t.Errorf("of %s, heavy took %s: %v", c.Total(), got, c)
	}
	text := e.Text()
	for _, want := range []string{"Logical plan", "Physical plan: 3 stages, 2 CPU slots, memory budget 64 MiB", "  2  light → heavy", "memory: about ", "measured: out 2000 rows in 20 blocks",
		"measured: in 2000 rows", "CPU: ", "Measured\n  read 2000 rows", "bottleneck: light → heavy", "heavy "} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	m := e.Mermaid()
	for _, want := range []string{"flowchart LR\n", "subgraph logical[Logical plan]", "l1 --> l2", "s1 -- \"2000 rows\" --> s2", "light → heavy"} {
		if !strings.Contains(m, want) {
			t.Errorf("the picture lacks %q:\n%s", want, m)
		}
	}
}

func TestOnlyOneProfileAtATime(t *testing.T) {
	p, err := StartCPU()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := StartCPU(); err == nil {
		t.Error("a second profile began")
	}
	if c, err := p.Stop(); err != nil || c.Total() < 0 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestMermaidQuotes(t *testing.T) {
	if got := mermaidText("a \"b\" <c> & #d\n`e`"); got != "a #quot;b#quot; #lt;c#gt; #amp; #35;d #96;e#96;" {
		t.Errorf("got %s", got)
	}
}

// TestSlowBlocksAreTold holds one block of many up and expects to be told of just that one.
func TestSlowBlocksAreTold(t *testing.T) {
	told := make(chan SlowBlock, 100)
	l, err := New(Config{MemoryBytes: 64 << 20, Parallel: 1, TempDir: t.TempDir(), Slow: func(s SlowBlock) { told <- s }})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	step := &step{name: "odd", inst: dataset.One, process: func(_ dataset.Runtime, _ int, b *block.Block, emit dataset.Emit) error {
		if n++; n == 15 {
			spin(2 * slowAtLeast)
		}
		return emit(b.Retain())
	}}
	opts := dataset.Options{}
	opts.Batch.NoCoalesce = true
	if _, err := dataset.From(&ints{files: 1, perFile: 2000, perBlock: 100}, l).Via(step).Count(context.Background(), opts); err != nil {
		t.Fatal(err)
	}
	close(told)
	var all []SlowBlock
	for s := range told {
		if s.Name == "odd" {
			all = append(all, s)
		}
	}
	if len(all) != 1 || all[0].Stage != 1 || all[0].Rows != 100 || all[0].Took < 2*slowAtLeast || all[0].Where == "" || all[0].Median <= 0 {
		t.Errorf("told of %+v", all)
	}
}
