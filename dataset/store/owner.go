package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// Names in the folder: prefix + the owner's 12 hex digits, then ".lock" for its lock file or "-N" for a segment.
const (
	prefix     = "sluice-"
	idBytes    = 6
	lockSuffix = ".lock"
)

// owner is the lock file of one Shared.
type owner struct {
	dir, id string
	lock    *os.File
	count   atomic.Int64
}

// newOwner makes a lock file with a new name and locks it. A sweep may see it between the two steps and remove it; then it is made again.
func newOwner(dir string) (*owner, error) {
	for {
		raw := make([]byte, idBytes)
		if _, err := rand.Read(raw); err != nil {
			return nil, fmt.Errorf("name shared memory: %w", err)
		}
		id := hex.EncodeToString(raw)
		path := filepath.Join(dir, prefix+id+lockSuffix)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make lock file: %w", err)
		}
		if locked, err := tryLock(f); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close(), os.Remove(path))
		} else if locked && sameFile(f, path) {
			fmt.Fprintf(f, "%d\n", os.Getpid()) // for people; nothing reads it
			return &owner{dir: dir, id: id, lock: f}, nil
		}
		f.Close()
	}
}

// next names the next segment.
func (o *owner) next() string { return fmt.Sprintf("%s%s-%d", prefix, o.id, o.count.Add(1)) }

// close removes the lock file; segments were removed before.
func (o *owner) close() error {
	return errors.Join(os.Remove(o.lock.Name()), o.lock.Close())
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

func removeFile(dir, name string) {
	// The name may be gone already, by hand or by the cleaner of the folder: what counts is that it is.
	_ = os.Remove(filepath.Join(dir, name))
}

// Sweep removes the segments and lock files of owners that are dead from a folder and returns how many owners that were. Files that it may not
// touch, of other users, are left alone.
func Sweep(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("sweep shared memory: %w", err)
	}
	segments := map[string][]string{}
	for _, e := range entries {
		if id, ok := ownerOf(e.Name()); ok {
			segments[id] = append(segments[id], e.Name())
		}
	}
	swept := 0
	for id, names := range segments {
		if sweepOwner(dir, id, names) {
			swept++
		}
	}
	return swept, nil
}

// ownerOf takes the owner's digits out of a name of ours.
func ownerOf(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok || len(rest) <= 2*idBytes {
		return "", false
	}
	id, rest := rest[:2*idBytes], rest[2*idBytes:]
	if _, err := hex.DecodeString(id); err != nil {
		return "", false
	}
	return id, rest == lockSuffix || strings.HasPrefix(rest, "-")
}

// sweepOwner removes the files of one owner if it is dead.
func sweepOwner(dir, id string, names []string) bool {
	path := filepath.Join(dir, prefix+id+lockSuffix)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist): // half swept
	case err != nil:
		return false
	default:
		defer f.Close()
		if locked, err := tryLock(f); err != nil || !locked || !sameFile(f, path) {
			return false
		}
	}
	for _, name := range names {
		if !strings.HasSuffix(name, lockSuffix) {
			removeFile(dir, name)
		}
	}
	removeFile(dir, filepath.Base(path)) // last: without it the segments would have no owner to ask
	return true
}
