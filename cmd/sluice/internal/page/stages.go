package page

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// stageView is one stage of the table: its numbers, and what it did with its time as parts of a bar.
type stageView struct {
	Name                     string
	RowsIn, RowsOut, In, Out string
	Slots, Working, P50, P99 string
	Peak, Spilled, Failed    string
	Waits                    string // that its tasks waited, in words
	Bar                      []part
}

// part is a stretch of a bar, in percent of the longest.
type part struct {
	Name   string
	Colour template.CSS
	Left   float64
	Width  float64
	Text   string
}

const working = "working"

// stageViews are the stages, and the colours of what they waited for.
func stageViews(r *dataset.Report) (out []stageView, reasons []legend) {
	longest := time.Duration(1)
	seen := map[string]time.Duration{}
	for i := range r.Stages {
		s := &r.Stages[i]
		total := s.Working
		for reason, d := range s.Idle {
			total += d
			seen[reason] += d
		}
		longest = max(longest, total)
	}
	colours := map[string]template.CSS{working: colour(0)}
	reasons = append(reasons, legend{working, colours[working]})
	for n, reason := range slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) }) {
		colours[reason] = colour(n + 1)
		reasons = append(reasons, legend{words(reason), colours[reason]})
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		out = append(out, stageView{Name: s.Name, RowsIn: some(s.RowsIn, number), RowsOut: some(s.RowsOut, number), In: some(s.BytesIn, dataset.Bytes), Out: some(s.BytesOut, dataset.Bytes),
			Slots: short(s.Busy), Working: short(s.Working), P50: short(s.P50), P99: short(s.P99), Peak: some(s.PeakBytes, dataset.Bytes), Spilled: some(s.Spilled, dataset.Bytes),
			Failed: some(s.Failed, number), Waits: waitWords(s.Waits), Bar: bar(s, longest, colours)})
	}
	return out, reasons
}

func bar(s *dataset.StageReport, longest time.Duration, colours map[string]template.CSS) (out []part) {
	left := 0.0
	add := func(reason, name string, d time.Duration) {
		width := 100 * float64(d) / float64(longest)
		if width < 0.05 {
			return
		}
		out = append(out, part{Name: name, Colour: colours[reason], Left: left, Width: width, Text: fmt.Sprintf("%s: %s %s", s.Name, name, short(d))})
		left += width
	}
	add(working, working, s.Working)
	for _, reason := range slices.SortedFunc(maps.Keys(s.Idle), func(a, b string) int { return cmp.Or(cmp.Compare(s.Idle[b], s.Idle[a]), cmp.Compare(a, b)) }) {
		add(reason, words(reason), s.Idle[reason])
	}
	return out
}

// waitWords says what the tasks of a stage waited for, longest first.
func waitWords(waits map[string]time.Duration) string {
	var out []string
	for _, reason := range slices.SortedFunc(maps.Keys(waits), func(a, b string) int { return cmp.Or(cmp.Compare(waits[b], waits[a]), cmp.Compare(a, b)) }) {
		if waits[reason] >= time.Millisecond {
			out = append(out, words(reason)+" "+short(waits[reason]))
		}
	}
	return strings.Join(out, ", ")
}

// words names what is waited for.
func words(policy string) string {
	switch policy {
	case "slot":
		return "a free CPU"
	case "output":
		return "the next stage"
	case "async":
		return "calls"
	case "blocking":
		return "something outside"
	case "upstream ended":
		return "its flush"
	}
	return policy
}

func some(n int64, format func(int64) string) string {
	if n == 0 {
		return ""
	}
	return format(n)
}
