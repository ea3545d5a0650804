package python

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"go.uber.org/goleak"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
)

// TestMain looks for what tests leave behind: goroutines, processes and shared memory.
func TestMain(m *testing.M) {
	if os.Getenv(engineVariable) != "" {
		engine()
		return
	}
	before := segments()
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if left := children(os.Getpid()); len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes were left: %v\n", left)
		code = 1
	}
	for s := range segments() {
		if _, was := before[s]; !was && ours(s) {
			fmt.Fprintf(os.Stderr, "shared memory was left: %s\n", s)
			code = 1
		}
	}
	os.Exit(code)
}

// segments lists the shared memory of this machine's stores.
func segments() map[string]struct{} {
	out := map[string]struct{}{}
	found, _ := filepath.Glob("/dev/shm/sluice-*")
	for _, f := range found {
		out[f] = struct{}{}
	}
	return out
}

// ours says whether a segment belongs to this process: it has its lock file open.
func ours(segment string) bool {
	base := filepath.Base(segment)
	owner, _, _ := strings.Cut(strings.TrimPrefix(base, "sluice-"), "-")
	owner, _, _ = strings.Cut(owner, ".")
	pid, err := os.ReadFile("/dev/shm/sluice-" + owner + ".lock")
	return err == nil && strings.TrimSpace(string(pid)) == fmt.Sprint(os.Getpid())
}

// children lists the processes that a process has started and that live.
func children(pid int) []string {
	var out []string
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range stats {
		data, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		rest := string(data[strings.LastIndex(string(data), ")")+1:])
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == fmt.Sprint(pid) && fields[0] != "Z" {
			out = append(out, filepath.Base(filepath.Dir(f)))
		}
	}
	return out
}

// python finds an interpreter with pyarrow and numpy, or ends the test.
func python(t testing.TB) string {
	p := connectortest.Python(t, "pyarrow", "numpy")
	if p == "" {
		t.SkipNow()
	}
	return p
}

var table = dt.Schema("id", arrow.PrimitiveTypes.Int64, "text", arrow.BinaryTypes.String)

// rows makes n rows of the table: id counts from 0.
func rows(t *testing.T, mem *arraytest.Memory, n int) dt.Input {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"id":%d,"text":"row %d ä€😀"}`, i, i)
	}
	return dt.FromJSON(t, mem, table, "["+strings.TrimPrefix(b.String(), ",")+"]")
}

// udf is the step for a function of testdata/udf.py.
func udf(t testing.TB, name string, opts ...Option) *spec {
	return anyKind(Class("testdata/udf.py:"+name, append([]Option{Venv(python(t)), Processes(1)}, opts...)...))
}

// anyKind takes classes and functions alike, as the step of pipelines does.
func anyKind(s dataset.Spec) *spec {
	sp := s.(*spec)
	sp.kind = ""
	return sp
}

// run runs a function on n rows in one block.
func run(t *testing.T, s dataset.Spec, n int, cfg dt.Config) (*dt.Result, *arraytest.Memory) {
	t.Helper()
	mem := arraytest.NewMemory(t)
	return dt.Run(t, mem, s, cfg, rows(t, mem, n)), mem
}

// until looks again and again until ok, or until ctx ends.
func until(ctx context.Context, ok func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
