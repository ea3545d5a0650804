package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/sluice-data/sluice/dataset"
)

// writePicture draws a run for a terminal. begun is false before there is a run.
func writePicture(w io.Writer, r dataset.Report, begun bool, since time.Duration, width, height int) error {
	lines := []string{elapsed(since) + " · starting"}
	if begun {
		lines = picture(&r, width, height)
	}
	if os.Getenv("NO_COLOR") == "" {
		for i, l := range lines {
			if strings.Contains(l, bottleneckWords) {
				lines[i] = "\x1b[1m" + l + "\x1b[0m"
			}
		}
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n"))
	return err
}

const bottleneckWords = " is the bottleneck"

// picture is the run in lines that are shorter than the terminal is wide, and fewer than it is high: totals, a line a stage, and what limits
// the run.
func picture(r *dataset.Report, width, height int) []string {
	width = max(width-1, leastWidth) // the last column makes some terminals wrap
	head := fill(totals(r), " · ", width)
	var tail []string
	if t := bottleneckText(r); t != "" {
		tail = fold(t, width)
	}
	room := max(height-1-len(head)-len(tail), 1)
	lines := slices.Concat(head, stageLines(r, width, room), tail)
	for i, l := range lines {
		lines[i] = cut(l, width)
	}
	return lines[:min(len(lines), max(height-1, 1))]
}

// totals are the numbers of the whole run, the most important first.
func totals(r *dataset.Report) []string {
	parts := []string{elapsed(r.Wall)}
	read := "read " + rows(r.RowsRead)
	if r.BytesRead > 0 {
		read += " (" + size(r.BytesRead) + ")"
	}
	parts = append(parts, read, "wrote "+rows(r.RowsWritten))
	if r.RowsFailed > 0 {
		parts = append(parts, plural(r.RowsFailed, "failed row"))
	}
	if t := leftText(r); t != "" {
		parts = append(parts, t)
	}
	if r.BudgetBytes > 0 {
		parts = append(parts, fmt.Sprintf("memory %s of %s", memorySize(r.UsedBytes), memorySize(r.BudgetBytes)))
	}
	if r.SpilledBytes > 0 {
		parts = append(parts, "spilled "+size(r.SpilledBytes))
	}
	switch r.State {
	case dataset.RunDraining:
		parts = append(parts, "finishing what was read")
	case dataset.RunPublishing:
		parts = append(parts, "publishing the result")
	}
	return parts
}

// leftText is how much of the input is read, and how long the rest will take.
func leftText(r *dataset.Report) string {
	in := &r.Input
	switch {
	case in.ListedBytes == 0 || r.State != dataset.RunRunning:
		return ""
	case !in.Listed:
		return "still listing files"
	case in.ReadBytes >= in.ListedBytes:
		return "input read"
	}
	t := fmt.Sprintf("%d %% of input", 100*in.ReadBytes/in.ListedBytes)
	if in.Left >= 0 {
		t += ", " + coarse(in.Left) + " left"
	}
	return t
}

// coarse writes a time that is only estimated: 8 s, 3m20s, 2h5m.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// bottleneckText names what limits the run, and a stage that waits because of it.
func bottleneckText(r *dataset.Report) string {
	b := &r.Bottleneck
	if b.Stage == "" || b.Index < 0 || b.Index >= len(r.Stages) || r.State == dataset.RunPublishing || r.State == dataset.RunEnded {
		return ""
	}
	st := &r.Stages[b.Index]
	text := b.Stage + bottleneckWords + ": " + b.Why
	if rate := max(st.In.Rows, st.Out.Rows); rate > 0 {
		text += ", " + short(rate) + " rows/s"
	}
	for i := b.Index + 1; i < len(r.Stages); i++ {
		if s := &r.Stages[i]; s.State != "ended" && s.Running == 0 && s.Why.Policy == "input" {
			return text + "; " + s.Name + " " + s.Why.String()
		}
	}
	return text
}

// stageLines is a line a stage, as much of each as fits. With more stages than room those that did most are shown.
func stageLines(r *dataset.Report, width, room int) []string {
	show := make([]int, len(r.Stages))
	for i := range show {
		show[i] = i
	}
	hidden := 0
	if len(show) > room {
		hidden = len(show) - max(room-1, 0)
		slices.SortStableFunc(show, func(a, b int) int { return int(rank(&r.Stages[b]) - rank(&r.Stages[a])) })
		show = show[:len(show)-hidden]
		slices.Sort(show)
	}
	table := make([][]string, len(show))
	for i, n := range show {
		table[i] = stageCells(&r.Stages[n], width)
	}
	lines := grid(table, width)
	if hidden > 0 {
		lines = append(lines, fmt.Sprintf("… and %s", plural(int64(hidden), "more stage")))
	}
	return lines
}

func rank(s *dataset.StageReport) time.Duration {
	if s.State == "ended" {
		return 0
	}
	return s.Busy + 1
}

// stageCells are the cells of a stage's line. Cells that begin with a tab are aligned to the right.
func stageCells(s *dataset.StageReport, width int) []string {
	name, failed, queued, rate, volume, workers := cut(s.Name, max(width/3, 12)), "", "", "", "", ""
	live := s.State != "ended"
	if live {
		rate, workers = rateText(s), fmt.Sprintf("%d/%d", s.Running, s.Allowed)
		if v := max(s.In.Bytes, s.Out.Bytes); v > 0 {
			volume = size(int64(v)) + "/s"
		}
	}
	if live && s.QueuedBytes > 0 {
		queued = memorySize(s.QueuedBytes)
	}
	if s.Failed > 0 {
		failed = plural(s.Failed, "error")
	}
	switch {
	case width < narrow && !live:
		return []string{name, "\tdone", "", "", failedShort(s)}
	case width < narrow:
		return []string{name, "\t" + short(max(s.In.Rows, s.Out.Rows)) + "/s", "\t" + workers, "\t" + queued, failedShort(s)}
	case width < wide:
		return []string{name, "\t" + rate, "\t" + queued, "\t" + workers, failedShort(s), doing(s)}
	}
	if queued != "" {
		queued += " queued"
	}
	if workers != "" {
		workers += " workers"
	}
	return []string{name, "\t" + rate, "\t" + volume, "\t" + queued, "\t" + workers, failed, doing(s)}
}

// Below narrow columns a stage's line has the essentials only, from wide on everything.
const (
	narrow = 50
	wide   = 80
)

func failedShort(s *dataset.StageReport) string {
	if s.Failed == 0 {
		return ""
	}
	return short(float64(s.Failed)) + "!"
}

// rateText is rows in and out: sources take none in, sinks give none.
func rateText(s *dataset.StageReport) string {
	in, out := short(s.In.Rows), short(s.Out.Rows)
	switch {
	case strings.HasPrefix(s.Name, "read "):
		return "→ " + out + "/s"
	case strings.HasPrefix(s.Name, "write ") || s.Name == "hand over":
		return in + "/s →"
	}
	return in + " → " + out + "/s"
}

// doing is what a stage that does not compute waits for, without the numbers.
func doing(s *dataset.StageReport) string {
	switch {
	case s.State == "ended":
		return "done, " + rows(max(s.RowsIn, s.RowsOut))
	case s.Running > 0:
		return ""
	}
	text := s.Why.String()
	if i := strings.IndexAny(text, ",;:"); i > 0 {
		text = text[:i]
	}
	return text
}

// grid lines the cells up; what does not fit is cut off at the end.
func grid(table [][]string, width int) []string {
	var widths []int
	for _, cells := range table {
		for i, c := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(strings.TrimPrefix(c, "\t")))
		}
	}
	lines := make([]string, len(table))
	for n, cells := range table {
		var b strings.Builder
		for i, c := range cells {
			if widths[i] == 0 {
				continue
			}
			if i > 0 {
				b.WriteString("  ")
			}
			text, right := strings.CutPrefix(c, "\t")
			pad := strings.Repeat(" ", widths[i]-runewidth.StringWidth(text))
			if right {
				b.WriteString(pad + text)
			} else {
				b.WriteString(text + pad)
			}
		}
		lines[n] = cut(strings.TrimRight(b.String(), " "), width)
	}
	return lines
}

// fill joins parts to lines that are not wider than width.
func fill(parts []string, sep string, width int) (lines []string) {
	line := ""
	for _, p := range parts {
		switch {
		case line == "":
			line = p
		case runewidth.StringWidth(line+sep+p) <= width:
			line += sep + p
		default:
			lines, line = append(lines, line), p
		}
	}
	return append(lines, line)
}

// fold breaks a line between words.
func fold(s string, width int) []string { return fill(strings.Fields(s), " ", width) }

// cut shortens a text to a width.
func cut(s string, width int) string { return runewidth.Truncate(s, max(width, 1), "…") }

// short writes a number in at most four characters: 950, 1.2k, 34k, 5.6M.
func short(v float64) string {
	u := ""
	for _, next := range []string{"k", "M", "G", "T"} {
		if v < 999.5 {
			break
		}
		v, u = v/1000, next
	}
	if v < 9.95 && (u != "" || v > 0 && v != float64(int64(v))) {
		return strconv.FormatFloat(v, 'f', 1, 64) + u
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + u
}
