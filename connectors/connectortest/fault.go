package connectortest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/sluice-data/sluice/connectors/file"
	"github.com/sluice-data/sluice/dataset"
)

// ErrFault is what every injected failure is.
var ErrFault = errors.New("injected fault")

// FaultFS is a file system whose files fail to be read beyond a position.
type FaultFS struct {
	file.FS
	limit atomic.Int64 // position plus one; 0: no fault
}

// FailAfter lets every read that reaches beyond position n of a file fail; a negative n lets all succeed.
func (f *FaultFS) FailAfter(n int64) { f.limit.Store(max(n+1, 0)) }

// Open implements file.FS.
func (f *FaultFS) Open(ctx context.Context, ref dataset.FileRef) (file.Handle, error) {
	h, err := f.FS.Open(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &faultHandle{h, f, ref.Path}, nil
}

type faultHandle struct {
	file.Handle
	fs   *FaultFS
	path string
}

// ReadAt implements io.ReaderAt.
func (h *faultHandle) ReadAt(p []byte, off int64) (int, error) {
	limit := h.fs.limit.Load()
	if limit == 0 || off+int64(len(p)) < limit {
		return h.Handle.ReadAt(p, off)
	}
	n, err := h.Handle.ReadAt(p[:max(limit-1-off, 0)], off)
	if err != nil {
		return n, err
	}
	return n, fmt.Errorf("read %s: %w", h.path, ErrFault)
}
