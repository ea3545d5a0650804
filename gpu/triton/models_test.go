//go:build models

package triton_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton"
	"github.com/sluice-data/sluice/gpu/triton/tritontest"
)

func open(t *testing.T, s *tritontest.Server, model string, opts gpu.Options) *triton.Model {
	t.Helper()
	m, err := triton.Open("triton://"+s.Host+"/"+model, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m.(*triton.Model)
}

// numbers makes an input of random bits that are no NaN.
func numbers(t *testing.T, m *triton.Model, shape ...int64) gpu.Tensor {
	t.Helper()
	in := gpu.Tensor{Name: "x", Type: gpu.FP32, Shape: shape}
	var err error
	if in.Data, err = m.Alloc(t.Context(), int(in.Len())*4); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, uint64(in.Len())))
	for i := range in.Len() {
		binary.LittleEndian.PutUint32(in.Data[4*i:], math.Float32bits(float32(r.NormFloat64())))
	}
	return in
}

// same asks an identity model and compares bits.
func same(t *testing.T, m *triton.Model, in gpu.Tensor) error {
	t.Helper()
	want := bytes.Clone(in.Data)
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
	if err != nil {
		return err
	}
	defer resp.Release()
	if !bytes.Equal(resp.Outputs[0].Data, want) || !slices.Equal(resp.Outputs[0].Shape, in.Shape) {
		t.Errorf("%s%v came back different", in.Type, in.Shape)
	}
	return nil
}

func classOf(err error) string {
	var tr *dataset.TransientError
	var fa *dataset.FatalError
	switch {
	case errors.As(err, &tr):
		return "transient"
	case errors.As(err, &fa):
		return "fatal"
	case errors.Is(err, gpu.ErrRequest):
		return "mistake"
	case err != nil:
		return "other"
	}
	return "none"
}

func ask(ctx context.Context, m *triton.Model, v float32) error {
	in := gpu.Tensor{Name: "x", Type: gpu.FP32, Shape: []int64{1, 1}, Data: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))}
	resp, err := m.Infer(ctx, &gpu.Request{Inputs: []gpu.Tensor{in}})
	if err == nil {
		resp.Release()
	}
	return err
}

// typed are the element types that the Python backend's numpy has.
var typed = map[string]gpu.DataType{"BOOL": gpu.Bool, "UINT8": gpu.Uint8, "UINT16": gpu.Uint16, "UINT32": gpu.Uint32, "UINT64": gpu.Uint64, "INT8": gpu.Int8,
	"INT16": gpu.Int16, "INT32": gpu.Int32, "INT64": gpu.Int64, "FP16": gpu.FP16, "FP32": gpu.FP32, "FP64": gpu.FP64}

func TestTriton(t *testing.T) {
	models := []tritontest.Model{tritontest.Identity, tritontest.Upper, tritontest.Grow, tritontest.Fail, tritontest.Slow, tritontest.Countdown}
	for name := range typed {
		models = append(models, tritontest.Model{Name: "ident_" + name, Type: "TYPE_" + name, Batch: 64})
	}
	s := tritontest.Triton(t, tritontest.Repository(t, models...), "--model-control-mode=explicit", "--load-model=*")
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprintf("exact/shared=%v", share), func(t *testing.T) { testExact(t, s, share) })
	}
	t.Run("bytes", func(t *testing.T) { testBytes(t, s, "upper", true) })
	t.Run("grow", func(t *testing.T) { testGrow(t, s) })
	t.Run("fail", func(t *testing.T) { testFail(t, s) })
	t.Run("queue", func(t *testing.T) { testQueue(t, s) })
	t.Run("deadline", func(t *testing.T) { testDeadline(t, s) })
	t.Run("cancel", func(t *testing.T) { testCancel(t, s) })
	t.Run("stream", func(t *testing.T) { testStream(t, s) })
	t.Run("info and load", func(t *testing.T) { testInfo(t, s) })
	t.Run("unknown", func(t *testing.T) {
		if _, err := open(t, s, "nope", gpu.Options{}).Info(t.Context()); classOf(err) != "fatal" {
			t.Errorf("an unknown model: %v", err)
		}
	})
}

