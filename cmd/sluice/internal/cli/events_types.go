package cli

import (
	"math"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// event is one line of the stream: the header, and the member that is named like its type.
type event struct {
	V       int     `json:"v"`
	Seq     int64   `json:"seq"`
	Type    string  `json:"type"`
	Time    string  `json:"time"`
	Elapsed float64 `json:"elapsed_s"`

	Started   *startedEvent   `json:"started,omitempty"`
	Progress  *progressEvent  `json:"progress,omitempty"`
	Stage     *stageEvent     `json:"stage,omitempty"`
	Warning   *warningEvent   `json:"warning,omitempty"`
	RowError  *rowErrorEvent  `json:"row-error,omitempty"`
	Committed *committedEvent `json:"committed,omitempty"`
	Finished  *finishedEvent  `json:"finished,omitempty"`
}

type startedEvent struct {
	Command     string `json:"command"`
	Version     string `json:"version"`
	PID         int    `json:"pid"`
	BudgetBytes int64  `json:"budget_bytes"`
}

type progressEvent struct {
	State        string          `json:"state"`
	RowsRead     int64           `json:"rows_read"`
	RowsWritten  int64           `json:"rows_written"`
	RowsFailed   int64           `json:"rows_failed"`
	BytesRead    int64           `json:"bytes_read"`
	MemoryBytes  int64           `json:"memory_bytes"`
	PeakBytes    int64           `json:"peak_bytes"`
	BudgetBytes  int64           `json:"budget_bytes"`
	SpilledBytes int64           `json:"spilled_bytes"`
	Slots        int             `json:"slots"`
	SlotsBusy    int             `json:"slots_busy"`
	InputListed  int64           `json:"input_listed_bytes"`
	InputRead    int64           `json:"input_read_bytes"`
	Listed       bool            `json:"input_listed"`
	Left         *float64        `json:"left_s"` // null when it cannot be said
	Quiet        float64         `json:"quiet_s"`
	Bottleneck   *bottleneckInfo `json:"bottleneck"` // null while nothing was measured
	Stages       []stageEvent    `json:"stages"`
}

type bottleneckInfo struct {
	Index int    `json:"index"`
	Stage string `json:"stage"`
	Why   string `json:"why"`
}

type stageEvent struct {
	Index        int                `json:"index"`
	Name         string             `json:"name"`
	State        string             `json:"state"`
	RowsIn       int64              `json:"rows_in"`
	RowsOut      int64              `json:"rows_out"`
	BytesIn      int64              `json:"bytes_in"`
	BytesOut     int64              `json:"bytes_out"`
	RowsInRate   float64            `json:"rows_in_per_s"`
	RowsOutRate  float64            `json:"rows_out_per_s"`
	Failed       int64              `json:"failed"`
	QueuedBlocks int64              `json:"queued_blocks"`
	QueuedBytes  int64              `json:"queued_bytes"`
	Running      int                `json:"running"`
	Allowed      int                `json:"allowed"`
	InFlight     int                `json:"in_flight"`
	MemoryBytes  int64              `json:"memory_bytes"`
	PeakBytes    int64              `json:"peak_bytes"`
	SpilledBytes int64              `json:"spilled_bytes"`
	Allocated    int64              `json:"allocated_bytes"`
	Busy         float64            `json:"busy_s"`
	Working      float64            `json:"working_s"`
	P50          float64            `json:"p50_s"`
	P99          float64            `json:"p99_s"`
	Idle         map[string]float64 `json:"idle_s"`
	Waits        map[string]float64 `json:"waits_s"`
	Why          *whyInfo           `json:"why"` // null for a stage that has ended
}

type whyInfo struct {
	Policy string `json:"policy"`
	Stage  string `json:"stage,omitempty"`
	Have   int64  `json:"have"`
	Need   int64  `json:"need"`
	Unit   string `json:"unit,omitempty"`
	Text   string `json:"text"`
}

type warningEvent struct {
	Class   string `json:"class"`
	Message string `json:"message"`
	Count   int64  `json:"count"` // of the class so far
}

type rowErrorEvent struct {
	Op    string `json:"operator"`
	Class string `json:"class"`
	Where string `json:"where"`
	Cause string `json:"cause"`
	Count int64  `json:"count"` // of the class so far
}

type committedEvent struct {
	Target  string   `json:"target"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	Parts   int      `json:"parts"`
	Files   []string `json:"files,omitempty"`
	Already bool     `json:"already"` // it was complete before this run
}

type finishedEvent struct {
	Status       string       `json:"status"` // "ok", "failed", "usage", "dead-letters", "interrupted"
	ExitCode     int          `json:"exit_code"`
	Error        string       `json:"error,omitempty"`
	Run          string       `json:"run,omitempty"`
	RowsRead     int64        `json:"rows_read"`
	RowsWritten  int64        `json:"rows_written"`
	RowsFailed   int64        `json:"rows_failed"`
	BytesRead    int64        `json:"bytes_read"`
	BytesWritten int64        `json:"bytes_written"`
	PeakBytes    int64        `json:"peak_bytes"`
	SpilledBytes int64        `json:"spilled_bytes"`
	Wall         float64      `json:"wall_s"`
	Failures     []classCount `json:"failures"`
	Warnings     []classCount `json:"warnings"`
	Notes        []string     `json:"notes"`
}

type classCount struct {
	Op    string `json:"operator,omitempty"`
	Class string `json:"class"`
	Count int64  `json:"count"`
}

func progressOf(r *dataset.Report) *progressEvent {
	p := &progressEvent{State: r.State, RowsRead: r.RowsRead, RowsWritten: r.RowsWritten, RowsFailed: r.RowsFailed, BytesRead: r.BytesRead,
		MemoryBytes: r.UsedBytes, PeakBytes: r.PeakBytes, BudgetBytes: r.BudgetBytes, SpilledBytes: r.SpilledBytes,
		Slots: r.Slots, SlotsBusy: r.SlotsBusy, InputListed: r.Input.ListedBytes, InputRead: r.Input.ReadBytes, Listed: r.Input.Listed,
		Quiet: seconds(r.Quiet), Stages: make([]stageEvent, len(r.Stages))}
	if p.State == "" { // nothing had to be run
		p.State = dataset.RunEnded
	}
	if r.Input.Left >= 0 && r.Input.Listed {
		left := seconds(r.Input.Left)
		p.Left = &left
	}
	if b := r.Bottleneck; b.Stage != "" {
		p.Bottleneck = &bottleneckInfo{b.Index, b.Stage, b.Why}
	}
	for i := range r.Stages {
		p.Stages[i] = *stageOf(i, &r.Stages[i])
	}
	return p
}

func stageOf(i int, s *dataset.StageReport) *stageEvent {
	e := &stageEvent{Index: i, Name: s.Name, State: s.State, RowsIn: s.RowsIn, RowsOut: s.RowsOut, BytesIn: s.BytesIn, BytesOut: s.BytesOut,
		RowsInRate: round(s.In.Rows), RowsOutRate: round(s.Out.Rows), Failed: s.Failed, QueuedBlocks: s.QueuedBlocks, QueuedBytes: s.QueuedBytes,
		Running: s.Running, Allowed: s.Allowed, InFlight: s.InFlight, MemoryBytes: max(s.HeldBytes, 0), PeakBytes: s.PeakBytes, SpilledBytes: s.Spilled, Allocated: s.Allocated,
		Busy: seconds(s.Busy), Working: seconds(s.Working), P50: s.P50.Seconds(), P99: s.P99.Seconds(),
		Idle: secondsOf(s.Idle), Waits: secondsOf(s.Waits)}
	if s.Why.Policy != "" {
		e.Why = &whyInfo{s.Why.Policy, s.Why.Stage, s.Why.Have, s.Why.Need, s.Why.Unit, s.Why.String()}
	}
	return e
}

func finishedOf(code int, err error, r *dataset.Report) *finishedEvent {
	f := &finishedEvent{Status: statusOf(code), ExitCode: code, Failures: []classCount{}, Warnings: []classCount{}, Notes: []string{}}
	if err != nil && code != exitOK {
		f.Error = err.Error()
	}
	if r == nil {
		return f
	}
	f.Run, f.RowsRead, f.RowsWritten, f.RowsFailed, f.BytesRead, f.BytesWritten = r.Run, r.RowsRead, r.RowsWritten, r.RowsFailed, r.BytesRead, r.BytesWritten
	f.PeakBytes, f.SpilledBytes, f.Wall, f.Notes = r.PeakBytes, r.SpilledBytes, seconds(r.Wall), append(f.Notes, r.Notes...)
	for _, c := range r.Failures {
		f.Failures = append(f.Failures, classCount{c.Op, c.Class, c.Count})
	}
	for _, c := range r.Warnings {
		f.Warnings = append(f.Warnings, classCount{"", c.Class, c.Count})
	}
	return f
}

func statusOf(code int) string {
	switch code {
	case exitOK:
		return "ok"
	case exitUsage:
		return "usage"
	case exitDeadLetters:
		return "dead-letters"
	case exitInterrupted:
		return "interrupted"
	}
	return "failed"
}

func seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

func round(v float64) float64 { return math.Round(v*10) / 10 }

func secondsOf(m map[string]time.Duration) map[string]float64 {
	out := make(map[string]float64, len(m))
	for k, v := range m {
		out[k] = seconds(v)
	}
	return out
}
