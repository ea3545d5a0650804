package infer

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
	"github.com/sluice-data/sluice/operators/internal/child"
)

var nan = math.NaN()

// doubler describes a model of y = 2x, for one number a row.
func doubler(name string) gpu.Info {
	return gpu.Info{
		Name: name, Version: "1", MaxBatch: 8,
		Inputs:  []gpu.TensorInfo{{Name: "x", Type: gpu.FP32, Shape: []int64{-1, 1}}},
		Outputs: []gpu.TensorInfo{{Name: "y", Type: gpu.FP32, Shape: []int64{-1, 1}}},
	}
}

func float(t gpu.Tensor, i int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
}

// double answers, but for the numbers that bad says are at fault.
func double(bad func(x float32) error) func(context.Context, *gpu.Request) ([]gpu.Tensor, error) {
	return func(_ context.Context, req *gpu.Request) ([]gpu.Tensor, error) {
		in := req.Inputs[0]
		n := int(in.Len())
		out := gpu.Tensor{Name: "y", Type: gpu.FP32, Shape: in.Shape, Data: make([]byte, 4*n)}
		for i := range n {
			x := float(in, i)
			if bad != nil {
				if err := bad(x); err != nil {
					return nil, err
				}
			}
			binary.LittleEndian.PutUint32(out.Data[4*i:], math.Float32bits(2*x))
		}
		return []gpu.Tensor{out}, nil
	}
}

// engine opens fakes by host: fake://a,b/m opens models["a"] and models["b"].
type engine map[string]*gputest.Model

func (e engine) deps() Deps {
	return Deps{Open: map[string]gpu.Opener{"fake": func(address string, _ gpu.Options) (gpu.Model, error) {
		host, _, _ := strings.Cut(strings.TrimPrefix(address, "fake://"), "/")
		m, ok := e[host]
		if !ok {
			return nil, fmt.Errorf("there is no host %s", host)
		}
		return shared{m}, nil
	}}}
}

// shared is a fake that may be opened and closed many times.
type shared struct{ *gputest.Model }

func (shared) Close() error { return nil }

func mustInfer(tb testing.TB, e engine, p Params) dataset.Spec {
	tb.Helper()
	s, err := Infer(e.deps(), p)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

var numbers = dt.Schema("n", arrow.PrimitiveTypes.Int64, "x", arrow.PrimitiveTypes.Float32)

// rowsOf makes rows of n = 0, 1, … and the given x; NaN is null.
func rowsOf(xs ...float64) string {
	rows := make([]string, len(xs))
	for i, x := range xs {
		rows[i] = fmt.Sprintf(`{"n":%d,"x":%v}`, i, x)
		if x != x {
			rows[i] = fmt.Sprintf(`{"n":%d,"x":null}`, i)
		}
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// results renders the rows that came out as "n:y".
func rendered(got *dt.Result) string {
	var rows []string
	for _, b := range got.Blocks {
		n, y := b.Column(0).(*array.Int64), b.Column(2).(*array.Float32)
		for i := range b.NumRows() {
			if y.IsNull(i) {
				rows = append(rows, fmt.Sprintf("%d:null", n.Value(i)))
			} else {
				rows = append(rows, fmt.Sprintf("%d:%v", n.Value(i), y.Value(i)))
			}
		}
	}
	return strings.Join(rows, " ")
}

func TestInfer(t *testing.T) {
	e := engine{"a": gputest.New(t, doubler("m"), double(func(x float32) error {
		if x == 13 {
			return fmt.Errorf("%w: 13 is out of range", gpu.ErrRequest)
		}
		return nil
	}))}
	rows := func(t *testing.T, mem *arraytest.Memory) arrow.RecordBatch {
		return arraytest.FromJSON(t, mem, numbers, rowsOf(1, 2, nan, 13, 5, 5, 0, 1.5, 13, -4, nan, 7))
	}
	dt.Shapes(t, rows, func(t *testing.T, mem *arraytest.Memory, in dt.Input) {
		spec := mustInfer(t, e, Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{Batch: 4}})
		got := dt.Run(t, mem, spec, dt.Config{}, in)
		if s, want := rendered(got), "0:2 1:4 2:null 4:10 5:10 6:0 7:3 9:-8 10:null 11:14"; s != want {
			t.Errorf("rows are %s, want %s", s, want)
		}
		if s := strings.Join(got.IDs(), " "); s != "1:0 1:1 1:2 1:4 1:5 1:6 1:7 1:9 1:10 1:11" {
			t.Errorf("identities are %s", s)
		}
		want := []string{"1:3: m on a, try 1: the request is at fault: 13 is out of range", "1:8: m on a, try 1: the request is at fault: 13 is out of range"}
		if got := got.Causes(); !slices.Equal(got, want) {
			t.Errorf("failures are %q", got)
		}
	})
}

// TestHangCostsTwoTimeouts has a row hang its model: the rows of its request are asked one by one, not in halves that each wait for the time-out.
func TestHangCostsTwoTimeouts(t *testing.T) {
	var hung, asked atomic.Int64
	slow := double(func(x float32) error {
		if x == 13 {
			hung.Add(1)
			return fmt.Errorf("%w: %w", gpu.ErrRequest, &child.Died{Text: "it took longer than 61s", Kind: "timeout", Final: true})
		}
		return nil
	})
	e := engine{"a": gputest.New(t, doubler("m"), func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error) {
		asked.Add(1)
		return slow(ctx, req)
	})}
	mem := arraytest.NewMemory(t)
	spec := mustInfer(t, e, Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{Batch: 8}})
	got := dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, numbers, rowsOf(1, 2, 3, 4, 13, 6, 7, 8)))
	if s, want := rendered(got), "0:2 1:4 2:6 3:8 5:12 6:14 7:16"; s != want || len(got.Failures) != 1 || dataset.ClassOf(got.Failures[0].Err) != "timeout" {
		t.Errorf("rows are %s, want %s, failures %v", s, want, got.Causes())
	}
	if hung.Load() != 2 || asked.Load() != 9 {
		t.Errorf("%d of %d requests hung, want 2 of 9", hung.Load(), asked.Load())
	}
}

