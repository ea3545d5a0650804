package metrics

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sluice-data/sluice/dataset"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// full is a report with something in every metric.
func full() dataset.Report {
	r := dataset.Report{RowsRead: 10, RowsWritten: 7, RowsFailed: 2, BytesRead: 1000, Wall: 3 * time.Second, PeakBytes: 900, BudgetBytes: 4096, SpilledBytes: 5,
		Failures: []dataset.Failure{{Op: "decode", Class: "truncated", Count: 2}}, Warnings: []dataset.Warning{{Class: "odd exif", Count: 3}},
		Progress: dataset.Progress{State: dataset.RunRunning, UsedBytes: 800, Slots: 2, SlotsBusy: 1, Quiet: time.Second,
			Input:      dataset.InputProgress{ListedBytes: 500, ReadBytes: 250, Listed: true, Left: 3 * time.Second},
			Bottleneck: dataset.Bottleneck{Stage: "decode", Index: 1, Why: "busy"}}}
	for _, name := range []string{"read images", "decode", `odd "name" \ → x`} {
		r.Stages = append(r.Stages, dataset.StageReport{Name: name, RowsIn: 9, RowsOut: 8, BlocksIn: 3, BlocksOut: 2, BytesIn: 90, BytesOut: 80, Busy: time.Second, Failed: 1,
			Waits: map[string]time.Duration{"memory": time.Second}, Flow: dataset.Flow{State: "open", QueuedBlocks: 1, QueuedBytes: 30, Running: 1, Allowed: 2, HeldBytes: 40, PeakBytes: 50,
				Working: time.Second, Idle: map[string]time.Duration{"input": time.Second}, P50: time.Millisecond, P99: 2 * time.Millisecond}})
	}
	return r
}

func gather(t *testing.T, c *Collector) *prometheus.Registry {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	return reg
}

// TestNamesArePinned: dashboards and alerts of users break when a name, a type or a label changes.
func TestNamesArePinned(t *testing.T) {
	r := full()
	families, err := gather(t, NewCollector("v1", "a | b", func() (dataset.Report, bool) { return r, true })).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		fmt.Fprintf(&b, "%s %s {%s}\n", strings.ToLower(f.GetType().String()), f.GetName(), strings.Join(labels, ","))
	}
	if len(families) != len(all) {
		t.Errorf("%d of %d metrics were seen", len(families), len(all))
	}
	const name = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || b.String() != string(want) {
		t.Errorf("%v; metrics are\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestMetricsAreSound(t *testing.T) {
	r := full()
	reg := gather(t, NewCollector("v1", "a | b", func() (dataset.Report, bool) { return r, true }))
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	want := "# HELP sluice_rows_failed_total Rows that failed.\n# TYPE sluice_rows_failed_total counter\nsluice_rows_failed_total 2\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "sluice_rows_failed_total"); err != nil {
		t.Error(err)
	}
	families, err := gather(t, NewCollector("v1", "a | b", func() (dataset.Report, bool) { return dataset.Report{}, false })).Gather()
	if err != nil || len(families) != 1 {
		t.Errorf("before the run: %d metrics, %v", len(families), err)
	}
}

// TestClassesAreBounded: messages that become classes must not make series without end, and what counts once as a class goes on doing so.
func TestClassesAreBounded(t *testing.T) {
	r := full()
	for i := range 5 * maxClasses {
		r.Failures = append(r.Failures, dataset.Failure{Op: "decode", Class: fmt.Sprintf("class %d", i), Count: int64(i + 1)})
	}
	c := NewCollector("v1", "a | b", func() (dataset.Report, bool) { return r, true })
	reg := gather(t, c)
	first := testutil.CollectAndCount(c, "sluice_failures_total")
	slices.Reverse(r.Failures) // the most frequent come first; that order changes
	if _, err := reg.Gather(); err != nil {
		t.Fatal(err)
	}
	if again := testutil.CollectAndCount(c, "sluice_failures_total"); first != again || first > 2*maxClasses+1 || first < maxClasses {
		t.Errorf("%d series, then %d", first, again)
	}
}

// TestBoardUsesWhatThereIs checks every query of the Grafana board against the names and labels that there are.
func TestBoardUsesWhatThereIs(t *testing.T) {
	raw, err := os.ReadFile("../../deploy/grafana/sluice.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &board); err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, d := range all {
		m := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`).FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s is not understood", d)
		}
		known[m[1]] = m[2] + ",quantile,job,instance"
	}
	queries, used := 0, map[string]bool{}
	for _, p := range board.Panels {
		for _, q := range p.Targets {
			queries++
			for _, name := range regexp.MustCompile(`sluice_[a-z_]+`).FindAllString(q.Expr, -1) {
				base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
				if known[base] == "" && known[name] == "" {
					t.Errorf("panel %q asks for %s, which is no metric", p.Title, name)
				}
				used[base] = true
			}
			for _, by := range regexp.MustCompile(`by \(([^)]*)\)`).FindAllStringSubmatch(q.Expr, -1) {
				for _, label := range strings.Split(by[1], ",") {
					if label = strings.TrimSpace(label); !strings.Contains(","+strings.Join(slices.Collect(values(known)), ",")+",", ","+label+",") {
						t.Errorf("panel %q groups by %s, which is no label", p.Title, label)
					}
				}
			}
		}
	}
	if queries < 12 || len(used) < 15 {
		t.Errorf("%d queries of %d metrics were found: the search is broken", queries, len(used))
	}
}

func values(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}
