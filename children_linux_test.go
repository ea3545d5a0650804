package sluice_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/connectors/connectortest"
)

// heavy holds 60 MiB beside what its interpreter takes, more of it with every batch, and asks for as many processes as may be had.
const heavy = `
import time

class Heavy:
    schema = {"m": "int64"}

    def __init__(self):
        self.ballast = bytearray(b"x" * (40 << 20))

    def __call__(self, batch):
        if len(self.ballast) < 60 << 20:
            self.ballast += b"x" * (1 << 20)
        time.sleep(0.005)
        return {"m": [len(self.ballast)] * batch.num_rows}
`

// beyondBudget is what a run may take beside its budget.
const beyondBudget = 150 << 20

// TestMemoryOfChildren runs stages whose work is done by child processes: together with the program they stay within the budget and what a program may
// take beside it. Shared pages are counted once.
func TestMemoryOfChildren(t *testing.T) {
	python := connectortest.Python(t, "pyarrow")
	if python == "" {
		return
	}
	dir := t.TempDir()
	writeNumbers(t, dir, 8, 2000, false)
	code := filepath.Join(dir, "heavy.py")
	if err := os.WriteFile(code, []byte(heavy), 0o600); err != nil {
		t.Fatal(err)
	}
	writePhotos(t, dir, 60)
	const budget = 384 << 20
	for name, args := range map[string][]string{
		"python":  {fmt.Sprintf("%s/in-*.jsonl | python %s:Heavy batch=50 processes=8 | %s/p.parquet", dir, code, dir)},
		"isolate": {"--isolate", "--parallel", "4", fmt.Sprintf("%s/*.jpg | decode | resize 900x900 | %s/i.parquet", dir, dir)},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := sluiceCommand(t, append([]string{"--memory", strconv.Itoa(budget) + "B"}, args...)...)
			cmd.Env = append(cmd.Env, "SLUICE_PYTHON="+python)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			peak, most := watchFamily(cmd.Process.Pid, ended)
			if err := <-ended; err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			t.Logf("at most %d MiB in %d processes", peak>>20, most)
			if most < 2 {
				t.Errorf("there were never any children")
			}
			if peak > budget+beyondBudget {
				t.Errorf("it took %d MiB with its children, above the budget of %d MiB and %d MiB", peak>>20, budget>>20, beyondBudget>>20)
			}
		})
	}
}

// writePhotos writes pictures of 1600x1200.
func writePhotos(t *testing.T, dir string, n int) {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, 1600, 1200), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i * i >> 7)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%03d.jpg", i)), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// watchFamily looks at a process and its descendants until it has ended, whose outcome it leaves in ended, and returns the most memory that they took
// together, in bytes, and the most that there were.
func watchFamily(pid int, ended chan error) (peak int64, most int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			ended <- err
			return peak, most
		case <-tick.C:
		}
		sum, n := familyMemory(pid)
		peak, most = max(peak, sum), max(most, n)
	}
}

// familyMemory adds up the proportional memory of a process and its descendants.
func familyMemory(pid int) (bytes int64, processes int) {
	bytes, processes = proportional(pid), 1
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		data, err := os.ReadFile(l)
		if err != nil {
			continue // the thread has ended
		}
		for _, f := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(f); err == nil {
				b, n := familyMemory(child)
				bytes, processes = bytes+b, processes+n
			}
		}
	}
	return bytes, processes
}

// proportional is the memory of a process in bytes, of which what it shares with others is divided among them; 0 when it has ended.
func proportional(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}
