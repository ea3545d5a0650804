package file

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/dataset"
)

// StateOf returns the storage with the state of a result at a path or URL, a folder or one file, and the path as a sink would take it. ok
// is false if no result of ours is there. Of a URL the scheme must be registered.
func StateOf(ctx context.Context, path string) (s dataset.Storage, result string, ok bool, err error) {
	if path == "" {
		return nil, "", false, nil
	}
	if find := stateFinder(path); find != nil {
		return find(ctx, path)
	}
	disk, at, err := diskOf(path)
	if err != nil {
		return nil, "", false, err
	}
	for _, c := range []struct{ state, result string }{
		{filepath.Join(filepath.Dir(at), "."+filepath.Base(at)+".sluice"), strings.TrimSuffix(path, "/")},
		{filepath.Join(at, "_sluice"), strings.TrimSuffix(path, "/") + "/"},
	} {
		st, err := disk.Lstat(c.state)
		if err == nil && st.IsDir() {
			if r, ok := disk.(RemoteDisk); ok {
				return r.Storage(c.state), c.result, true, nil
			}
			return NewStorage(disk, c.state), c.result, true, nil
		}
		if _, remote := disk.(RemoteDisk); remote && err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, "", false, err
		}
	}
	return nil, "", false, nil
}

// StateFinder finds the state of a result that is no file: it is StateOf for the paths of one scheme.
type StateFinder func(ctx context.Context, path string) (s dataset.Storage, result string, ok bool, err error)

var finders sync.Map // scheme -> StateFinder

// RegisterState makes StateOf find results at paths that begin with a scheme and a colon. Registering a scheme again replaces it.
func RegisterState(scheme string, find StateFinder) { finders.Store(scheme, find) }

func stateFinder(path string) StateFinder {
	scheme, _, ok := strings.Cut(path, ":")
	if !ok {
		return nil
	}
	find, _ := finders.Load(scheme)
	f, _ := find.(StateFinder)
	return f
}

// diskOf returns the disk of a path, and the path on it, absolute and without links.
func diskOf(path string) (Disk, string, error) {
	if IsURL(path) {
		s, err := schemeOf(path)
		if err != nil {
			return nil, "", err
		}
		if s.Disk == nil {
			name, _, _ := strings.Cut(path, "://")
			return nil, "", dataset.Usagef("open %s: %s:// holds no results", path, name)
		}
		disk, at, err := s.Disk(path)
		return disk, filepath.Clean(at), err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	return OSDisk{}, abs, nil
}
