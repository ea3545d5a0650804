package cli

import (
	"context"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/sluice-data/sluice/dataset"
)

// seeFlags say what is shown of a run.
type seeFlags struct {
	events  string
	stats   bool
	trace   bool
	sample  int
	images  string
	otlp    string
	report  string
	metrics metricsFlags
	set     *pflag.FlagSet
}

func (f *seeFlags) register(fs *pflag.FlagSet) {
	f.set = fs
	fs.BoolVar(&f.stats, "stats", false, "print a table of the stages at the end (on a terminal it is printed after runs of 2s)")
	fs.BoolVar(&f.trace, "trace", false, "run a few rows through the pipeline and show them after each step; nothing is written")
	fs.IntVar(&f.sample, "sample", traceRows, "with --trace, how many rows: `N` of 1 to 100")
	fs.StringVar(&f.images, "images", "auto", "how --trace and inspect draw pictures on a terminal: `HOW` is auto, none, blocks, blocks256, kitty or sixel")
	fs.StringVar(&f.events, "events", "", "write what happens as JSON lines: json for standard error, instead of all text there, or `json:FILE`")
	fs.StringVar(&f.report, "report", "", "write a page about the run to `FILE`, such as run.html: plan, rates and memory over time, waits, failed rows")
	f.metrics.register(fs)
	fs.StringVar(&f.otlp, "otlp", "", "send a trace of the run to the OTLP receiver at `URL`, such as http://127.0.0.1:4318")
}

// given says whether a flag was set, to whatever value.
func (f *seeFlags) given(name string) bool { return f.set != nil && f.set.Changed(name) }

// watching is who shows what happens in one invocation.
type watching struct {
	shown  atomic.Pointer[display] // the display of the run, while there is one
	events *events                 // nil unless they were asked for
	ask    chan os.Signal          // somebody asks for the status
	// noticed is when the last notice was said, in Unix nanoseconds; 0 before the first.
	noticed atomic.Int64
}

// say writes whole lines to standard error, past the display if there is one.
func (a *app) say(text string) {
	if d := a.shown.Load(); d != nil {
		(*d).say(text)
		return
	}
	noDisplay{a.Stderr}.say(text)
}

// noticesApart is the least time between two notices: a thousand requests that a store throttles are one thing to tell.
const noticesApart = 5 * time.Second

// notice says what somebody waits for outside of the stages.
func (a *app) notice(text string) {
	if a.flags.quiet {
		return
	}
	last, now := a.noticed.Load(), time.Now().UnixNano()
	if last != 0 && now-last < int64(noticesApart) || !a.noticed.CompareAndSwap(last, now) {
		return
	}
	a.say("note: " + printable(text) + "\n")
}

// observer looks at a run from its beginning to its end.
type observer interface {
	// end is told what the run did and how it ended. It waits for everything that the observer has started.
	end(r *dataset.Report, err error)
}

// watch starts everything that looks at the run; stop ends it with the report of the run and the error that it ended with.
func (j *job) watch(ctx context.Context, sink dataset.Sink) (live display, stop func(*dataset.Report, error), err error) {
	observers, err := j.observers(ctx, sink)
	if err != nil {
		return nil, nil, err
	}
	live = j.display(sink)
	j.shown.Store(&live)
	j.events.start(j)
	stalled := watchStalls(j.look, func(r dataset.Report) {
		j.events.stalled(&r)
		if !j.flags.quiet {
			j.say(stallText(&r))
		}
	})
	status := j.watchStatus()
	return live, func(r *dataset.Report, err error) {
		if r == nil { // it could not begin
			r = &dataset.Report{}
		}
		stalled.stop()
		status()
		live.stop()
		j.shown.Store(nil)
		j.events.end(r)
		for _, o := range observers {
			o.end(r, err)
		}
	}, nil
}

// observers starts those that flags ask for. What cannot be started is a mistake of usage, found before the run begins.
func (j *job) observers(ctx context.Context, sink dataset.Sink) (out []observer, err error) {
	see := &j.flags.see
	for _, start := range []struct {
		wanted bool
		start  func(context.Context, dataset.Sink) (observer, error)
	}{{see.metrics.given(), j.serveMetrics}, {see.otlp != "", j.traceRun}, {see.report != "", j.recordRun}} {
		if !start.wanted {
			continue
		}
		o, err := start.start(ctx, sink)
		if err != nil {
			for _, o := range out {
				o.end(&dataset.Report{}, err)
			}
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// display chooses how progress is shown: not at all where rows are printed to the same terminal.
func (j *job) display(sink dataset.Sink) display {
	rows := sink != nil && j.toStdout()
	switch {
	case j.flags.quiet || j.events.replacesText() || rows && isTerminal(j.Stdout) && isTerminal(j.Stderr):
		return noDisplay{j.Stderr}
	case isTerminal(j.Stderr) && drawable(os.Getenv("TERM")):
		return startLive(j.Stderr, terminalSize(j.Stderr), j.look)
	}
	return startLines(j.Stderr, j.look)
}

// drawable says whether a terminal of that name can move the cursor.
func drawable(name string) bool { return name != "" && name != "dumb" }

// statsWidth is how wide the table may be: as the terminal, else as it needs.
func statsWidth(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 1 << 20
}
