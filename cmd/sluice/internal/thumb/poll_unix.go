//go:build unix

package thumb

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits until something can be read.
func readable(f *os.File, most time.Duration) bool {
	for deadline := time.Now().Add(most); ; {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}, int(left.Milliseconds())) //nolint:gosec // a descriptor
		if err == unix.EINTR && left > 0 {                                                                     //nolint:errorlint // returned bare
			continue
		}
		return err == nil && n > 0
	}
}
