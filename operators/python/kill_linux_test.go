package python

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/store"
)

// engineVariable has the test binary be an engine that is killed; its value is the interpreter.
const engineVariable = "SLUICE_TEST_ENGINE"

// engine runs a stage whose calls hang, and says when they do.
func engine() {
	mem := block.NewAllocator(block.NewPool(1<<30), nil)
	spec := anyKind(Func("testdata/udf.py:hangs", Venv(os.Getenv(engineVariable)), Processes(2), Batch(4)))
	o, err := spec.New([]*arrow.Schema{table})
	if err == nil {
		rt := &inline{ctx: context.Background(), BenchRuntime: dt.BenchRuntime{Mem: mem}}
		if err = o.Open(context.Background(), rt); err == nil {
			go func() {
				until(context.Background(), func() bool { return busy(children(os.Getpid())) })
				fmt.Println("hangs", strings.Join(children(os.Getpid()), " "))
			}()
			var rec arrow.RecordBatch
			if rec, _, err = array.RecordFromJSON(memory.NewGoAllocator(), table, strings.NewReader(`[{"id":3}]`)); err == nil {
				err = o.Process(context.Background(), 0, dt.FromRecord(rec, 1).Blocks[0], nil)
			}
		}
	}
	fmt.Println("ended", err)
}

// TestKilledEngine kills an engine in the middle of calls: its processes end, and what it left in shared memory goes when the next store opens.
func TestKilledEngine(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), engineVariable+"="+python(t))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pids := strings.Fields(line)
	if err != nil || len(pids) < 2 || pids[0] != "hangs" {
		t.Fatalf("it says %q, %v", line, err)
	}
	left := ownedBy(cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, p := range pids[1:] {
		waitGone(t, p)
	}
	if len(left) == 0 {
		t.Error("it had no shared memory")
	}
	if _, err := store.Sweep(store.DefaultDir()); err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s was left", f)
		}
	}
}

// waitGone waits until a process has ended; it may be a zombie of somebody else's.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	until(ctx, func() bool {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	if ctx.Err() != nil {
		t.Errorf("process %s lives on", pid)
	}
}

// ownedBy lists the shared memory of a process.
func ownedBy(pid int) []string {
	var out []string
	locks, _ := filepath.Glob(store.DefaultDir() + "/sluice-*.lock")
	for _, l := range locks {
		if data, err := os.ReadFile(l); err == nil && strings.TrimSpace(string(data)) == fmt.Sprint(pid) {
			files, _ := filepath.Glob(strings.TrimSuffix(l, ".lock") + "*")
			out = append(out, files...)
		}
	}
	return out
}

// TestKilledProcess kills a process from outside in the middle of a call: the batch is tried again and no row is lost.
func TestKilledProcess(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("MARK", mark)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		until(t.Context(), func() bool {
			var pid int
			data, err := os.ReadFile(mark)
			if n, _ := fmt.Sscan(string(data), &pid); err != nil || n != 1 {
				return false
			}
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		})
	}()
	r, _ := run(t, udf(t, "waits_to_be_killed", Processes(1), Only()), 9, dt.Config{})
	<-killed
	if got := strings.Join(r.Rows(), " "); got != "0 1 2 3 4 5 6 7 8" || len(r.Failures) > 0 {
		t.Errorf("rows are %s, failures %v", got, r.Causes())
	}
}

// TestStrays has a function start programs of its own: they end with the process.
func TestStrays(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("MARK", mark)
	r, _ := run(t, udf(t, "starts_programs", Processes(1)), 2, dt.Config{})
	if r.NumRows() != 2 {
		t.Fatalf("%d rows came out, failures %v", r.NumRows(), r.Causes())
	}
	pids, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(pids)) {
		waitGone(t, p)
	}
}
