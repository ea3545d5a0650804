package file

import "golang.org/x/sys/unix"

// adviseSequential tells the kernel how a file will be read. It is advice only: nothing depends on it.
func adviseSequential(fd int, off, n int64) { _ = unix.Fadvise(fd, off, n, unix.FADV_SEQUENTIAL) }
