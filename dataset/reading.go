package dataset

import (
	"context"
	"sync"
)

// Reading is what a file system may know about the reader that opens its files, so that one whose files are far away can fetch ahead of need. The engine
// puts one into the context of Source.Open and Reader.Next; it lasts until the reader is closed. It is safe for concurrent use.
type Reading struct {
	// Ranges is what the reader reads, in the order in which it opens the files.
	Ranges []SplitRange
	// Memory is the budget of the run in bytes; 0: it is not known.
	Memory int64
	// Charge counts n bytes as used by the reader until release is called, without waiting. Nil: nobody counts.
	Charge func(n int64) (release func())

	mu struct {
		sync.Mutex
		held map[any]ReadAhead
	}
}

// ReadAhead is what a file system has fetched for a reading.
type ReadAhead interface {
	// End frees it. Nothing is opened any more.
	End()
}

type readingKey struct{}

// WithReading returns a context that tells file systems of a reading.
func WithReading(ctx context.Context, r *Reading) context.Context {
	return context.WithValue(ctx, readingKey{}, r)
}

// ReadingOf returns the reading that a context tells of, or nil.
func ReadingOf(ctx context.Context) *Reading {
	r, _ := ctx.Value(readingKey{}).(*Reading)
	return r
}

// Hold returns what is held under a key, made by make the first time.
func (r *Reading) Hold(key any, make func() ReadAhead) ReadAhead {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.mu.held[key]
	if h == nil {
		if r.mu.held == nil {
			r.mu.held = map[any]ReadAhead{}
		}
		h = make()
		r.mu.held[key] = h
	}
	return h
}

// Close ends what is held.
func (r *Reading) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.mu.held {
		h.End()
	}
	r.mu.held = nil
}
