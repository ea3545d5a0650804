package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// models are opened in the children of these tests.
var models = map[string]gpu.Opener{"fake": func(address string, opts gpu.Options) (gpu.Model, error) {
	if address == "fake:missing" {
		return nil, &dataset.FatalError{Err: errors.New("there is no such model")}
	}
	return &fake{dir: strings.TrimPrefix(address, "fake:"), opts: opts}, nil
}}

// fake is a model that does to its process what the first text of a request says, and answers with its inputs.
type fake struct {
	dir  string
	opts gpu.Options
	hold []byte
}

func (f *fake) Info(context.Context) (*gpu.Info, error) {
	if f.dir == "dies" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return &gpu.Info{Name: "fake", Version: f.opts.Version, Parallel: 2, Bytes: 1 << 20}, nil
}
func (*fake) Alloc(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }
func (*fake) Free([]byte)                                    {}
func (*fake) Healthy(context.Context) error                  { return nil }
func (*fake) Load(context.Context) (gpu.Load, error)         { return gpu.Load{}, gpu.ErrUnsupported }
func (*fake) Close() error                                   { return nil }

func (f *fake) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	what, _, _ := strings.Cut(string(req.Inputs[0].Strings[0]), ".")
	switch what {
	case "faults":
		p, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("read %d", p[0])
	case "panics":
		panic("index out of range in a model")
	case "killed":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "once":
		mark := filepath.Join(f.dir, string(req.Inputs[0].Strings[0]))
		if _, err := os.Stat(mark); err != nil {
			_ = os.WriteFile(mark, nil, 0o600)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	case "hangs":
		select {}
	case "slow":
		time.Sleep(50 * time.Millisecond)
	case "waits":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "refused":
		return nil, fmt.Errorf("input is of another shape: %w", gpu.ErrRequest)
	case "later":
		return nil, &dataset.TransientError{Err: errors.New("no device is free"), After: time.Second}
	case "wrong":
		return nil, &dataset.FatalError{Err: errors.New("the library is too old")}
	case "grows":
		f.hold = bytes.Repeat([]byte{1}, 600<<20)
		<-ctx.Done()
	case "large":
		return gpu.NewResponse([]gpu.Tensor{{Name: "y", Type: gpu.Uint8, Shape: []int64{3 << 20}, Data: bytes.Repeat([]byte{7}, 3<<20)}}, nil), nil
	}
	var outs []gpu.Tensor
	for _, t := range req.Inputs {
		t.Name += "2"
		outs = append(outs, t)
	}
	return gpu.NewResponse(outs, nil), nil
}

