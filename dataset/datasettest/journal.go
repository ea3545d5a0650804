package datasettest

import (
	"log/slog"
	"strings"
	"sync"
)

// Journal keeps what is written to it, such as the lines of a log. It is safe for concurrent use; the zero value is empty.
type Journal struct {
	mu sync.Mutex
	b  strings.Builder
}

// Write implements io.Writer.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

// String is all that was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// Logger writes lines of text to the journal.
func (j *Journal) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }
