package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// eventsVersion is the version of the stream: it changes when a field goes or means something else. docs/events.schema.json describes it.
const eventsVersion = 1

// eventsEvery is the time between two events of progress.
const eventsEvery = time.Second

// events writes what happens as JSON lines. A nil *events does nothing.
type events struct {
	text  bool // standard error is theirs: no text goes there
	begun time.Time
	close func() error

	mu      sync.Mutex // guards what follows
	out     io.Writer
	seq     int64
	failed  error // of writing; nothing is written after it
	stages  map[int]string
	shown   map[string]int // examples of warnings and failed rows by class
	last    *dataset.Report
	started bool

	done chan struct{}
	wg   sync.WaitGroup
}

// openEvents opens the stream that --events asks for.
func (a *app) openEvents() error {
	spec := a.flags.see.events
	if spec == "" {
		return nil
	}
	format, file, toFile := strings.Cut(spec, ":")
	if format != "json" || toFile && file == "" {
		return dataset.Usagef("--events is %q, want json for standard error or json:FILE", spec)
	}
	e := &events{begun: time.Now(), stages: map[int]string{}, shown: map[string]int{}, close: func() error { return nil }}
	if toFile {
		f, err := os.Create(file) //nolint:gosec // the file that the user named
		if err != nil {
			return dataset.Usagef("open --events file: %w", err)
		}
		e.out, e.close = f, f.Close
	} else {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("open --events: %w", err)
		}
		e.out, e.text, e.close = a.Stderr, true, null.Close
		a.Stderr = null
	}
	a.events = e
	return nil
}

// replacesText says whether standard error holds events and nothing else.
func (e *events) replacesText() bool { return e != nil && e.text }

// write writes one event, in one piece.
func (e *events) write(kind string, fill func(*event)) {
	ev := event{V: eventsVersion, Seq: e.seq, Type: kind, Time: time.Now().UTC().Format(time.RFC3339Nano), Elapsed: seconds(time.Since(e.begun))}
	fill(&ev)
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(ev)
	if err == nil && e.failed == nil {
		_, err = e.out.Write(line.Bytes())
	}
	if e.seq++; err != nil && e.failed == nil {
		e.failed = err
	}
}

// start writes that a run begins, and from then on how it goes.
func (e *events) start(j *job) {
	if e == nil {
		return
	}
	e.mu.Lock()
	e.started = true
	e.write("started", func(ev *event) {
		ev.Started = &startedEvent{Command: j.settings.Options.Command, Version: j.Version, PID: os.Getpid(), BudgetBytes: j.settings.MemoryBytes}
	})
	for _, w := range j.built.Warnings {
		e.write("warning", func(ev *event) { ev.Warning = &warningEvent{Class: "pipeline", Message: w, Count: 1} })
	}
	e.mu.Unlock()
	e.done = make(chan struct{})
	e.wg.Go(func() {
		tick := time.NewTicker(eventsEvery)
		defer tick.Stop()
		for {
			select {
			case <-e.done:
				return
			case <-tick.C:
				if r, ok := j.look.snapshot(); ok {
					e.progress(&r)
				}
			}
		}
	})
}

// progress writes what changed since the last look, and the numbers.
func (e *events) progress(r *dataset.Report) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.changes(r)
	e.write("progress", func(ev *event) { ev.Progress = progressOf(r) })
}

// changes writes new states of stages, warnings and failed rows. Of a class at most ten are told, as the report keeps them.
func (e *events) changes(r *dataset.Report) {
	for i := range r.Stages {
		if s := &r.Stages[i]; e.stages[i] != s.State {
			e.stages[i] = s.State
			e.write("stage", func(ev *event) { ev.Stage = stageOf(i, s) })
		}
	}
	for _, w := range r.Warnings {
		e.fresh("w"+w.Class, len(w.Examples), w.Count, func(n int) {
			m := ""
			if n < len(w.Examples) {
				m = w.Examples[n]
			}
			e.write("warning", func(ev *event) { ev.Warning = &warningEvent{Class: w.Class, Message: m, Count: w.Count} })
		})
	}
	for _, f := range r.Failures {
		e.fresh("f"+f.Op+"\x00"+f.Class, len(f.Examples), f.Count, func(n int) {
			x := dataset.FailureExample{}
			if n < len(f.Examples) {
				x = f.Examples[n]
			}
			e.write("row-error", func(ev *event) {
				ev.RowError = &rowErrorEvent{Op: f.Op, Class: f.Class, Where: x.Where, Cause: x.Cause, Count: f.Count}
			})
		})
	}
}

// fresh calls write for each example that was not told yet, and once for a class without examples.
func (e *events) fresh(key string, examples int, count int64, write func(n int)) {
	if examples == 0 && count > 0 {
		examples = 1
	}
	for n := e.shown[key]; n < examples; n++ {
		write(n)
	}
	e.shown[key] = max(e.shown[key], examples)
}

// stalled warns that nothing happens.
func (e *events) stalled(r *dataset.Report) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write("warning", func(ev *event) {
		ev.Warning = &warningEvent{Class: "no progress", Message: strings.TrimSpace(statusText(r)), Count: 1}
	})
}

// end writes the last numbers and what was committed.
func (e *events) end(r *dataset.Report) {
	if e == nil {
		return
	}
	close(e.done)
	e.wg.Wait()
	e.progress(r)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = r
	for _, t := range r.Targets {
		e.write("committed", func(ev *event) {
			ev.Committed = &committedEvent{Target: t.Locator, Rows: t.Rows, Bytes: t.Bytes, Parts: t.Parts, Files: t.Files, Already: r.Complete}
		})
	}
}

// finished writes the last event and closes the stream. It returns the exit code as it is, or that of a failure if the events could not be
// written: whoever reads them must not take what is missing for nothing.
func (a *app) finished(code int, err error) int {
	e := a.events
	if e == nil {
		return code
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.write("finished", func(ev *event) { ev.Finished = finishedOf(code, err, e.last) })
	if cerr := e.close(); e.failed == nil {
		e.failed = cerr
	}
	if e.failed != nil && code == exitOK {
		if !e.text {
			fmt.Fprintf(a.Stderr, "sluice: write --events: %v\n", e.failed)
		}
		return exitFailed
	}
	return code
}