// TestInferEqualRowsAskOnce counts the rows that the model saw.
func TestInferEqualRowsAskOnce(t *testing.T) {
	for _, c := range []struct {
		running Running
		seen    int
	}{{Running{}, 3}, {Running{Nondeterministic: true}, 9}} {
		var mu sync.Mutex
		seen := 0
		e := engine{"a": gputest.New(t, doubler("m"), double(func(float32) error {
			mu.Lock()
			defer mu.Unlock()
			seen++
			return nil
		}))}
		mem := arraytest.NewMemory(t)
		c.running.Batch = 3
		spec := mustInfer(t, e, Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: c.running})
		got := dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, numbers, rowsOf(1, 2, 3, 1, 2, 3, 3, 2, 1)))
		if s := rendered(got); s != "0:2 1:4 2:6 3:2 4:4 5:6 6:6 7:4 8:2" {
			t.Errorf("rows are %s", s)
		}
		if c.running.Nondeterministic && seen != c.seen || seen > 9 {
			t.Errorf("%+v: the model saw %d rows, want %d", c.running, seen, c.seen)
		}
	}
}

func TestInferRefuses(t *testing.T) {
	two := doubler("two")
	two.Inputs = append(two.Inputs, gpu.TensorInfo{Name: "z", Type: gpu.Int64, Shape: []int64{-1, 4}})
	e := engine{"a": gputest.New(t, doubler("m"), double(nil)), "two": gputest.New(t, two, double(nil))}
	schema := dt.Schema("x", arrow.PrimitiveTypes.Float32, "s", arrow.BinaryTypes.String, "y", arrow.PrimitiveTypes.Float32)
	cols := func(s string) []string { return strings.Fields(s) }
	for _, c := range []struct {
		p    Params
		want string
	}{
		{Params{}, "it needs the address of a model: infer onnx:FILE column"},
		{Params{Model: "m", Columns: cols("x -> z")}, `model "m" is no address: write onnx:FILE, onnx:NAME or triton://HOST:PORT/MODEL`},
		{Params{Model: "fake://a", Columns: cols("x -> z")}, `model "fake://a" names no model: write fake://HOST:PORT/MODEL`},
		{Params{Model: "fake://a,a/m", Columns: cols("x -> z")}, `model "fake://a,a/m" names a twice`},
		{Params{Model: "fame://a/m", Columns: cols("x -> z")}, `model "fame://a/m": there is no engine "fame" (did you mean "fake"?); there are fake`},
		{Params{Model: "fake://b/m", Columns: cols("x -> z")}, "open model fake://b/m: there is no host b"},
		{Params{Model: "fake://a/m"}, "name the columns that the model reads, as in: infer MODEL image -> logits"},
		{Params{Model: "fake://a/m", Columns: cols("x")}, "name the outputs of the model after ->, as in: infer MODEL image -> logits, or a card that does (card=NAME)"},
		{Params{Model: "fake://a/m", Columns: cols("x ->")}, "name the output columns after ->, or leave -> out for all that the model has"},
		{Params{Model: "fake://a/m", Columns: cols("w -> y:z")}, `no column "w" (did you mean "s"?)`},
		{Params{Model: "fake://a/m", Columns: cols("x -> y")}, `there is a column "y" already; name another (-> TENSOR:COLUMN), or drop or rename it first`},
		{Params{Model: "fake://a/m", Columns: cols("x -> v")}, `the model has no output "v"; it has y FP32[-1 1]`},
		{Params{Model: "fake://a/m", Columns: cols("s -> y:z")}, `column "s" is utf8, and input "x" of the model takes FP32[-1 1]`},
		{Params{Model: "fake://two/m", Columns: cols("x:x -> y:z")}, `input "z" (INT64[-1 4]) of the model is given no column; write z:COLUMN`},
		{Params{Model: "fake://a/m", Columns: cols("x -> y:z"), Running: Running{Batch: -1}}, "batch=-1: it must be 1 to 65536"},
		{Params{Model: "fake://a/m", Columns: cols("x -> y:z"), Running: Running{Cache: "c", Nondeterministic: true}},
			"cache keeps answers that are asked again, and nondeterministic=true says that those differ; leave one out"},
	} {
		s, err := Infer(e.deps(), c.p)
		if err == nil {
			_, err = s.Check([]*arrow.Schema{schema})
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}
