package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// Sizes of a chart in its own units, and of the room for words beside it.
const (
	chartWidth, chartHeight = 720.0, 190.0
	marginLeft, marginRight = 72.0, 12.0
	marginTop, marginBottom = 10.0, 24.0
	lastColour              = 9 // the colours are --c0 to --c9
	maxSeries               = 6
	plotWidth               = chartWidth - marginLeft - marginRight
	plotHeight              = chartHeight - marginTop - marginBottom
	leastSamples            = 3
	gridLines               = 4
)

// chart is a picture of something over time.
type chart struct {
	Title  string
	Note   string
	Lines  []line
	Grid   []tick // at heights
	Times  []tick // at widths
	Limit  *tick  // a line that values stay below
	Width  float64
	Height float64
	Left   float64
	Right  float64
	Bottom float64
}

type line struct {
	Name, Points, Last string
	Colour             template.CSS
}

type tick struct {
	At   float64
	Text string
}

// charts are those of the run; none if it was too short to look at.
func (d *Data) charts() []chart {
	if len(d.Samples) < leastSamples {
		return nil
	}
	rates := []series{
		{name: "read", of: d.rate(func(s *Sample) int64 { return s.Read })},
		{name: "written", of: d.rate(func(s *Sample) int64 { return s.Written })},
	}
	memory := append([]series{{name: "all", of: d.value(func(s *Sample) int64 { return s.Used })}}, d.heldBy()...)
	out := []chart{d.draw("Rows a second", rates, 0, whole, nice)}
	out = append(out, d.draw("Memory of the budget", memory, d.Report.BudgetBytes, func(v float64) string { return dataset.Bytes(int64(v)) }, niceBytes))
	if by := d.stageRates(); len(by) > 0 {
		out = append(out, d.draw("Rows out a second, by stage", by, 0, whole, nice))
	}
	return out
}

// series is a value at each sample.
type series struct {
	name string
	of   []float64
}

func (d *Data) value(of func(*Sample) int64) []float64 {
	out := make([]float64, len(d.Samples))
	for i := range d.Samples {
		out[i] = float64(of(&d.Samples[i]))
	}
	return out
}

// rate is the growth a second from one sample to the next; the first is that since the run began.
func (d *Data) rate(of func(*Sample) int64) []float64 {
	out := make([]float64, len(d.Samples))
	at, was := time.Duration(0), int64(0)
	for i := range d.Samples {
		s := &d.Samples[i]
		if seconds := (s.At - at).Seconds(); seconds > 0 {
			out[i] = max(0, float64(of(s)-was)/seconds)
		}
		at, was = s.At, of(s)
	}
	return out
}

// heldBy are the stages that held most memory.
func (d *Data) heldBy() []series {
	return d.byStage(func(s *Sample) []int64 { return s.Held }, d.value)
}

// stageRates are the stages that gave most rows.
func (d *Data) stageRates() []series {
	return d.byStage(func(s *Sample) []int64 { return s.StageOut }, d.rate)
}

func (d *Data) byStage(of func(*Sample) []int64, over func(func(*Sample) int64) []float64) (out []series) {
	for i := range d.Report.Stages {
		values := over(func(s *Sample) int64 {
			if v := of(s); i < len(v) {
				return v[i]
			}
			return 0
		})
		if slices.Max(values) > 0 {
			out = append(out, series{d.Report.Stages[i].Name, values})
		}
	}
	slices.SortStableFunc(out, func(a, b series) int { return cmp.Compare(slices.Max(b.of), slices.Max(a.of)) })
	return out[:min(len(out), maxSeries-1)]
}

// draw makes a chart; limit is a value that lines cannot exceed, drawn if it is near enough.
func (d *Data) draw(title string, all []series, limit int64, format func(float64) string, top func(float64) float64) chart {
	c := chart{Title: title, Width: chartWidth, Height: chartHeight, Left: marginLeft, Right: chartWidth - marginRight, Bottom: marginTop + plotHeight}
	highest := 0.0
	for _, s := range all {
		highest = max(highest, slices.Max(s.of))
	}
	if limit > 0 && float64(limit) < 3*highest {
		highest = float64(limit)
	} else if limit > 0 {
		c.Note = "of " + format(float64(limit))
	}
	end := top(highest)
	long := max(d.Samples[len(d.Samples)-1].At, 1)
	height := func(v float64) float64 { return marginTop + plotHeight*(1-v/end) }
	for i, s := range all {
		var points strings.Builder
		for j, v := range s.of {
			fmt.Fprintf(&points, "%.1f,%.1f ", marginLeft+plotWidth*float64(d.Samples[j].At)/float64(long), height(min(v, end)))
		}
		c.Lines = append(c.Lines, line{Name: s.name, Colour: colour(i), Points: strings.TrimSpace(points.String()), Last: "at most " + format(slices.Max(s.of))})
	}
	for i := range gridLines + 1 {
		v := end * float64(i) / gridLines
		c.Grid = append(c.Grid, tick{height(v), format(v)})
		c.Times = append(c.Times, tick{marginLeft + plotWidth*float64(i)/gridLines, short(long * time.Duration(i) / gridLines)})
	}
	if limit > 0 && float64(limit) <= end {
		c.Limit = &tick{height(float64(limit)), "budget"}
	}
	return c
}

// whole writes a number of rows a second; small ones with a digit behind the point, so that a scale of them has different ticks.
func whole(v float64) string {
	if v < 10 && v != math.Trunc(v) {
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return number(int64(math.Round(v)))
}

// niceBytes is nice in powers of 1024.
func niceBytes(v float64) float64 {
	unit := 1.0
	for v >= 1024*unit {
		unit *= 1024
	}
	return nice(v/unit) * unit
}

// colour is the colour of series i; the style of the page says what it looks like.
func colour(i int) template.CSS {
	return template.CSS(fmt.Sprintf("var(--c%d)", min(i, lastColour))) //nolint:gosec // a number
}

// nice is the next number from v on that divides into round steps.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 4, 6, 8, 10} {
		if v <= m*power {
			return m * power
		}
	}
	return 10 * power
}
