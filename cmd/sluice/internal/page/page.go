package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

//go:embed page.html
var source string

// parsed is made when a page is written; most runs write none.
var parsed = sync.OnceValues(func() (*template.Template, error) { return template.New("page").Parse(source) })

// Sample is a look at the run.
type Sample struct {
	At              time.Duration
	Read, Written   int64 // rows so far
	Used            int64 // bytes of memory
	Spilled         int64
	Slots, InUse    int
	StageOut, Held  []int64 // by stage: rows so far, bytes of memory
	State, Limiting string
}

// Data is what a page shows.
type Data struct {
	Command, Version string
	Began            time.Time
	Plan             string // as explain prints it
	Report           dataset.Report
	Samples          []Sample
	Failed           string // the error of the run; "" if it ended well
	Folder           string // that relative paths of examples begin at
}

// Write writes the page.
func Write(w io.Writer, d *Data) error {
	t, err := parsed()
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := t.Execute(w, d.view()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// view is the page in words and pictures.
type view struct {
	*Data
	Title    string
	State    string
	Bad      bool
	Facts    []fact
	Charts   []chart
	Stages   []stageView
	Reasons  []legend
	Failures []failureView
	Results  []string
}

type fact struct{ Name, Value string }

// legend is a colour and what it stands for.
type legend struct {
	Name   string
	Colour template.CSS
}

func (d *Data) view() *view {
	r := &d.Report
	v := &view{Data: d, Title: "Sluice: " + d.Command, State: "done"}
	switch {
	case d.Failed != "":
		v.State, v.Bad = "failed", true
	case r.Complete:
		v.State = "already complete: nothing had to run"
	case r.RowsFailed > 0:
		v.State = fmt.Sprintf("done, %s failed", rows(r.RowsFailed))
	}
	v.Facts = []fact{{"read", rows(r.RowsRead) + ", " + dataset.Bytes(r.BytesRead)}, {"wrote", written(r)}, {"took", short(r.Wall)},
		{"memory peak", fmt.Sprintf("%s of %s", dataset.Bytes(r.PeakBytes), dataset.Bytes(r.BudgetBytes))}}
	if r.SpilledBytes > 0 {
		v.Facts = append(v.Facts, fact{"spilled to disk", dataset.Bytes(r.SpilledBytes)})
	}
	if r.RowsFailed > 0 {
		v.Facts = append(v.Facts, fact{"failed", rows(r.RowsFailed)})
	}
	if b := r.Bottleneck; b.Stage != "" {
		v.Facts = append(v.Facts, fact{"bottleneck", b.Stage + ": " + b.Why})
	}
	for _, t := range r.Targets {
		files := fmt.Sprintf("%d files", t.Parts)
		if t.Parts == 1 {
			files = "1 file"
		}
		v.Results = append(v.Results, fmt.Sprintf("%s: %s in %s, %s", t.Locator, rows(t.Rows), files, dataset.Bytes(t.Bytes)))
	}
	v.Charts = d.charts()
	v.Stages, v.Reasons = stageViews(r)
	v.Failures = d.failureViews()
	return v
}

func written(r *dataset.Report) string {
	if r.BytesWritten > 0 {
		return rows(r.RowsWritten) + ", " + dataset.Bytes(r.BytesWritten)
	}
	return rows(r.RowsWritten)
}

func rows(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return number(n) + " rows"
}

// number writes a whole number with commas between thousands.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes a duration with three digits or so.
func short(d time.Duration) string {
	for _, unit := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			step := unit / 100
			if d >= 10*unit {
				step = unit / 10
			}
			return d.Round(step).String()
		}
	}
	return d.String()
}
