//go:build sluicecrash

package commit

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Programs built with the tag sluicecrash kill themselves at the nth pass of a crash point, if SLUICE_CRASHPOINT=NAME:N says so, and compact
// the log of a run as soon as SLUICE_COMPACT_AFTER segments can be given up. Tests of whole programs use it.
func init() {
	if n, err := strconv.Atoi(os.Getenv("SLUICE_COMPACT_AFTER")); err == nil {
		compactAfter = n
	}
	point, nth, ok := strings.Cut(os.Getenv("SLUICE_CRASHPOINT"), ":")
	if !ok {
		return
	}
	at, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		fmt.Fprintf(os.Stderr, "SLUICE_CRASHPOINT: %v\n", err)
		os.Exit(2)
	}
	var passed atomic.Int64
	crashpoint = func(name string) {
		if name == point && passed.Add(1) == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
}
