package triton

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-data/sluice/connectors/connectortest"
	"github.com/sluice-data/sluice/dataset/store"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
)

var servers struct {
	sync.Mutex
	byArgs map[string]*gputest.Server
}

// python finds the interpreter, or ends the test.
func python(t *testing.T) string {
	t.Helper()
	py := connectortest.Python(t, "tritonclient.grpc", "grpc")
	if py == "" {
		t.SkipNow()
	}
	return py
}

// start runs a server of its own.
func start(t *testing.T, args ...string) *gputest.Server {
	t.Helper()
	return gputest.Serve(t, python(t), args...)
}

// shared gives a server that all tests with these arguments use; nobody kills it.
func shared(t *testing.T, args ...string) *gputest.Server {
	t.Helper()
	servers.Lock()
	defer servers.Unlock()
	key := fmt.Sprint(args)
	if p := servers.byArgs[key]; p != nil {
		return p
	}
	p := start(t, args...)
	if servers.byArgs == nil {
		servers.byArgs = map[string]*gputest.Server{}
	}
	servers.byArgs[key] = p
	return p
}

func TestMain(m *testing.M) {
	rc := m.Run()
	for _, p := range servers.byArgs {
		p.Kill()
	}
	if left := leftovers(); rc == 0 && left != "" {
		fmt.Println("shared memory is left:", left)
		rc = 1
	}
	os.Exit(rc)
}

// leftovers names segments of this process's that still exist.
func leftovers() string {
	files, _ := filepath.Glob(filepath.Join(store.DefaultDir(), "sluice-*.lock"))
	for _, f := range files {
		if raw, _ := os.ReadFile(f); strings.TrimSpace(string(raw)) == strconv.Itoa(os.Getpid()) {
			return f
		}
	}
	return ""
}

// openModel opens a model of a server and closes it when the test ends.
func openModel(t *testing.T, p *gputest.Server, model string, opts gpu.Options) *Model {
	t.Helper()
	return openLimited(t, p, model, opts, messageLimit)
}

func openLimited(t *testing.T, p *gputest.Server, model string, opts gpu.Options, limit int) *Model {
	t.Helper()
	m, err := open("grpc://"+p.Host()+"/"+model, opts, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// floats makes an input of rows × n numbers in memory of the model's.
func floats(t *testing.T, m *Model, rows, n int) gpu.Tensor {
	t.Helper()
	b, err := m.Alloc(t.Context(), 4*rows*n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows * n {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(i)))
	}
	return gpu.Tensor{Name: "x", Type: gpu.FP32, Shape: []int64{int64(rows), int64(n)}, Data: b}
}
