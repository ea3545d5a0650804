//go:build unix

package cli

import "golang.org/x/sys/unix"

// openFiles returns the limits of open files of this process.
func openFiles() (soft, hard int64, ok bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, false
	}
	return int64(min(uint64(r.Cur), 1<<62)), int64(min(uint64(r.Max), 1<<62)), true
}
