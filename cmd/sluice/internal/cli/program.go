package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/executor"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDeadLetters = 3
	exitInterrupted = 130
)

// Session is what the command line needs of an engine.
type Session interface {
	Registry() *dataset.Registry
	Runner() dataset.Runner
	// Describe explains the logical plan and what it is compiled to.
	Describe(ctx context.Context, outs ...dataset.Output) (*executor.Explanation, error)
	Close() error
}

// Watcher gives a look at a run while it goes on.
type Watcher interface {
	Snapshot() dataset.Report
	OffHeapBytes() int64
}

// Settings are what flags say about the session; zero values are defaults.
type Settings struct {
	MemoryBytes int64
	Parallel    int
	TempDir     string
	TempLimit   int64
	Options     dataset.Options
	Watch       func(Watcher)            // called once for each run
	Slow        func(executor.SlowBlock) // nil, or is told of slow blocks
	Log         *slog.Logger             // nil: nowhere
}

// Backend is a part that may be native or not, for `sluice version`.
type Backend struct{ Name, Uses string }

// Library is a part outside this program that some steps use, for `sluice doctor`. Found is empty where it is missing.
// Cause says what is wrong and what to do, where that is known better than the command that installs.
type Library struct{ Name, Uses, Found, Install, Cause string }

// Program is the command line and what it runs on.
type Program struct {
	Version       string
	Open          func(context.Context, Settings) (Session, error)
	DefaultMemory func() int64
	Backends      func() []Backend
	Libraries     func(context.Context) []Library
	// Stdin, Stdout and Stderr default to those of the process.
	Stdin, Stdout, Stderr *os.File
	// Exit ends the process at once, on a second interrupt; default os.Exit.
	Exit func(code int)
}

// Main runs one command and returns the exit code. args are without the name of the program.
func (p Program) Main(ctx context.Context, args []string) int {
	if p.Stdin == nil {
		p.Stdin = os.Stdin
	}
	if p.Stdout == nil {
		p.Stdout = os.Stdout
	}
	if p.Stderr == nil {
		p.Stderr = os.Stderr
	}
	if p.Exit == nil {
		p.Exit = os.Exit
	}
	signal.Ignore(syscall.SIGPIPE) // a reader of our output that goes away is an error of the write
	a := &app{Program: p}
	defer a.catchStatus()()
	root := a.root()
	root.SetArgs(protectStdin(args))
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	ctx = dataset.WithNotices(ctx, a.notice)
	err := guarded(func() error { return root.ExecuteContext(ctx) })
	return a.finished(a.finish(err), err)
}

// guarded turns a panic into an error, so that nobody meets a stack; SLUICE_DEBUG=1 shows it.
func guarded(f func() error) (err error) {
	if os.Getenv("SLUICE_DEBUG") == "" {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("internal error: %v (SLUICE_DEBUG=1 shows where)", p)
			}
		}()
	}
	return f()
}

// app is one invocation.
type app struct {
	Program
	flags       flags
	code        int         // of a run that ended well
	text        string      // the pipeline, for carets
	file        string      // the job file, for lines
	jobText     string      // what is in it
	elsewhere   bool        // rows do not go to standard output
	interrupted atomic.Bool // a signal came
	schemes     bool        // URLs are known
	watching
}
