package isolate

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
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

// parentVariable has the test binary be an engine that is killed while its child hangs.
const parentVariable = "SLUICE_TEST_PARENT"

// loud is a runtime that logs to standard output.
type loud struct{ dt.BenchRuntime }

func (*loud) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stdout, nil)) }

func parent() {
	rt := &loud{dt.BenchRuntime{Mem: block.NewAllocator(block.NewPool(1<<30), nil)}}
	o, err := Wrap(&decoder{}, time.Hour).New([]*arrow.Schema{table})
	if err == nil {
		err = o.Open(context.Background(), rt)
	}
	var rec arrow.RecordBatch
	if err == nil {
		rec, _, err = array.RecordFromJSON(memory.NewGoAllocator(), table, strings.NewReader(`[{"id":1,"file":"hangs.1"}]`))
	}
	if err == nil {
		err = o.Process(context.Background(), 0, dt.FromRecord(rec, 1).Blocks[0], func(b *block.Block) error { b.Release(); return nil })
	}
	fmt.Println("ended", err)
}

// TestKilledEngine kills an engine in the middle of a call: its child ends, and the next store removes what it left.
func TestKilledEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), parentVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	lines := bufio.NewScanner(out)
	for pid == 0 && lines.Scan() {
		if _, rest, ok := strings.Cut(lines.Text(), `line="hangs `); ok {
			_, _ = fmt.Sscan(strings.TrimSuffix(strings.TrimSpace(rest), `"`), &pid)
		}
	}
	if pid == 0 {
		t.Fatal("the child never said that it hangs")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ; syscall.Kill(pid, 0) == nil; <-tick.C { // the test's own limit ends this
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
	}
	if _, err := store.Sweep(store.DefaultDir()); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(store.DefaultDir(), "sluice-*.lock"))
	for _, f := range left {
		if owner, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(owner)) == fmt.Sprint(cmd.Process.Pid) {
			t.Errorf("%s was left", f)
		}
	}
}
