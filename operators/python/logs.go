package python

import (
	"bufio"
	"io"
	"log/slog"
	"strings"
	"sync"
)

const (
	maxLine  = 8 << 10 // longer lines are cut
	maxLines = 1000    // of one process; what it prints beyond is counted
	lastKept = 5
)

// logs takes what a process prints on standard output and error: it never reaches ours. Lines go to the log, up to a number; the last few
// are kept, as they say why a process died.
type logs struct {
	log *slog.Logger
	pid int

	mu   sync.Mutex
	last []string
	n    int
}

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
	if l.n > maxLines && l.log != nil {
		l.log.Warn("python output was cut", "pid", l.pid, "lines", l.n-maxLines)
	}
}

func (l *logs) line(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n++; l.n <= maxLines && l.log != nil {
		l.log.Info("python output", "pid", l.pid, "line", s)
	}
	if strings.TrimSpace(s) == "" {
		return
	}
	if len(l.last) == lastKept {
		l.last = append(l.last[:0], l.last[1:]...)
	}
	l.last = append(l.last, s)
}

// tail returns the last lines.
func (l *logs) tail() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.last...)
}
