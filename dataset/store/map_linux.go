package store

import (
	"os"

	"golang.org/x/sys/unix"
)

// populate makes mmap touch every page, so that the first use of a slot costs no page fault.
const populate = unix.MAP_POPULATE

// DefaultDir is where shm_open of the C library looks.
func DefaultDir() string { return "/dev/shm" }

// reserve takes the space of a file at once.
func reserve(f *os.File, size int64) error {
	for {
		if err := unix.Fallocate(int(f.Fd()), 0, 0, size); err != unix.EINTR {
			return err
		}
	}
}