func testExact(t *testing.T, s *tritontest.Server, share bool) {
	for name, dt := range typed {
		m := open(t, s, "ident_"+name, gpu.Options{Shared: share})
		for _, shape := range [][]int64{{1, 1}, {3, 5}, {64, 7000}} {
			in := gpu.Tensor{Name: "x", Type: dt, Shape: shape}
			var err error
			if in.Data, err = m.Alloc(t.Context(), int(in.Len())*dt.Size()); err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(3, 4))
			for i := range in.Data {
				if in.Data[i] = byte(r.Uint32()); dt == gpu.Bool {
					in.Data[i] &= 1
				}
			}
			if err := same(t, m, in); err != nil {
				t.Fatalf("%s%v: %v", dt, shape, err)
			}
		}
		if info, err := m.Info(t.Context()); err != nil || len(info.Notes) != 0 {
			t.Errorf("%s: notes are %q, %v", dt, info.Notes, err)
		}
	}
	m := open(t, s, "identity", gpu.Options{Shared: share})
	for _, n := range []int64{150528, 3 << 20} {
		if err := same(t, m, numbers(t, m, 1, n)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range int64(20) {
				if err := same(t, m, numbers(t, m, 1+i%7, 5000)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func testBytes(t *testing.T, s *tritontest.Server, model string, binaryToo bool) {
	for _, share := range []bool{false, true} {
		m := open(t, s, model, gpu.Options{Shared: share})
		lists := [][][]byte{{[]byte("hello"), []byte("a b")}, {bytes.Repeat([]byte("long "), 3000)}}
		if binaryToo {
			lists = append(lists, [][]byte{{0xff, 0xfe, 0}, {}})
		}
		for _, list := range lists {
			in := gpu.Tensor{Name: "x", Type: gpu.Bytes, Shape: []int64{int64(len(list)), 1}, Strings: list}
			resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range resp.Outputs[0].Strings {
				if !bytes.Equal(v, bytes.ToUpper(list[i])) && !bytes.Equal(v, list[i]) {
					t.Errorf("%q came back as %q", list[i], v)
				}
			}
			if len(resp.Outputs[0].Strings) != len(list) {
				t.Errorf("%d strings for %d", len(resp.Outputs[0].Strings), len(list))
			}
			resp.Release()
		}
	}
}

func testGrow(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "grow", gpu.Options{Shared: true})
	for _, n := range []int64{3000, 3000, 9000, 40000, 10} {
		in := numbers(t, m, n)
		want := bytes.Repeat(bytes.Clone(in.Data), 3)
		resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}})
		if err != nil {
			t.Fatalf("%d numbers: %v", n, err)
		}
		if !bytes.Equal(resp.Outputs[0].Data, want) {
			t.Errorf("%d numbers came back wrong", n)
		}
		resp.Release()
	}
}

// testFail goes from a refused row to a crashed model, and mends it.
func testFail(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "fail", gpu.Options{})
	ctx := t.Context()
	for _, tc := range []struct {
		v     float32
		class string
	}{{0, "none"}, {1, "mistake"}, {2, "other"}, {0, "none"}} {
		if err := ask(ctx, m, tc.v); classOf(err) != tc.class {
			t.Errorf("%v: %s, %v", tc.v, classOf(err), err)
		}
	}
	_ = ask(ctx, m, 3) // the model's process dies under this one
	if err := ask(ctx, m, 0); classOf(err) != "transient" || !strings.Contains(err.Error(), "unload and load") {
		t.Errorf("after the crash: %v", err)
	}
	if err := m.Healthy(ctx); classOf(err) != "transient" {
		t.Errorf("a crashed model is healthy: %v", err)
	}
	if err := errors.Join(m.UnloadModel(ctx, "fail"), m.LoadModel(ctx, "fail", "")); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.Now().Add(20 * time.Second)
	err := ask(ctx, m, 0)
	for ; err != nil && time.Now().Before(deadline); err = ask(ctx, m, 0) {
		<-tick.C
	}
	if err != nil {
		t.Fatalf("after the model was loaded again: %v", err)
	}
	if err := m.Healthy(ctx); err != nil {
		t.Errorf("a mended model: %v", err)
	}
}

func testQueue(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "slow", gpu.Options{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	classes := map[string]int{}
	for range 10 {
		wg.Go(func() {
			err := ask(t.Context(), m, 1)
			mu.Lock()
			defer mu.Unlock()
			classes[classOf(err)]++
		})
	}
	wg.Wait()
	if classes["none"] < 4 || classes["transient"] < 3 || len(classes) != 2 {
		t.Errorf("ten requests for a queue of four ended as %v", classes)
	}
}

func testDeadline(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "slow", gpu.Options{Timeout: 450 * time.Millisecond})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := ask(t.Context(), m, 1); err != nil && classOf(err) != "transient" {
				t.Errorf("late: %v", err)
			}
		})
	}
	wg.Wait()
}

// testCancel gives up on requests in shared memory and goes on at once.
func testCancel(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "slow", gpu.Options{Shared: true, Slots: 4})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		in := numbers(t, m, 1, 5000)
		_, err := m.Infer(ctx, &gpu.Request{Inputs: []gpu.Tensor{in}})
		cancel()
		if err == nil {
			t.Error("no deadline was kept")
		}
	}
	fresh := open(t, s, "identity", gpu.Options{Shared: true})
	if err := same(t, fresh, numbers(t, fresh, 2, 5000)); err != nil {
		t.Error(err)
	}
}

