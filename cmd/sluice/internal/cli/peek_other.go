//go:build !linux

package cli

import (
	"context"
	"errors"
	"io"
	"os"
)

// peek returns up to n first bytes of f and leaves them there, if f is a file. Elsewhere it returns none.
func peek(_ context.Context, f *os.File, n int) ([]byte, error) {
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil, err
	}
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
