package object

import (
	"context"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// smallRead is the size below which a read that goes on where the last one ended makes the handle read ahead.
const smallRead = 1 << 20

// handle reads one pinned file. Reads of a part that was announced, or seen, to be read in order are served from windows that are
// fetched ahead; others ask for just their bytes, big ones for several ranges at a time.
type handle struct {
	parent  context.Context // the file was opened with it
	ctx     context.Context
	cancel  context.CancelCauseFunc
	cfg     Config
	ref     dataset.FileRef
	remote  remote
	budget  *budget
	reading *dataset.Reading // that the file was opened for; nil: none
	work    sync.WaitGroup
	mu      struct {
		sync.Mutex
		ahead *ahead  // nil: nothing is read in order
		parts *beside // nil: no parts are
		last  int64   // where the last read ended
		count int     // small reads in order so far
	}
}

var (
	_ file.Handle    = (*handle)(nil)
	_ file.Advisor   = (*handle)(nil)
	_ file.Announcer = (*handle)(nil)
)

func newHandle(ctx context.Context, cfg Config, ref dataset.FileRef, r remote, b *budget) *handle {
	h := &handle{cfg: cfg, ref: ref, remote: r, budget: b, parent: ctx, reading: dataset.ReadingOf(ctx)}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	return h
}

// Sequential implements file.Advisor.
func (h *handle) Sequential(off, n int64) {
	end := h.ref.Size
	if n > 0 {
		end = min(off+n, end)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.startAhead(off, end)
}

// Announce implements file.Announcer.
func (h *handle) Announce(parts []file.Part) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.parts != nil {
		h.mu.parts.drop()
	}
	h.mu.parts = newBeside(h, parts)
}

// startAhead makes [off, end) the part that is read in order. The lock is held.
func (h *handle) startAhead(off, end int64) {
	if h.mu.ahead != nil {
		h.mu.ahead.drop()
	}
	h.mu.ahead = newAhead(h, off, end)
}

// ReadAt implements io.ReaderAt. Reading ends with the cause of the context that the file was opened with.
func (h *handle) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, fmt.Errorf("read %s: position %d", h.ref.Path, off)
	}
	if off >= h.ref.Size {
		return 0, io.EOF
	}
	short := off+int64(len(p)) > h.ref.Size
	if short {
		p = p[:h.ref.Size-off]
	}
	for n < len(p) {
		var k int
		if a := h.expected(off+int64(n), len(p)); a != nil {
			k, err = a.read(p[n:], off+int64(n))
		} else {
			k, err = len(p)-n, h.direct(p[n:], off+int64(n))
		}
		if err != nil {
			return n, err
		}
		n += k
	}
	if short {
		err = io.EOF
	}
	return n, err
}

// expected is what has fetched a position, or will, if any.
func (h *handle) expected(off int64, size int) interface {
	read(p []byte, off int64) (int, error)
} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := h.mu.parts; b.covers(off) {
		return b
	}
	follows := off == h.mu.last && off > 0
	h.mu.last = off + int64(size)
	if a := h.mu.ahead; a.covers(off) {
		return a
	}
	if !follows || size >= smallRead {
		h.mu.count = 0
		return nil
	}
	if h.mu.count++; h.mu.count < 2 {
		return nil
	}
	h.startAhead(off, h.ref.Size)
	return h.mu.ahead
}

// direct fetches just p, as several ranges if it is big.
func (h *handle) direct(p []byte, off int64) error {
	size := h.cfg.RangeBytes
	if int64(len(p)) <= size {
		return fetch(h.ctx, h.cfg, h.ref, h.remote, p, off)
	}
	eg, ctx := errgroup.WithContext(h.ctx)
	eg.SetLimit(h.cfg.Ranges)
	for at := int64(0); at < int64(len(p)); at += size {
		part := p[at:min(at+size, int64(len(p)))]
		eg.Go(func() error { return fetch(ctx, h.cfg, h.ref, h.remote, part, off+at) })
	}
	return eg.Wait()
}

// Check implements file.Handle. Every range was asked for of the pinned version, so there is nothing left to check.
func (h *handle) Check() error { return nil }

// Close implements file.Handle. It waits for what is being fetched.
func (h *handle) Close() error {
	h.mu.Lock()
	if h.mu.ahead != nil {
		h.mu.ahead.drop()
		h.mu.ahead = nil
	}
	if h.mu.parts != nil {
		h.mu.parts.drop()
		h.mu.parts = nil
	}
	h.mu.Unlock()
	h.cancel(errClosed)
	h.work.Wait()
	return nil
}
