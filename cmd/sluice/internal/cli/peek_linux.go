package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pollMillis is how often a wait for the first byte looks whether it was interrupted.
const pollMillis = 200

// peek returns up to n first bytes of f and leaves them there. Where that is not possible it returns none.
func peek(ctx context.Context, f *os.File, n int) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case st.Mode().IsRegular():
		return peekFile(f, n)
	case st.Mode()&os.ModeNamedPipe != 0:
		return peekPipe(ctx, f, n)
	}
	return nil, nil
}

func peekFile(f *os.File, n int) ([]byte, error) {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, n)
	got, err := f.ReadAt(buf, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:got], err
}

// peekPipe duplicates what lies in the pipe into another one, with tee(2). A writer that has written only a few bytes so far is taken
// at that.
func peekPipe(ctx context.Context, f *os.File, n int) ([]byte, error) {
	fd := int(f.Fd())
	for {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, pollMillis)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return nil, err
		}
		if ready > 0 {
			break
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	got, err := unix.Tee(fd, int(w.Fd()), n, unix.SPLICE_F_NONBLOCK)
	w.Close()
	if err != nil || got == 0 {
		return nil, nil //nolint:nilerr // nothing is known then, which is no failure
	}
	return io.ReadAll(r)
}
