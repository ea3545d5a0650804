package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-data/sluice/dataset"
)

// Local is the file system of this machine.
type Local struct{}

var _ FS = Local{}

// Stat implements FS.
func (Local) Stat(_ context.Context, path string) (Info, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat(path, &st) }); err != nil {
		return Info{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return Info{FileRef: dataset.FileRef{Path: path}, Dir: true}, nil
	case unix.S_IFREG:
		return Info{FileRef: pin(path, &st)}, nil
	case unix.S_IFIFO, unix.S_IFCHR, unix.S_IFSOCK:
		return Info{FileRef: dataset.FileRef{Path: path}, Stream: true}, nil
	}
	return Info{}, fmt.Errorf("read %s: not a file", path)
}

// pin makes the reference to the version of a file that st describes.
func pin(path string, st *unix.Stat_t) dataset.FileRef {
	return dataset.FileRef{Path: path, Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()).UTC()}
}

// samePin reports whether two references name the same version.
func samePin(a, b dataset.FileRef) bool {
	return a.Size == b.Size && a.ModTime.Equal(b.ModTime) && a.ETag == b.ETag
}

// Open implements FS.
func (Local) Open(_ context.Context, ref dataset.FileRef) (Handle, error) {
	h, err := openLocal(ref)
	if err != nil {
		return nil, err
	}
	return h, nil
}

func openLocal(ref dataset.FileRef) (*localHandle, error) {
	h := &localHandle{ref: ref}
	err := retry(func() (err error) {
		h.fd, err = unix.Open(ref.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &ChangedError{Was: ref, Err: err}
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: ref.Path, Err: err}
	}
	if err := h.Check(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// localHandle is a bare descriptor: os.File would register each of a hundred thousand small files with the poller and with a
// finalizer, which costs more than reading them.
type localHandle struct {
	fd  int
	ref dataset.FileRef
}

var (
	_ Handle  = (*localHandle)(nil)
	_ Advisor = (*localHandle)(nil)
)

// ReadAt implements io.ReaderAt.
func (h *localHandle) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		var k int
		err := retry(func() (err error) {
			k, err = unix.Pread(h.fd, p[n:], off+int64(n))
			return err
		})
		if err != nil {
			return n, &fs.PathError{Op: "read", Path: h.ref.Path, Err: err}
		}
		if k == 0 {
			return n, io.EOF
		}
		n += k
	}
	return n, nil
}

// Check implements Handle.
func (h *localHandle) Check() error {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstat(h.fd, &st) }); err != nil {
		return &fs.PathError{Op: "stat", Path: h.ref.Path, Err: err}
	}
	if now := pin(h.ref.Path, &st); !samePin(h.ref, now) {
		return &ChangedError{Was: h.ref, Now: now}
	}
	return nil
}

// Sequential implements Advisor: the kernel doubles its read-ahead, which keeps a spinning or network disk busy.
func (h *localHandle) Sequential(off, n int64) {
	adviseSequential(h.fd, off, n)
}

// Close implements Handle.
func (h *localHandle) Close() error {
	if err := unix.Close(h.fd); err != nil {
		return os.NewSyscallError("close", err)
	}
	return nil
}

// retry repeats a system call that a signal interrupted.
func retry(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
