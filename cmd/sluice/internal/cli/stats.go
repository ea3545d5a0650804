package cli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/sluice-data/sluice/dataset"
)

// statsAfter is how long a run on a terminal goes on before its table is worth showing unasked.
const statsAfter = 2 * time.Second

// showsStats says whether the table of stages follows the summary: where it was asked for, and else on a terminal after a while.
func (j *job) showsStats(r *dataset.Report) bool {
	if j.flags.see.given("stats") {
		return j.flags.see.stats
	}
	return r.Wall >= statsAfter && isTerminal(j.Stderr)
}

// statsColumn is a column of the table. Those of the highest drop are left out first where the table is too wide.
type statsColumn struct {
	head string
	drop int
	cell func(*dataset.StageReport) string
}

var statsColumns = []statsColumn{
	{"stage", 0, func(s *dataset.StageReport) string { return s.Name }},
	{"\trows in", 1, func(s *dataset.StageReport) string { return "\t" + some(s.RowsIn, count) }},
	{"\trows out", 0, func(s *dataset.StageReport) string { return "\t" + some(s.RowsOut, count) }},
	{"\tin", 8, func(s *dataset.StageReport) string { return "\t" + some(s.BytesIn, size) }},
	{"\tout", 7, func(s *dataset.StageReport) string { return "\t" + some(s.BytesOut, size) }},
	{"\tCPU", 0, func(s *dataset.StageReport) string { return "\t" + elapsed(s.Busy) }},
	{"\twall", 6, func(s *dataset.StageReport) string { return "\t" + elapsed(s.Working) }},
	{"\tp50", 3, func(s *dataset.StageReport) string { return "\t" + brief(s.P50) }},
	{"\tp99", 3, func(s *dataset.StageReport) string { return "\t" + brief(s.P99) }},
	{"\tmemory", 4, func(s *dataset.StageReport) string { return "\t" + some(s.PeakBytes, memorySize) }},
	{"\tallocated", 9, func(s *dataset.StageReport) string { return "\t" + some(s.Allocated, memorySize) }},
	{"\tspilled", 2, func(s *dataset.StageReport) string { return "\t" + some(s.Spilled, size) }},
	{"\terrors", 1, func(s *dataset.StageReport) string { return "\t" + some(s.Failed, count) }},
	{"waited for", 5, waits},
}

// statsText is the table of stages, not wider than width; columns in which nothing is to be seen are left out.
func statsText(r *dataset.Report, width int) string {
	if len(r.Stages) == 0 {
		return ""
	}
	columns := slices.DeleteFunc(slices.Clone(statsColumns), func(c statsColumn) bool {
		return !slices.ContainsFunc(r.Stages, func(s dataset.StageReport) bool { return strings.TrimPrefix(c.cell(&s), "\t") != "" })
	})
	for {
		lines := grid(statsCells(r, columns), 1<<20)
		wide := 0
		for _, l := range lines {
			wide = max(wide, runewidth.StringWidth(l))
		}
		worst := slices.MaxFunc(columns, func(a, b statsColumn) int { return cmp.Compare(a.drop, b.drop) })
		if wide > width && worst.drop > 0 {
			columns = slices.DeleteFunc(columns, func(c statsColumn) bool { return c.drop == worst.drop })
			continue
		}
		for i := range lines {
			lines[i] = cut(lines[i], width)
		}
		return strings.Join(lines, "\n") + "\n"
	}
}

func statsCells(r *dataset.Report, columns []statsColumn) [][]string {
	table := make([][]string, len(r.Stages)+1)
	for _, c := range columns {
		table[0] = append(table[0], c.head)
		for i := range r.Stages {
			table[i+1] = append(table[i+1], c.cell(&r.Stages[i]))
		}
	}
	return table
}

// some is empty for nothing.
func some(n int64, format func(int64) string) string {
	if n == 0 {
		return ""
	}
	return format(n)
}

// brief writes a short duration with three digits at most: 85 µs, 4.2 ms, 1.3 s.
func brief(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return elapsed(d)
}

// waits are the two reasons for which a stage stood still longest, with their share of the time until it ended.
func waits(s *dataset.StageReport) string {
	total := s.Working
	for _, d := range s.Idle {
		total += d
	}
	names := slices.SortedFunc(maps.Keys(s.Idle), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Idle[b], s.Idle[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, n := range names {
		if percent := 100 * s.Idle[n] / max(total, 1); percent >= 1 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%s %d %%", waitWords(n), percent))
		}
	}
	return strings.Join(parts, ", ")
}

// waitWords names what is waited for in a word or two.
func waitWords(policy string) string {
	switch policy {
	case "slot":
		return "CPU"
	case "output":
		return "next stage"
	case "async":
		return "calls"
	case "blocking":
		return "outside"
	case "upstream ended":
		return "flush"
	}
	return policy
}
