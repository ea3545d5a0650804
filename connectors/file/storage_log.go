package file

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/sluice-data/sluice/dataset"
)

// logBuffer is how much a log holds back before it writes: a few thousand records of splits.
const logBuffer = 64 << 10

// appendLog is a dataset.Log in a file. It is used by one goroutine at a time.
type appendLog struct {
	disk   Disk
	path   string
	f      DiskFile
	buf    []byte
	broken error // the first failure; the tail of the file is unknown from then on
}

var errLogClosed = errors.New("the log is closed")

// Append implements dataset.Storage. The name of a new log is durable when it returns.
func (s *Storage) Append(_ context.Context, name string) (dataset.Log, error) {
	p, err := s.path(name)
	if err != nil {
		return nil, err
	}
	if err := s.mkdir(filepath.Dir(p)); err != nil {
		return nil, err
	}
	f, err := s.disk.Append(p)
	if err != nil {
		return nil, spaceError(s.disk, err, p)
	}
	if err := s.disk.SyncDir(filepath.Dir(p)); err != nil {
		return nil, errors.Join(spaceError(s.disk, err, p), f.Close())
	}
	return &appendLog{disk: s.disk, path: p, f: f}, nil
}

// Append implements dataset.Log.
func (l *appendLog) Append(p []byte) error {
	if l.broken != nil {
		return l.broken
	}
	l.buf = append(l.buf, p...)
	if len(l.buf) >= logBuffer {
		return l.flush()
	}
	return nil
}

func (l *appendLog) flush() error {
	if len(l.buf) > 0 {
		l.broken = spaceError(l.disk, writeAll(l.f, l.buf), l.path)
		l.buf = l.buf[:0]
	}
	return l.broken
}

// Sync implements dataset.Log.
func (l *appendLog) Sync() error {
	if l.broken != nil {
		return l.broken
	}
	if err := l.flush(); err != nil {
		return err
	}
	l.broken = spaceError(l.disk, l.f.Sync(), l.path)
	return l.broken
}

// Close implements dataset.Log. What was not synced may be lost.
func (l *appendLog) Close() error {
	if l.broken == errLogClosed {
		return nil
	}
	l.broken = errLogClosed
	return l.f.Close()
}
