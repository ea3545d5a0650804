//go:build unix && !linux

package store

import "os"

const populate = 0

// DefaultDir is the folder for temporary files: this system has no folder of shared memory, but processes that map the same file share it too.
func DefaultDir() string { return os.TempDir() }

// reserve writes the whole file: this system has no portable way to take space without.
func reserve(f *os.File, size int64) error {
	zeroes := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeroes)) {
		if _, err := f.WriteAt(zeroes[:min(int64(len(zeroes)), size-at)], at); err != nil {
			return err
		}
	}
	return nil
}
