package object

import (
	"context"
	"errors"
	"sync"
)

var errClosed = errors.New("the file is closed")

// firstWindow is the size of the first range of a part that is read in order: a reader that wants only the start of a file (its
// schema, a limit) fetches little, and the ranges double up to Config.RangeBytes.
const firstWindow = 256 << 10

// window is one range that is being fetched, or was.
type window struct {
	off   int64
	buf   []byte
	give  func() // back to the budget
	done  chan struct{}
	err   error
	users int // reads that copy from it; the lock of ahead guards it
	dead  bool
}

// ahead reads [next, end) in order, with up to Config.Ranges ranges under way ahead of the reader.
type ahead struct {
	h   *handle
	ctx context.Context
	end func()
	mu  struct {
		sync.Mutex
		first   int64 // where the first window begins
		next    int64 // where the next one will
		limit   int64 // where reading in order ends
		size    int64 // of the next window
		windows []*window
	}
}

func newAhead(h *handle, off, end int64) *ahead {
	a := &ahead{h: h}
	a.ctx, a.end = context.WithCancel(h.ctx)
	a.mu.first, a.mu.next, a.mu.limit, a.mu.size = off, off, end, min(firstWindow, h.cfg.RangeBytes)
	return a
}

// covers tells whether a position is to be read in order and has not been passed.
func (a *ahead) covers(off int64) bool {
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return off >= a.mu.first && off <= a.mu.next && off < a.mu.limit
}

// read copies what the window at off has. Windows behind off are dropped.
func (a *ahead) read(p []byte, off int64) (int, error) {
	w := a.window(off)
	if w == nil { // another read went past meanwhile
		return len(p), a.h.direct(p, off)
	}
	defer a.leave(w)
	select {
	case <-w.done:
	case <-a.h.ctx.Done():
		return 0, context.Cause(a.h.ctx)
	}
	if w.err != nil {
		return 0, w.err
	}
	return copy(p, w.buf[off-w.off:]), nil
}

// window finds the window that holds off, starts those that follow, and drops those before it.
func (a *ahead) window(off int64) *window {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.mu.windows) > 0 && a.mu.windows[0].off+int64(len(a.mu.windows[0].buf)) <= off {
		a.free(a.mu.windows[0])
		a.mu.windows = a.mu.windows[1:]
	}
	for len(a.mu.windows) < a.h.cfg.Ranges && a.mu.next < a.mu.limit {
		if !a.start(len(a.mu.windows) == 0) {
			break
		}
	}
	if len(a.mu.windows) == 0 || off < a.mu.windows[0].off {
		return nil
	}
	a.mu.first = a.mu.windows[0].off
	w := a.mu.windows[0]
	w.users++
	return w
}

// start begins to fetch the next window. The one that is waited for needs no room in the budget. The lock is held.
func (a *ahead) start(needed bool) bool {
	n := min(a.mu.size, a.mu.limit-a.mu.next)
	give, ok := a.h.budget.reserve(a.h.reading, n, needed)
	if !ok {
		return false
	}
	w := &window{off: a.mu.next, buf: takeBuffer(n, a.h.cfg.RangeBytes), give: give, done: make(chan struct{})}
	w.users = 1 // the fetch itself
	a.mu.next += n
	a.mu.size = min(a.mu.size*2, a.h.cfg.RangeBytes)
	a.mu.windows = append(a.mu.windows, w)
	a.h.work.Go(func() {
		w.err = fetch(a.ctx, a.h.cfg, a.h.ref, a.h.remote, w.buf, w.off)
		close(w.done)
		a.leave(w)
	})
	return true
}

// leave ends the use of a window.
func (a *ahead) leave(w *window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.users--; w.dead && w.users == 0 {
		a.h.recycle(w)
	}
}

// free drops a window, now or when its last user leaves. The lock is held.
func (a *ahead) free(w *window) {
	w.dead = true
	if w.users == 0 {
		a.h.recycle(w)
	}
}

// recycle takes back what a window holds.
func (h *handle) recycle(w *window) {
	w.give()
	if int64(cap(w.buf)) >= h.cfg.RangeBytes {
		full := w.buf[:0]
		buffers.Put(&full)
	}
	w.buf = nil
}

// drop ends reading in order: what is under way is cancelled.
func (a *ahead) drop() {
	a.end()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range a.mu.windows {
		a.free(w)
	}
	a.mu.windows, a.mu.limit = nil, 0
}
