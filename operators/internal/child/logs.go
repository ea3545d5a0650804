package child

import (
	"bufio"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

// MaxLines is how many lines are logged of one process; what it prints beyond is counted.
const MaxLines = 1000

const (
	maxLine  = 8 << 10 // longer lines are cut
	lastKept = 5
)

// logs takes what a process prints on standard output and error: it never reaches ours. Lines go to the log, up to a number; the last few
// are kept, as they say why a process died.
type logs struct {
	log  *slog.Logger
	what string
	isGo bool
	pid  int

	mu    sync.Mutex
	last  []string
	crash []string // what a Go program says first when it crashes
	n     int
}

// crashes begin the report of a Go program that crashes; what follows are stacks.
var crashes = regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z]+: |\[signal )`)

// read reads until the end, however much there is: a process never waits for it.
func (l *logs) read(r io.Reader) {
	br := bufio.NewReaderSize(r, maxLine)
	cut := false
	for {
		line, err := br.ReadSlice('\n')
		if !cut && len(line) > 0 {
			l.line(strings.TrimRight(strings.ToValidUTF8(string(line), "\uFFFD"), "\r\n"))
		}
		cut = err == bufio.ErrBufferFull
		if err != nil && !cut {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n > MaxLines && l.log != nil {
		l.log.Warn(l.what+" output was cut", "pid", l.pid, "lines", l.n-MaxLines)
	}
}

func (l *logs) line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n <= MaxLines && l.log != nil {
		l.log.Info(l.what+" output", "pid", l.pid, "line", s)
	}
	if strings.TrimSpace(s) == "" {
		return
	}
	if l.isGo && len(l.crash) < lastKept && crashes.MatchString(s) {
		l.crash = append(l.crash, s)
	}
	if len(l.last) == lastKept {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, s)
}

// tail returns the last lines, or those that begin the report of a crash.
func (l *logs) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.crash) > 0 {
		return append([]string(nil), l.crash...)
	}
	return append([]string(nil), l.last...)
}

// signalName finds the signal in the report of a Go program that crashed by one.
var signalName = regexp.MustCompile(`\bSIG[A-Z]+\b`)

// signal returns the signal that the process reported before it ended, or "".
func (l *logs) signal() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.crash {
		if s := signalName.FindString(line); s != "" {
			return s
		}
	}
	return ""
}
