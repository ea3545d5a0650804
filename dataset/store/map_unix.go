//go:build unix

package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// createMapped makes a file of size bytes, all of them really there, and maps it.
func createMapped(dir, name string, size int64) (mem []byte, err error) {
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make segment: %w", err)
	}
	defer f.Close() // the mapping stays
	defer func() {
		if err != nil {
			os.Remove(path)
		}
	}()
	if err := reserve(f, size); err != nil {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EDQUOT) {
			free, _ := freeBytes(dir)
			return nil, fmt.Errorf("%w: %s has %d bytes free, %d are needed; give it more (docker run --shm-size, or mount -o remount,size=)",
				ErrFull, dir, free, size)
		}
		return nil, fmt.Errorf("reserve %d bytes in %s: %w", size, path, err)
	}
	mem, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|populate)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return mem, nil
}

// unmap cannot fail for a mapping that createMapped made.
func unmap(mem []byte) { _ = unix.Munmap(mem) }

// tryLock takes an exclusive lock on an open file; it belongs to f and ends with it, also when the process dies.
func tryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// freeBytes returns what may still be taken in the folder.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("look at %s: %w", dir, err)
	}
	if st.Blocks == 0 { // a tmpfs without a limit
		return math.MaxInt64, nil
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