func openFake(t *testing.T, name string, o Models, opts gpu.Options) gpu.Model {
	t.Helper()
	m, err := o.Open("fake:"+name, opts)
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

// askFake asks with two inputs, of which the second lies in memory of Alloc, and checks the answer.
func askFake(ctx context.Context, m gpu.Model, what string) error {
	x, err := m.Alloc(ctx, 3<<10)
	if err != nil {
		return err
	}
	for i := range x {
		x[i] = byte(i * len(what))
	}
	want := bytes.Clone(x)
	resp, err := m.Infer(ctx, &gpu.Request{ID: what, Inputs: []gpu.Tensor{
		{Name: "s", Type: gpu.Bytes, Shape: []int64{2}, Strings: [][]byte{[]byte(what), nil}}, {Name: "x", Type: gpu.Int8, Shape: []int64{3, 1 << 10}, Data: x}}})
	if err != nil {
		return err
	}
	defer resp.Release()
	if strings.HasPrefix(what, "large") {
		if len(resp.Outputs) != 1 || len(resp.Outputs[0].Data) != 3<<20 || len(bytes.Trim(resp.Outputs[0].Data, "\x07")) > 0 {
			return fmt.Errorf("the large answer is %d outputs", len(resp.Outputs))
		}
		return nil
	}
	s, y := &resp.Outputs[0], &resp.Outputs[1]
	if s.Name != "s2" || string(s.Strings[0]) != what || len(s.Strings[1]) != 0 || y.Name != "x2" || fmt.Sprint(y.Shape) != "[3 1024]" || !bytes.Equal(y.Data, want) {
		return fmt.Errorf("the answer to %q is %+v %v", what, s, y.Shape)
	}
	return nil
}

// TestModelInChild asks many things at once, while some requests do to the child all that can be done to it: these fail, with their class, and no other.
func TestModelInChild(t *testing.T) {
	log := &dt.Journal{}
	m := openFake(t, "", Models{Grace: 100 * time.Millisecond, LimitBy: "timeout"}, gpu.Options{Timeout: time.Second, Version: "7", Log: log.Logger()})
	info, err := m.Info(t.Context())
	if err != nil || info.Name != "fake" || info.Version != "7" || info.Bytes <= 1<<20 {
		t.Fatalf("info is %+v, %v", info, err)
	}
	bad := map[string]struct{ cause, class string }{
		"faults.1": {"the process crashed by signal SIGSEGV; it said: ", "process crashed (SIGSEGV)"},
		"panics.1": {"it said: panic: index out of range in a model", "process ended"},
		"killed.1": {"killed by signal 9 (killed)", "process killed (SIGKILL)"},
		"hangs.1":  {"it took longer than 1.1s; its process was killed (timeout)", "timeout"},
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, 4)
	for i := range 60 {
		what := fmt.Sprintf("slow.%d", i)
		for name := range bad {
			if i == 10*len(name)%37 || i == 7+len(name) {
				what = name
			}
		}
		names := []string{what}
		if i == 30 {
			for name := range bad {
				names = append(names, name)
			}
		}
		for _, what := range names {
			limit <- struct{}{}
			wg.Go(func() {
				defer func() { <-limit }()
				err := askFake(t.Context(), m, what)
				want, isBad := bad[what]
				if !isBad {
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					return
				}
				if err == nil || !errors.Is(err, gpu.ErrRequest) || !strings.Contains(err.Error(), want.cause) || dataset.ClassOf(err) != want.class {
					t.Errorf("%s: the error is %v of class %q, want %q", what, err, dataset.ClassOf(err), want.class)
				}
			})
		}
	}
	wg.Wait()
	if !strings.Contains(log.String(), "the child of a model died") {
		t.Errorf("the deaths are not in the log:\n%s", log)
	}
}

// TestModelSecondChance has a child killed once for reasons of its own.
func TestModelSecondChance(t *testing.T) {
	m := openFake(t, t.TempDir(), Models{}, gpu.Options{})
	for _, what := range []string{"a", "once.1", "b", "once.2"} {
		if err := askFake(t.Context(), m, what); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestModelErrors: errors of the model keep what steers.
func TestModelErrors(t *testing.T) {
	m := openFake(t, "", Models{}, gpu.Options{})
	if err := askFake(t.Context(), m, "refused"); !errors.Is(err, gpu.ErrRequest) || !strings.Contains(err.Error(), "another shape") {
		t.Errorf("a refused request: %v", err)
	}
	if e, ok := errors.AsType[*dataset.TransientError](askFake(t.Context(), m, "later")); !ok || e.After != time.Second {
		t.Errorf("a transient error: %v", e)
	}
	if _, ok := errors.AsType[*dataset.FatalError](askFake(t.Context(), m, "wrong")); !ok {
		t.Error("a fatal error is none any more")
	}
	if err := askFake(t.Context(), m, "large"); err != nil {
		t.Error(err)
	}
	if _, err := openFake(t, "missing", Models{}, gpu.Options{}).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no such model") {
		t.Errorf("a missing model: %v", err)
	}
	if _, err := openFake(t, "dies", Models{}, gpu.Options{}).Info(t.Context()); err == nil || !strings.Contains(err.Error(), "killed by signal 9") {
		t.Errorf("a model that kills its child when it is opened: %v", err)
	}
	bad := gpu.Tensor{Name: "s", Type: gpu.Int8, Shape: []int64{4}, Data: []byte{1}}
	if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{bad}}); !errors.Is(err, gpu.ErrRequest) {
		t.Errorf("a tensor that is none: %v", err)
	}
}

// TestModelCancelled: a caller that leaves gets its answer at once, and what the child still touches is freed when it has answered.
func TestModelCancelled(t *testing.T) {
	m := openFake(t, "", Models{}, gpu.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the run was stopped")
	time.AfterFunc(30*time.Millisecond, func() { cancel(stopped) })
	if err := askFake(ctx, m, "waits"); !errors.Is(err, stopped) {
		t.Errorf("the error is %v", err)
	}
	if err := askFake(t.Context(), m, "a"); err != nil {
		t.Error(err)
	}
	_, _ = m.Alloc(t.Context(), 100) // never freed: Close does
}

// TestModelMemory has a child grow above its limit: it is killed, and the request at fault fails.
func TestModelMemory(t *testing.T) {
	if _, ok := child.MemoryOf(os.Getpid()); !ok {
		t.Skip("this system does not tell what a process takes")
	}
	mem := block.NewAllocator(block.NewPool(256<<20), nil)
	m := openFake(t, "", Models{}, gpu.Options{Memory: mem})
	err := askFake(t.Context(), m, "grows")
	if err == nil || dataset.ClassOf(err) != "process memory" || !strings.Contains(err.Error(), "--memory") {
		t.Errorf("the error is %v", err)
	}
	if err := askFake(t.Context(), m, "a"); err != nil {
		t.Error(err)
	}
}
