//go:build onnx && cgo

package onnx

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/gpu"
)

func mustOpen(t *testing.T, name string, opts gpu.Options) (gpu.Model, *gpu.Info) {
	t.Helper()
	m, err := Open("onnx:testdata/"+name+".onnx", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	info, err := m.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m, info
}

func floats(v ...float32) []byte {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

func TestIdentity(t *testing.T) {
	m, info := mustOpen(t, "identity", gpu.Options{})
	if info.MaxBatch == 0 || info.Bytes == 0 || info.Version == "" || info.Meta["labels"] != "a\nb" || len(info.Inputs) != 4 {
		t.Errorf("info is %+v", info)
	}
	if s := fmt.Sprint(info.Inputs); s != "[{f FP32 [-1 3]} {i INT64 [-1]} {b BOOL [-1 2]} {u UINT8 [-1 -1]}]" {
		t.Errorf("inputs are %s", s)
	}
	in := []gpu.Tensor{
		{Name: "u", Type: gpu.Uint8, Shape: []int64{2, 2}, Data: []byte{1, 2, 3, 255}},
		{Name: "f", Type: gpu.FP32, Shape: []int64{2, 3}, Data: floats(1, 2, 3, 4, 5, float32(math.NaN()))},
		{Name: "i", Type: gpu.Int64, Shape: []int64{2}, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 7), math.MaxUint64)},
		{Name: "b", Type: gpu.Bool, Shape: []int64{2, 2}, Data: []byte{0, 1, 1, 0}},
	}
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: in})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Release()
	for _, out := range resp.Outputs {
		for _, x := range in {
			if x.Name+"2" == out.Name && (string(x.Data) != string(out.Data) || fmt.Sprint(x.Shape) != fmt.Sprint(out.Shape)) {
				t.Errorf("%s came back as %+v", x.Name, out)
			}
		}
	}
	only, err := m.Infer(t.Context(), &gpu.Request{Inputs: in, Outputs: []string{"i2"}})
	if err != nil || len(only.Outputs) != 1 {
		t.Fatalf("one output was asked for: %+v, %v", only, err)
	}
	only.Release()
}

func TestFixedScalarAndText(t *testing.T) {
	m, info := mustOpen(t, "fixed", gpu.Options{})
	if info.MaxBatch != 0 {
		t.Errorf("a model without a free first dimension has batch %d", info.MaxBatch)
	}
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{
		{Name: "x", Type: gpu.FP32, Shape: []int64{1, 2}, Data: floats(2, 3)}, {Name: "k", Type: gpu.FP32, Data: floats(4)}}})
	if err != nil || string(resp.Outputs[0].Data) != string(floats(8, 12)) {
		t.Fatalf("answer is %+v, %v", resp, err)
	}
	resp.Release()
	u, _ := mustOpen(t, "upper", gpu.Options{})
	resp, err = u.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{{Name: "s", Type: gpu.Bytes, Shape: []int64{2}, Strings: [][]byte{[]byte("hé"), {}}}}})
	if err != nil || fmt.Sprintf("%q", resp.Outputs[0].Strings) != `["hé" ""]` {
		t.Fatalf("answer is %+v, %v", resp, err)
	}
	resp.Release()
}

func TestRequestsAtFault(t *testing.T) {
	m, _ := mustOpen(t, "fixed", gpu.Options{})
	k := gpu.Tensor{Name: "k", Type: gpu.FP32, Data: floats(4)}
	for _, c := range []struct{ in []gpu.Tensor }{
		{[]gpu.Tensor{k}},
		{[]gpu.Tensor{k, {Name: "x", Type: gpu.FP64, Shape: []int64{1, 1}, Data: make([]byte, 8)}}},
		{[]gpu.Tensor{k, {Name: "x", Type: gpu.FP32, Shape: []int64{1, 5}, Data: floats(1, 2, 3, 4, 5)}}},
		{[]gpu.Tensor{k, {Name: "x", Type: gpu.FP32, Shape: []int64{1, 2}, Data: floats(1)}}},
		{[]gpu.Tensor{k, {Name: "x", Type: gpu.FP32, Shape: []int64{0, 2}}}},
	} {
		if _, err := m.Infer(t.Context(), &gpu.Request{Inputs: c.in}); !errors.Is(err, gpu.ErrRequest) {
			t.Errorf("%+v: error is %v", c.in, err)
		}
	}
}

// TestRunsEndWithTheirContext stops a model that would work for minutes.
func TestRunsEndWithTheirContext(t *testing.T) {
	m, _ := mustOpen(t, "slow", gpu.Options{Timeout: 50 * time.Millisecond})
	req := func() *gpu.Request {
		return &gpu.Request{Inputs: []gpu.Tensor{{Name: "times", Type: gpu.Int64, Data: binary.LittleEndian.AppendUint64(nil, 1<<40)},
			{Name: "x", Type: gpu.FP32, Shape: []int64{256, 256}, Data: make([]byte, 4<<16)}}}
	}
	if _, err := m.Infer(t.Context(), req()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the run was stopped")
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
	if _, err := m.Infer(ctx, req()); !errors.Is(err, cause) {
		t.Errorf("error is %v", err)
	}
}

// TestSessionsAreShared opens one file many times at once.
func TestSessionsAreShared(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			m, err := Open("onnx:testdata/identity.onnx", gpu.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := m.Info(t.Context()); err != nil {
				t.Error(err)
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	loaded.Lock()
	defer loaded.Unlock()
	if len(loaded.sessions) != 0 {
		t.Errorf("%d sessions are left", len(loaded.sessions))
	}
}

// BenchmarkInfer is the overhead of a call: a model that does nothing, on a picture's bytes.
func BenchmarkInfer(b *testing.B) {
	m, err := Open("onnx:testdata/identity.onnx", gpu.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	const n = 150528
	in := []gpu.Tensor{{Name: "f", Type: gpu.FP32, Shape: []int64{n / 3, 3}, Data: make([]byte, 4*n)}, {Name: "i", Type: gpu.Int64, Shape: []int64{1}, Data: make([]byte, 8)},
		{Name: "b", Type: gpu.Bool, Shape: []int64{1, 2}, Data: make([]byte, 2)}, {Name: "u", Type: gpu.Uint8, Shape: []int64{1, 1}, Data: make([]byte, 1)}}
	b.SetBytes(4 * n)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := m.Infer(b.Context(), &gpu.Request{Inputs: in})
		if err != nil {
			b.Fatal(err)
		}
		resp.Release()
	}
}
