package file

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sluice-data/sluice/dataset"
)

// tempPrefix marks files that are being written; they are in no listing, and the next holder of the lock removes them.
const tempPrefix = ".tmp-"

// Storage is dataset.Storage in a local folder, which is made when something is first written. An object appears whole or not at all,
// and is durable (file and folder are synced) when a call returns.
type Storage struct {
	disk Disk
	root string
	mu   struct {
		sync.Mutex
		made string // topmost folder that this value made
	}
}

var _ dataset.Storage = (*Storage)(nil)

// NewStorage keeps objects below the folder root.
func NewStorage(disk Disk, root string) *Storage { return &Storage{disk: disk, root: root} }

func (s *Storage) path(name string) (string, error) {
	if !fs.ValidPath(name) || name == "." {
		return "", fmt.Errorf("storage %s: invalid name %q", s.root, name)
	}
	return filepath.Join(s.root, filepath.FromSlash(name)), nil
}

// Read implements dataset.Storage.
func (s *Storage) Read(_ context.Context, name string) ([]byte, error) {
	p, err := s.path(name)
	if err != nil {
		return nil, err
	}
	f, err := s.disk.Open(p)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	out := make([]byte, size)
	n, err := f.ReadAt(out, 0)
	if n == len(out) {
		err = nil
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	return out, nil
}

// Create implements dataset.Storage: a hard link gives the finished file its name, which fails if the name is taken.
func (s *Storage) Create(_ context.Context, name string, data []byte) error {
	return s.put(name, data, func(tmp, p string) error {
		err := s.disk.Link(tmp, p)
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.ENOSYS) {
			// A file system without hard links: the lock keeps others of ours away, so looking first is enough.
			if _, serr := s.disk.Lstat(p); serr == nil {
				return &fs.PathError{Op: "create", Path: p, Err: fs.ErrExist}
			}
			return s.disk.Rename(tmp, p)
		}
		return err
	})
}

// Replace implements dataset.Storage.
func (s *Storage) Replace(_ context.Context, name string, data []byte) error {
	return s.put(name, data, s.disk.Rename)
}

func (s *Storage) put(name string, data []byte, place func(tmp, p string) error) error {
	p, err := s.path(name)
	if err != nil {
		return err
	}
	if err := s.mkdir(filepath.Dir(p)); err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(p), tempPrefix+rand.Text())
	if err := s.write(tmp, data); err != nil {
		s.disk.Remove(tmp)
		return spaceError(s.disk, err, p)
	}
	err = place(tmp, p)
	if rerr := s.disk.Remove(tmp); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) && err == nil {
		err = rerr
	}
	if err == nil {
		err = s.disk.SyncDir(filepath.Dir(p))
	}
	if err != nil {
		return spaceError(s.disk, err, p)
	}
	return nil
}

func (s *Storage) write(path string, data []byte) error {
	f, err := s.disk.Create(path)
	if err != nil {
		return err
	}
	if err = writeAll(f, data); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (s *Storage) mkdir(dir string) error {
	made, err := mkdirDurable(s.disk, dir)
	s.mu.Lock()
	if made != "" && (s.mu.made == "" || len(made) < len(s.mu.made)) {
		s.mu.made = made
	}
	s.mu.Unlock()
	if err != nil {
		return spaceError(s.disk, err, dir)
	}
	return nil
}

// List implements dataset.Storage. prefix is a folder or "".
func (s *Storage) List(_ context.Context, prefix string) ([]string, error) {
	var out []string
	err := s.walk(filepath.Join(s.root, filepath.FromSlash(prefix)), strings.Trim(prefix, "/"), func(_, name string) error {
		if base := name[strings.LastIndexByte(name, '/')+1:]; !strings.HasPrefix(base, tempPrefix) {
			out = append(out, name)
		}
		return nil
	})
	slices.Sort(out)
	return out, err
}

// walk calls f with each file below dir: its path and its name below name.
func (s *Storage) walk(dir, name string, f func(path, name string) error) error {
	entries, err := s.disk.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		p, n := filepath.Join(dir, e.Name()), strings.TrimPrefix(name+"/"+e.Name(), "/")
		if e.IsDir() {
			err = s.walk(p, n, f)
		} else {
			err = f(p, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove implements dataset.Storage. Folders that become empty go too.
func (s *Storage) Remove(_ context.Context, name string) error {
	p, err := s.path(name)
	if err != nil {
		return err
	}
	if err := s.disk.Remove(p); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("remove %s: %w", p, err)
	}
	dir := filepath.Dir(p)
	for dir != s.root && s.disk.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
	return s.disk.SyncDir(dir)
}

// Lock implements dataset.Storage with flock. Releasing it takes the lock file, and folders that were made for it, away again if
// nothing else was kept.
func (s *Storage) Lock(_ context.Context, name string, owner []byte) (release func() error, err error) {
	p, err := s.path(name)
	if err != nil {
		return nil, err
	}
	var unlock func(bool) error
	for { // a holder that leaves may remove the folder between the two steps
		if err = s.mkdir(filepath.Dir(p)); err != nil {
			return nil, err
		}
		var held []byte
		unlock, held, err = s.disk.Lock(p, owner)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			if len(held) == 0 {
				held = []byte("another process")
			}
			return nil, &dataset.LockedError{Name: p, Owner: string(bytes.TrimSpace(held))}
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", p, err)
		}
		break
	}
	if err := s.sweep(); err != nil {
		return nil, errors.Join(err, unlock(false))
	}
	return func() error { return s.unlock(p, unlock) }, nil
}

// sweep removes what a killed process left half-written.
func (s *Storage) sweep() error {
	return s.walk(s.root, "", func(p, _ string) error {
		if strings.HasPrefix(filepath.Base(p), tempPrefix) {
			return s.disk.Remove(p)
		}
		return nil
	})
}

func (s *Storage) unlock(p string, unlock func(bool) error) error {
	entries, err := s.disk.ReadDir(s.root)
	alone := err == nil && len(entries) == 1 && filepath.Dir(p) == s.root
	if err := unlock(alone); err != nil || !alone {
		return err
	}
	s.mu.Lock()
	top := s.mu.made
	s.mu.Unlock()
	s.disk.Remove(s.root) // best effort: an empty folder is no harm
	if top == "" || !strings.HasPrefix(s.root, top) {
		return nil
	}
	for dir := filepath.Dir(s.root); len(dir) >= len(top); dir = filepath.Dir(dir) {
		if s.disk.Remove(dir) != nil {
			break
		}
	}
	return nil
}