func testStream(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "countdown", gpu.Options{})
	req := func(n byte) *gpu.Request {
		return &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.Int32, Shape: []int64{1}, Data: []byte{n, 0, 0, 0}}}}
	}
	var got []byte
	for r, err := range m.Stream(t.Context(), req(4)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Outputs[0].Data[0])
		r.Release()
	}
	if !slices.Equal(got, []byte{4, 3, 2, 1}) {
		t.Errorf("responses are %v", got)
	}
	resp, err := m.Infer(t.Context(), req(3))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(resp.Outputs[0].Shape, []int64{3}) {
		t.Errorf("joined: %v", resp.Outputs[0].Shape)
	}
	resp.Release()
}

func testInfo(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "identity", gpu.Options{})
	if err := ask(t.Context(), m, 1); err != nil {
		t.Fatal(err)
	}
	info, err := m.Info(t.Context())
	if err != nil || info.MaxBatch != 64 || info.Parallel < 1 || info.Version != "1" || !slices.Equal(info.Inputs[0].Shape, []int64{-1, -1}) {
		t.Errorf("info is %+v, %v", info, err)
	}
	load, err := m.Load(t.Context())
	if err != nil || load.ComputeTime <= 0 {
		t.Errorf("load is %+v, %v", load, err)
	}
	list, err := m.Models(t.Context())
	if err != nil || len(list) < 6 {
		t.Errorf("models are %v, %v", list, err)
	}
}

func TestTritonRestart(t *testing.T) {
	repo := tritontest.Repository(t, tritontest.Identity)
	ports := tritontest.Ports(t, 3)
	s := tritontest.TritonAt(t, repo, ports)
	m := open(t, s, "identity", gpu.Options{Shared: true})
	if err := same(t, m, numbers(t, m, 2, 9000)); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if err := same(t, m, numbers(t, m, 2, 9000)); classOf(err) != "transient" {
		t.Fatalf("a dead server: %v", err)
	}
	s = tritontest.TritonAt(t, repo, ports)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for m.Healthy(t.Context()) != nil {
		<-tick.C
	}
	for range 3 {
		if err := same(t, m, numbers(t, m, 2, 9000)); err != nil {
			t.Errorf("after the restart: %v", err)
		}
	}
	if info, err := m.Info(t.Context()); err != nil || len(info.Notes) != 0 {
		t.Errorf("notes are %q, %v", info.Notes, err)
	}
}

func TestMLServer(t *testing.T) {
	s := tritontest.MLServer(t, tritontest.MLServerModels(t))
	testOther(t, s)
	m := open(t, s, "upper", gpu.Options{})
	var words []string
	in := gpu.Tensor{Name: "x", Type: gpu.Bytes, Shape: []int64{1, 1}, Strings: [][]byte{[]byte("one two three")}}
	for r, err := range m.Stream(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{in}}) {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, string(r.Outputs[0].Strings[0]))
		r.Release()
	}
	if len(words) != 3 {
		t.Errorf("the stream gave %q", words)
	}
}

func TestKServe(t *testing.T) {
	s := tritontest.KServe(t, tritontest.KServeProgram(t))
	testOther(t, s)
	m := open(t, s, "ident", gpu.Options{})
	if err := same(t, m, numbers(t, m, 1, 3<<20)); classOf(err) != "mistake" || !strings.Contains(err.Error(), "smaller batches") {
		t.Errorf("more than the server's message limit: %v", err)
	}
}

// testOther is what servers have that keep to the protocol's smallest part.
func testOther(t *testing.T, s *tritontest.Server) {
	m := open(t, s, "ident", gpu.Options{Shared: true})
	for _, n := range []int64{1, 4, 150528} {
		if err := same(t, m, numbers(t, m, 1, n)); err != nil {
			t.Errorf("%d numbers: %v", n, err)
		}
	}
	for _, dt := range []gpu.DataType{gpu.Int64, gpu.FP64, gpu.Uint8, gpu.Int32} {
		in := gpu.Tensor{Name: "x", Type: dt, Shape: []int64{2, 3}}
		in.Data = make([]byte, 6*dt.Size())
		in.Data[0], in.Data[len(in.Data)-dt.Size()] = 7, 9
		if err := same(t, m, in); err != nil {
			t.Errorf("%s: %v", dt, err)
		}
	}
	info, err := m.Info(t.Context())
	if err != nil || len(info.Notes) == 0 || !strings.Contains(strings.Join(info.Notes, " "), "shared memory is off") {
		t.Errorf("info is %+v, %v", info, err)
	}
	if _, err := m.Load(t.Context()); !errors.Is(err, gpu.ErrUnsupported) {
		t.Errorf("load: %v", err)
	}
	if err := m.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	testBytes(t, s, "upper", false)
	err = open(t, s, "nope", gpu.Options{}).Healthy(t.Context())
	if err == nil {
		t.Error("a model that is not there is healthy")
	}
	t.Logf("a model that is not there: %v", err)
}
