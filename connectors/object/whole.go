package object

import (
	"context"
	"io"
	"sync"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// smallFile is the size up to which a file is fetched as a whole, and ahead of its opening.
const smallFile = 1 << 20

// wholes fetches the small files that a reader will open, up to Config.Files of them ahead, each with one request: read one after the other they would
// cost a round trip each.
type wholes struct {
	ctx    context.Context
	end    func()
	open   opener
	ranges []dataset.SplitRange
	work   sync.WaitGroup
	mu     struct {
		sync.Mutex
		at   int // of the file that was opened last
		next int // of the first that is not begun
		got  map[int]*wholeFile
		over bool
	}
}

var _ dataset.ReadAhead = (*wholes)(nil)

// opener opens a file of a place; an error says that it is not there.
type opener func(ctx context.Context, ref dataset.FileRef) (*handle, error)

// whole is the file of a handle, to be read as a whole, if it is a small one of a reading of several; else nil. place is what the reading keeps it under.
func whole(h *handle, place any, open opener) file.Handle {
	r := h.reading
	if r == nil || len(r.Ranges) < 2 || h.ref.Size > smallFile || h.ref.Size <= 0 {
		return nil
	}
	w := r.Hold(place, func() dataset.ReadAhead {
		w := &wholes{open: open, ranges: r.Ranges}
		w.mu.got = map[int]*wholeFile{}
		w.ctx, w.end = context.WithCancel(h.parent)
		return w
	}).(*wholes)
	if f := w.file(h); f != nil { // never a nil of its type
		return f
	}
	return nil
}

// file gives the file of a handle at its place in the reading, and begins those that follow. Nil: it is not where it would be expected.
func (w *wholes) file(h *handle) *wholeFile {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.mu.at
	for i < len(w.ranges) && w.ranges[i].File != h.ref {
		i++
	}
	if i == len(w.ranges) || w.mu.over {
		return nil
	}
	for k := w.mu.at; k < i; k++ { // the reader has left them
		w.free(k)
	}
	w.mu.at = i
	if w.mu.got[i] == nil && !w.begin(i, true) {
		return nil
	}
	for w.mu.next = max(w.mu.next, i+1); w.mu.next < len(w.ranges) && w.mu.next-i < h.cfg.Files; w.mu.next++ {
		if n := w.ranges[w.mu.next].File.Size; n <= smallFile && n > 0 && !w.begin(w.mu.next, false) {
			break
		}
	}
	return w.mu.got[i]
}

// begin begins to fetch a file, if there is room for it. One that cannot be opened says so when its turn comes. The lock is held.
func (w *wholes) begin(i int, needed bool) bool {
	h, err := w.open(w.ctx, w.ranges[i].File)
	if err != nil {
		return !needed
	}
	give, ok := h.budget.reserve(h.reading, h.ref.Size, needed)
	if !ok {
		return false
	}
	x := &wholeFile{ctx: w.ctx, done: make(chan struct{}), give: give}
	w.mu.got[i] = x
	w.work.Go(func() {
		defer close(x.done)
		data := make([]byte, h.ref.Size)
		if x.err = fetch(h.ctx, h.cfg, h.ref, h.remote, data, 0); x.err == nil {
			x.data = data
		}
	})
	return true
}

// free gives up the bytes of a file. The lock is held.
func (w *wholes) free(i int) {
	if x := w.mu.got[i]; x != nil {
		delete(w.mu.got, i)
		x.give()
	}
}

// End implements dataset.ReadAhead.
func (w *wholes) End() {
	w.end()
	w.work.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.mu.got {
		w.free(i)
	}
	w.mu.over = true
}

// wholeFile is a small file, fetched with one request.
type wholeFile struct {
	ctx  context.Context
	done chan struct{}
	data []byte
	err  error
	give func()
}

var _ file.Handle = (*wholeFile)(nil)

// ReadAt implements io.ReaderAt.
func (f *wholeFile) ReadAt(p []byte, off int64) (int, error) {
	select {
	case <-f.done:
	case <-f.ctx.Done():
		return 0, context.Cause(f.ctx)
	}
	if f.err != nil {
		return 0, f.err
	}
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[max(off, 0):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Check implements file.Handle: the bytes are those of the pinned version.
func (*wholeFile) Check() error { return nil }

// Close implements file.Handle. The bytes are kept until the reader has gone on: it may open the file once more.
func (*wholeFile) Close() error { return nil }
