package child

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes makes a process a group of its own, which a Ctrl-C for us does not reach, and has the kernel end it when we end.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// waitEnd waits until a child has ended, without taking note of it.
func waitEnd(pid int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return
		}
	}
}

// MemoryOf returns the resident memory of a process without shared segments, which are charged to where they belong.
func MemoryOf(pid int) (int64, bool) { return residentOf(pid, "\nRssAnon:", "\nRssFile:") }

// PrivateOf returns the resident memory of a process that is nobody else's: without files that it maps, such as its program.
func PrivateOf(pid int) (int64, bool) { return residentOf(pid, "\nRssAnon:") }

func residentOf(pid int, names ...string) (int64, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	n := int64(0)
	for _, name := range names {
		_, rest, ok := bytes.Cut(data, []byte(name))
		if !ok {
			return 0, false
		}
		fields := bytes.Fields(rest[:min(len(rest), 64)])
		if len(fields) == 0 {
			return 0, false
		}
		kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
		if err != nil {
			return 0, false
		}
		n += kb << 10
	}
	return n, true
}
