package file

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// FS is a place that holds files. Implementations are safe for concurrent use. Paths use slashes. Errors for a missing file satisfy
// errors.Is(err, fs.ErrNotExist), and name the path.
type FS interface {
	// Stat says what is at a path. A folder (or a prefix that objects share) has Dir set and nothing else.
	Stat(ctx context.Context, path string) (Info, error)
	// List streams the files that m matches in ascending byte order of their paths, beginning after the path after ("" for all).
	List(ctx context.Context, m *Matcher, after string) iter.Seq2[dataset.FileRef, error]
	// Open opens exactly the version of a file that ref pins; another one is a *ChangedError.
	Open(ctx context.Context, ref dataset.FileRef) (Handle, error)
}

// Info is what Stat finds.
type Info struct {
	dataset.FileRef
	Dir bool
	// Stream is set for pipes and devices: they have no size, are read once from the start and cannot be cut.
	Stream bool
}

// Handle reads one pinned version of a file. ReadAt may be called concurrently.
type Handle interface {
	io.ReaderAt
	// Check reports a *ChangedError if the file is no longer the pinned version. Readers call it after the last byte.
	Check() error
	Close() error
}

// Advisor is a Handle that can be told how it will be read.
type Advisor interface {
	// Sequential announces that the bytes from off up to off+n (0: to the end) are read in order.
	Sequential(off, n int64)
}

// Announcer is a Handle that fetches ahead what it is told will be read, as one does whose bytes are far away.
type Announcer interface {
	// Announce says which parts of the file will be read, each once and in order, those of one turn side by side. It takes the place of what was
	// announced before. What is read otherwise is read as if nothing had been announced.
	Announce(parts []Part)
}

// Part is a stretch of a file.
type Part struct {
	Off, Len int64
	Turn     int // parts of lower turns are read first
}

// ErrChanged is what every *ChangedError is.
var ErrChanged = dataset.ErrChanged

// ChangedError says that a file is not the version that was listed.
type ChangedError struct {
	Was dataset.FileRef
	Now dataset.FileRef // zero when the file is gone
	Err error           // what the system said, if anything
}

// Error implements error.
func (e *ChangedError) Error() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("read %s: the file was listed and is gone: %v", e.Was.Path, e.Err)
	case e.Was.ETag != e.Now.ETag:
		return fmt.Sprintf("read %s: the file changed while it was read (etag %s, now %s)", e.Was.Path, e.Was.ETag, e.Now.ETag)
	default:
		return fmt.Sprintf("read %s: the file changed while it was read (%d bytes of %s, now %d bytes of %s)", e.Was.Path,
			e.Was.Size, e.Was.ModTime.Format(time.RFC3339Nano), e.Now.Size, e.Now.ModTime.Format(time.RFC3339Nano))
	}
}

// Unwrap returns ErrChanged and the system's error.
func (e *ChangedError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrChanged}
	}
	return []error{ErrChanged, e.Err}
}

// Class is the class that the failure is counted under.
func (e *ChangedError) Class() string { return "file changed while read" }
