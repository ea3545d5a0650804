package triton

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
)

// The classes of errors.
const (
	mistake   = "mistake"
	transient = "transient"
	fatal     = "fatal"
	other     = "other"
)

func classOf(err error) string {
	var tr *dataset.TransientError
	var fa *dataset.FatalError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &tr):
		return transient
	case errors.As(err, &fa):
		return fatal
	case errors.Is(err, gpu.ErrRequest):
		return mistake
	}
	return other
}

func TestErrorClasses(t *testing.T) {
	p := shared(t)
	for _, tc := range []struct{ model, class, words string }{
		{"stub", transient, "unload and load it"},
		{"boom", other, "ValueError: boom"},
		{"queue", transient, "Exceeds maximum queue size"},
		{"expired", transient, "timeout expired"},
		{"gone", fatal, "is not found"},
		{"nope", fatal, "is not found"},
		{"loading", transient, "no available versions"},
		{"refused", mistake, "row refused"},
		{"secret", fatal, "token wanted"},
		{"rate", transient, "slow down"},
		{"wrong_dtype", other, "output y is INT64, the model gives FP32"},
		{"wrong_shape", other, "want"},
		{"negative_shape", other, "is impossible"},
		{"hang", transient, "no answer within 300ms"},
	} {
		for _, share := range []bool{false, true} {
			t.Run(tc.model+"/shared="+strconv.FormatBool(share), func(t *testing.T) {
				var acct account
				opts := gpu.Options{Shared: share, Memory: block.NewAllocator(block.NewPool(1<<30), &acct)}
				if tc.model == "hang" {
					opts.Timeout = 300 * time.Millisecond
				}
				m := openModel(t, p, tc.model, opts)
				b, err := m.Alloc(t.Context(), 4*2*2000)
				if err == nil {
					_, err = m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.FP32, Shape: []int64{2, 2000}, Data: b}}})
				}
				if classOf(err) != tc.class || !strings.Contains(err.Error(), tc.words) {
					t.Errorf("%s: %v; want %s with %q", classOf(err), err, tc.class, tc.words)
				}
				if tc.model == "stub" {
					if err := m.Healthy(t.Context()); classOf(err) != transient {
						t.Errorf("a crashed model is healthy: %v", err)
					}
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
				if n := acct.n.Load(); n != 0 {
					t.Errorf("%d bytes stay charged", n)
				}
			})
		}
	}
}

func TestMistakesStayHere(t *testing.T) {
	m := openModel(t, shared(t), "ident_FP32", gpu.Options{Shared: true})
	x := func(shape ...int64) gpu.Tensor {
		t := gpu.Tensor{Name: "x", Type: gpu.FP32, Shape: shape}
		t.Data = make([]byte, 4*t.Len())
		return t
	}
	for name, req := range map[string]*gpu.Request{
		"wrong type":        {Inputs: []gpu.Tensor{{Name: "x", Type: gpu.FP64, Shape: []int64{1, 1}, Data: make([]byte, 8)}}},
		"wrong name":        {Inputs: []gpu.Tensor{{Name: "z", Type: gpu.FP32, Shape: []int64{1}, Data: make([]byte, 4)}}},
		"wrong size":        {Inputs: []gpu.Tensor{{Name: "x", Type: gpu.FP32, Shape: []int64{2, 1}, Data: make([]byte, 4)}}},
		"batch too large":   {Inputs: []gpu.Tensor{x(65, 1)}},
		"no such output":    {Inputs: []gpu.Tensor{x(1, 1)}, Outputs: []string{"z"}},
		"strange parameter": {Inputs: []gpu.Tensor{x(1, 1)}, Parameters: map[string]any{"p": 1.5}},
	} {
		if _, err := m.Infer(t.Context(), req); classOf(err) != mistake {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// account counts what is charged.
type account struct{ n atomicInt }

func (a *account) Charge(n int64) { a.n.Add(n) }
func (a *account) Refund(n int64) { a.n.Add(-n) }

func TestRestartedServer(t *testing.T) {
	p := start(t)
	defer func() { p.Kill() }()
	m := openModel(t, p, "ident_FP32", gpu.Options{Shared: true})
	ask := func() error {
		in := floats(t, m, 2, 20000)
		want := bytes.Clone(in.Data)
		resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
		if err != nil {
			return err
		}
		defer resp.Release()
		if !bytes.Equal(resp.Outputs[0].Data, want) {
			t.Error("the answer differs")
		}
		return nil
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if err := ask(); classOf(err) != transient {
		t.Fatalf("a dead server: %v", err)
	}
	if err := m.Healthy(t.Context()); classOf(err) != transient {
		t.Errorf("a dead server is healthy: %v", err)
	}
	p = start(t, "--port", strconv.Itoa(p.Port))
	deadline := time.Now().Add(20 * time.Second)
	for m.Healthy(t.Context()) != nil && time.Now().Before(deadline) {
	}
	if err := ask(); err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if err := ask(); err != nil {
		t.Errorf("after the restart, again: %v", err)
	}
}

// TestKilledInFlight kills the server under requests: their slots must not come back before it is known to be gone.
func TestKilledInFlight(t *testing.T) {
	p := start(t)
	defer func() { p.Kill() }()
	m := openModel(t, p, "ident_FP32", gpu.Options{Shared: true})
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	warm(t, m)
	failed := make(chan error)
	in := floats(t, m, 1, 5000)
	go func() {
		_, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}, Parameters: map[string]any{"started": started, "until": filepath.Join(dir, "never")}})
		failed <- err
	}()
	await(t, started)
	p.Kill()
	if err := <-failed; classOf(err) != transient {
		t.Errorf("killed in flight: %v", err)
	}
	if n := m.slots.asideNow(); n != 2 {
		t.Errorf("%d slots are aside, want the input's and the output's", n)
	}
}

// TestCancelledSlot gives up on a request that the server goes on with: until it has answered, nobody gets its slots.
func TestCancelledSlot(t *testing.T) {
	p := shared(t)
	m := openModel(t, p, "ident_FP32", gpu.Options{Shared: true, Slots: 4})
	dir := t.TempDir()
	started, until := filepath.Join(dir, "started"), filepath.Join(dir, "until")
	warm(t, m)
	in := floats(t, m, 1, 5000)
	slot := &in.Data[0]
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := m.Infer(ctx, &gpu.Request{Inputs: []gpu.Tensor{in}, Parameters: map[string]any{"started": started, "until": until}})
		failed <- err
	}()
	await(t, started)
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if n := m.slots.asideNow(); n != 2 {
		t.Errorf("%d slots are aside, want 2", n)
	}
	for range 10 { // the ring goes on without it
		other := floats(t, m, 1, 5000)
		if &other.Data[0] == slot {
			t.Fatal("the slot was handed out while the server may write to it")
		}
		resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{other}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Release()
	}
	if err := os.WriteFile(until, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for m.slots.asideNow() > 0 && time.Now().Before(deadline) {
	}
	if n := m.slots.asideNow(); n != 0 {
		t.Errorf("%d slots are aside after the answer", n)
	}
}

// TestHungServer fills the ring with requests that never end: callers with a deadline fail, and others are not held up.
func TestHungServer(t *testing.T) {
	p := shared(t)
	m := openModel(t, p, "hang", gpu.Options{Shared: true, Slots: 2, Timeout: 50 * time.Millisecond})
	for range 12 {
		in := floats(t, m, 1, 5000)
		if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}}); classOf(err) != transient {
			t.Fatalf("hung: %v", err)
		}
	}
}

