package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// thisProcess describes this process.
func thisProcess() leaseRecord {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	start, _ := processStart(os.Getpid())
	return leaseRecord{Machine: host, Boot: kernelText("/proc/sys/kernel/random/boot_id"), PIDs: pidNamespace(), PID: os.Getpid(), Start: start}
}

func kernelText(name string) string {
	raw, err := os.ReadFile(name) //nolint:gosec // a name of the kernel's
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func pidNamespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return link
}

// processStart is when a process began, in ticks since boot: field 22 of its stat, counted behind the name, which may hold anything.
func processStart(pid int) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("read /proc/%d/stat: it has %d fields", pid, len(fields))
	}
	if fields[0] == "Z" { // dead, and not yet waited for
		return "", fs.ErrNotExist
	}
	return fields[19], nil
}

// aliveHere tells whether the holder of a lease is alive, if it is a process of this machine that this one can see.
func (r leaseRecord) aliveHere() (alive, known bool) {
	me := thisProcess()
	if r.Boot == "" || r.PIDs == "" || me.Start == "" || r.Machine != me.Machine || r.Boot != me.Boot || r.PIDs != me.PIDs {
		return false, false
	}
	start, err := processStart(r.PID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, true
	case err != nil:
		return false, false
	}
	return start == r.Start, true
}
