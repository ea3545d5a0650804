//go:build unix && !linux

package child

import "syscall"

// attributes makes a process a group of its own, which a Ctrl-C for us does not reach. When we end, a pipe that it reads tells it.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// waitEnd does nothing: the wait that follows does it all.
func waitEnd(int) {}

// MemoryOf is not known here.
func MemoryOf(int) (int64, bool) { return 0, false }

// PrivateOf is not known here.
func PrivateOf(int) (int64, bool) { return 0, false }