func TestOutputSlots(t *testing.T) {
	m := openModel(t, shared(t), "grow", gpu.Options{Shared: true})
	for _, n := range []int{3000, 3000, 9000, 40000, 10} { // unknown, known, too small, too small, too large
		in := gpu.Tensor{Name: "x", Type: gpu.FP32, Shape: []int64{int64(n)}, Data: make([]byte, 4*n)}
		resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(resp.Outputs[0].Data); got != 12*n {
			t.Errorf("%d bytes for %d numbers, want %d", got, n, 12*n)
		}
		resp.Release()
	}
}

func TestOversize(t *testing.T) {
	m := openLimited(t, shared(t), "oversize", gpu.Options{}, 1<<20)
	in := floats(t, m, 1, 10)
	if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}}); classOf(err) != mistake || !strings.Contains(err.Error(), "send smaller batches") {
		t.Errorf("an answer above the limit: %v", err)
	}
	in = floats(t, m, 2, 200000)
	if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}}); classOf(err) != mistake || !strings.Contains(err.Error(), "send smaller batches") {
		t.Errorf("a request above the limit: %v", err)
	}
}

func TestRestricted(t *testing.T) {
	m := openModel(t, shared(t, "--restricted"), "ident_FP32", gpu.Options{Shared: true})
	if _, err := m.Info(t.Context()); classOf(err) != fatal || !strings.Contains(err.Error(), "restriction") {
		t.Errorf("restricted: %v", err)
	}
}

func TestNotReady(t *testing.T) {
	if err := openModel(t, shared(t, "--not-ready"), "ident_FP32", gpu.Options{}).Healthy(t.Context()); classOf(err) != transient {
		t.Errorf("a server that is not ready: %v", err)
	}
	if err := openModel(t, shared(t), "unready", gpu.Options{}).Healthy(t.Context()); classOf(err) != transient {
		t.Errorf("a model that is not ready: %v", err)
	}
	if err := openModel(t, shared(t), "ident_FP32", gpu.Options{}).Healthy(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLostRegister loses the answer of the first registration: the second finds the name taken, and takes it over.
func TestLostRegister(t *testing.T) {
	m := openModel(t, shared(t, "--lose-first-register"), "ident_FP32", gpu.Options{Shared: true})
	in := floats(t, m, 1, 5000)
	if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}}); classOf(err) != transient {
		t.Fatalf("the lost answer: %v", err)
	}
	in = floats(t, m, 1, 5000)
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
	if info, err := m.Info(t.Context()); err != nil || len(info.Notes) != 0 {
		t.Errorf("notes are %v, %v", info.Notes, err)
	}
}

func TestServerDeadline(t *testing.T) {
	for limit, want := range map[time.Duration]string{3 * time.Second: "timeout is 2", time.Minute: "timeout is 5000000"} {
		m := openModel(t, shared(t), "deadline", gpu.Options{Timeout: limit})
		_, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{floats(t, m, 1, 1)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with a limit of %s: %v, want %q", limit, err, want)
		}
	}
	m := openModel(t, shared(t), "deadline", gpu.Options{})
	_, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{floats(t, m, 1, 1)}, Parameters: map[string]any{"timeout": int64(7)}})
	if err == nil || !strings.Contains(err.Error(), "timeout is 7") {
		t.Errorf("the caller's own limit: %v", err)
	}
}

// warm has the model learn how large its output is, so that the next has a slot.
func warm(t *testing.T, m *Model) {
	t.Helper()
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{floats(t, m, 1, 5000)}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Release()
}

// await waits for a file that the server makes.
func await(t *testing.T, path string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was not made", path)
		}
	}
}
