package executor

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// fallbackMemory is assumed where the machine does not tell its memory.
const fallbackMemory = 8 << 30

// DefaultMemory is 60 % of the smaller of the control group's limit and the machine's memory.
func DefaultMemory() int64 {
	return int64(float64(min(machineMemory(), cgroupLimit())) * 0.6)
}

// machineMemory reads MemTotal.
func machineMemory() int64 {
	if runtime.GOOS != "linux" {
		return fallbackMemory
	}
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return fallbackMemory
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		fields := strings.Fields(sc.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kb << 10
			}
		}
	}
	return fallbackMemory
}

// cgroupLimit reads the limit of this process's control group, version 2 or 1; no limit is the largest number.
func cgroupLimit() int64 {
	own := ""
	if raw, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
				own = p
			}
		}
	}
	limit := int64(math.MaxInt64)
	for dir := filepath.Join("/sys/fs/cgroup", own); ; dir = filepath.Dir(dir) {
		if raw, err := os.ReadFile(filepath.Join(dir, "memory.max")); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil {
				limit = min(limit, n)
			}
		}
		if dir == "/sys/fs/cgroup" || dir == "/" || dir == "." {
			break
		}
	}
	if raw, err := os.ReadFile("/sys/fs/cgroup/memory/memory.limit_in_bytes"); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64); err == nil {
			limit = min(limit, n)
		}
	}
	return limit
}
