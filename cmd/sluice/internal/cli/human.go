package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

// count writes a whole number with commas between thousands: 1,234,567.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// rows writes a number of rows: 1 row, 5 rows.
func rows(n int64) string { return plural(n, "row") }

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// size writes bytes in powers of 1000: 950 B, 12 kB, 3.4 MB.
func size(n int64) string { return scaled(n, 1000, "B", "kB", "MB", "GB", "TB", "PB") }

// memorySize writes bytes in powers of 1024: 12 KiB, 3.4 GiB.
func memorySize(n int64) string { return scaled(n, 1024, "B", "KiB", "MiB", "GiB", "TiB", "PiB") }

func scaled(n int64, base float64, units ...string) string {
	v, u := float64(n), 0
	for u < len(units)-1 && v >= base-0.5 {
		v /= base
		u++
	}
	if u > 0 && v < 9.95 {
		return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[u]
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " " + units[u]
}

// elapsed writes a duration for people: 340 ms, 4.2 s, 3m20s.
func elapsed(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// aligned writes lines of cells as columns two spaces apart; the last cell of a line may be long.
func aligned(lines [][]string, indent string) string {
	var widths []int
	for _, l := range lines {
		for i, c := range l[:max(0, len(l)-1)] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(c))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		line := indent
		for i, c := range l {
			line += c
			if i < len(l)-1 {
				line += strings.Repeat(" ", widths[i]-runewidth.StringWidth(c)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// helpWidth is how wide paragraphs of help are.
const helpWidth = 100

// wrap breaks the lines of a text that are longer than width between words; lines that start with a space stay.
func wrap(s string, width int) string {
	var out []string
	for _, line := range strings.Split(s, "\n") {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			out = append(out, line)
			continue
		}
		cur := ""
		for _, w := range strings.Fields(line) {
			if cur != "" && runewidth.StringWidth(cur)+1+runewidth.StringWidth(w) > width {
				out, cur = append(out, cur), ""
			}
			if cur != "" {
				cur += " "
			}
			cur += w
		}
		out = append(out, cur)
	}
	return strings.Join(out, "\n")
}
