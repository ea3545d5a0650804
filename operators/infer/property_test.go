package infer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/gputest"
)

// TestInferProperty draws rows, blocks, batches, windows, replicas and bad days. Every row comes out once, in order, with its identity and its own
// answer, or fails; the rows that fail are exactly those that the model refuses.
func TestInferProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.IntRange(0, 400).Draw(rt, "rows")
		distinct := rapid.IntRange(1, 300).Draw(rt, "distinct")
		poison := rapid.SampledFrom([]int{0, 0, 7, 40}).Draw(rt, "poison")
		shaky := rapid.SampledFrom([]int{0, 0, 10, 30}).Draw(rt, "shaky") // percent of requests that are refused or fail oddly
		replicas := rapid.IntRange(1, 4).Draw(rt, "replicas")
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		var mu sync.Mutex
		chance := func(n int) int { mu.Lock(); defer mu.Unlock(); return random.IntN(n) }
		e := engine{}
		var hosts []string
		for i := range replicas {
			host := fmt.Sprint("h", i)
			answer := double(func(x float32) error {
				if poison > 0 && int(x)%poison == 1 {
					return fmt.Errorf("%w: %v", gpu.ErrRequest, x)
				}
				return nil
			})
			e[host] = gputest.New(t, doubler("m"), func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error) {
				if chance(100) < shaky {
					return nil, &dataset.TransientError{Err: errors.New("the queue is full")}
				}
				return answer(ctx, req)
			})
			hosts = append(hosts, host)
		}
		dead := replicas - 1 // one replica is dead from the start, if there are several
		if dead > 0 {
			e[hosts[dead]].Kill(errors.New("connection refused"))
		}
		xs := make([]float64, rows)
		var want, causes []string
		for i := range xs {
			xs[i] = float64(chance(distinct))
			switch {
			case chance(20) == 0:
				xs[i] = nan
				want = append(want, fmt.Sprintf("%d:null", i))
			case poison > 0 && int(xs[i])%poison == 1:
				causes = append(causes, fmt.Sprintf("1:%d", i))
			default:
				want = append(want, fmt.Sprintf("%d:%v", i, 2*xs[i]))
			}
		}
		p := Params{Model: "fake://" + strings.Join(hosts, ",") + "/m", Columns: []string{"x", "->", "y"}, Running: Running{
			Batch: rapid.IntRange(1, 9).Draw(rt, "batch"), Window: rapid.IntRange(1, 20).Draw(rt, "window"), Retries: 60,
			BatchBytes: dataset.ByteSize(rapid.IntRange(1, 100).Draw(rt, "batchBytes")),
		}}
		size := rapid.IntRange(1, 120).Draw(rt, "cut")
		cfg := dt.Config{BlockBytes: int64(rapid.IntRange(1, 2000).Draw(rt, "blockBytes"))}
		var have string
		var failed []string
		synctest.Test(t, func(t *testing.T) { // waits between tries take no time here
			mem := arraytest.NewMemory(t)
			got := dt.Run(t, mem, mustInfer(t, e, p), cfg, cut(dt.FromJSON(t, mem, numbers, rowsOf(xs...)), size))
			have = rendered(got)
			for _, f := range got.Failures {
				failed = append(failed, dt.IDText(f.Row))
			}
		})
		if have != strings.Join(want, " ") {
			rt.Fatalf("rows are %s, want %s", have, strings.Join(want, " "))
		}
		if !slices.Equal(failed, causes) {
			rt.Fatalf("failed rows are %v, want %v", failed, causes)
		}
	})
}

// TestInferGoesOnBehindRowsWithoutRequests: nulls complete at once, and requests behind more of them than may run ahead must not wait for the end of the block.
func TestInferGoesOnBehindRowsWithoutRequests(t *testing.T) {
	e := engine{"a": gputest.New(t, doubler("m"), double(nil))}
	mem := arraytest.NewMemory(t)
	p := Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{Batch: 1, Window: 1}}
	got := dt.Run(t, mem, mustInfer(t, e, p), dt.Config{BlockBytes: 1}, dt.FromJSON(t, mem, numbers, rowsOf(nan, nan, nan, 1, 2, 3)))
	if s := rendered(got); s != "0:null 1:null 2:null 3:2 4:4 5:6" {
		t.Errorf("rows are %s", s)
	}
}

// cut divides the block of an input into blocks of n rows.
func cut(in dt.Input, n int) dt.Input {
	whole := in.Blocks[0]
	defer whole.Release()
	var out []*block.Block
	for at := 0; at < whole.NumRows(); at += n {
		out = append(out, whole.Slice(at, min(n, whole.NumRows()-at)))
	}
	return dt.Input{Schema: in.Schema, Blocks: out}
}

// TestInferSurvivesAReplica kills one of three replicas while its requests are in flight: no row is lost, and only those requests are asked again.
func TestInferSurvivesAReplica(t *testing.T) {
	e := engine{}
	var flying, killed atomic.Int64
	hold := make(chan struct{})
	for _, h := range []string{"a", "b", "c"} {
		answer := double(nil)
		e[h] = gputest.New(t, doubler("m"), func(ctx context.Context, req *gpu.Request) ([]gpu.Tensor, error) {
			if h != "c" {
				return answer(ctx, req)
			}
			// The replica that will die hangs on its requests until it does.
			if flying.Add(1) == 2 {
				go func() {
					killed.Store(int64(e["c"].Requests()))
					e["c"].Kill(&dataset.TransientError{Err: errors.New("connection reset by peer")})
					close(hold)
				}()
			}
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil, context.Cause(ctx)
		})
	}
	const rows = 600
	xs := make([]float64, rows)
	for i := range xs {
		xs[i] = float64(i)
	}
	mem := arraytest.NewMemory(t)
	p := Params{Model: "fake://a,b,c/m", Columns: []string{"x", "->", "y"}, Running: Running{Batch: 5, Retries: 3}}
	got := dt.Run(t, mem, mustInfer(t, e, p), dt.Config{}, cut(dt.FromJSON(t, mem, numbers, rowsOf(xs...)), 50))
	if got.NumRows() != rows || len(got.Failures) != 0 {
		t.Errorf("%d rows came out and %d failed", got.NumRows(), len(got.Failures))
	}
	asked := e["a"].Requests() + e["b"].Requests() + e["c"].Requests()
	if most := rows/5 + 10*2 + e["c"].Requests(); asked > most { // one request that is not full for each of ten blocks, and the lost ones
		t.Errorf("%d requests were made, want at most %d", asked, most)
	}
	if got.Warnings["replica ejected"] == 0 {
		t.Errorf("warnings are %v", got.Warnings)
	}
}

// TestInferEndsWithoutReplicas: when no replica comes back, the run ends and says what the last one said.
func TestInferEndsWithoutReplicas(t *testing.T) {
	e := engine{}
	for _, h := range []string{"a", "b"} {
		e[h] = gputest.New(t, doubler("m"), func(context.Context, *gpu.Request) ([]gpu.Tensor, error) {
			for _, m := range e {
				m.Kill(&dataset.TransientError{Err: errors.New("connection refused")})
			}
			return nil, &dataset.TransientError{Err: errors.New("connection refused")}
		})
	}
	mem := arraytest.NewMemory(t)
	p := Params{Model: "fake://a,b/m", Columns: []string{"x", "->", "y"}, Running: Running{Patience: 50 * time.Millisecond}}
	got := dt.Run(t, mem, mustInfer(t, e, p), dt.Config{WantError: true}, dt.FromJSON(t, mem, numbers, rowsOf(1, 2, 3)))
	var fatal *dataset.FatalError
	if !errors.As(got.Err, &fatal) || got.Err.Error() != "no replica was healthy for 50ms (a, b); the last one said: connection refused" {
		t.Errorf("error is %v", got.Err)
	}
}

// TestInferEndsOnManyErrors: max_error_rate ends the run, but not for a few.
func TestInferEndsOnManyErrors(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want string
	}{{0.5, ""}, {0.2, "40 of 160 rows failed, more than max_error_rate=0.2 allows"}} {
		e := engine{"a": gputest.New(t, doubler("m"), double(func(x float32) error {
			if int(x)%4 == 0 {
				return gpu.ErrRequest
			}
			return nil
		}))}
		xs := make([]float64, 160)
		for i := range xs {
			xs[i] = float64(i)
		}
		mem := arraytest.NewMemory(t)
		p := Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{MaxErrorRate: c.rate}}
		got := dt.Run(t, mem, mustInfer(t, e, p), dt.Config{WantError: true}, dt.FromJSON(t, mem, numbers, rowsOf(xs...)))
		if text := fmt.Sprint(got.Err); c.want != "" && !strings.Contains(text, "rows failed, more than max_error_rate=0.2 allows") || c.want == "" && got.Err != nil {
			t.Errorf("rate %v: error is %v", c.rate, got.Err)
		}
	}
}

// TestInferKeepsAnswers runs twice on one cache: the second run asks nothing; another version asks again.
func TestInferKeepsAnswers(t *testing.T) {
	dir := t.TempDir()
	about := doubler("m")
	run := func(about gpu.Info) (string, int) {
		e := engine{"a": gputest.New(t, about, double(func(x float32) error {
			if x == 13 {
				return gpu.ErrRequest
			}
			return nil
		}))}
		mem := arraytest.NewMemory(t)
		spec := mustInfer(t, e, Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{Cache: dir, Batch: 2}})
		got := dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, numbers, rowsOf(1, 2, 13, nan, 3, 2)))
		return rendered(got), e["a"].Requests()
	}
	const want = "0:2 1:4 3:null 4:6 5:4"
	first, asked := run(about)
	again, askedAgain := run(about)
	if first != want || again != want {
		t.Errorf("rows are %s and then %s", first, again)
	}
	if asked < 2 || askedAgain != 1 { // the row at fault is asked again
		t.Errorf("%d requests and then %d", asked, askedAgain)
	}
	about.Version = "2"
	if other, asked := run(about); other != want || asked < 2 {
		t.Errorf("another version gives %s in %d requests", other, asked)
	}
}

// BenchmarkInfer is the work of the operator a batch, with a model that answers at once.
func BenchmarkInfer(b *testing.B) {
	e := engine{"a": gputest.New(b, doubler("m"), double(nil))}
	const rows = 4096
	xs := make([]float64, rows)
	for i := range xs {
		xs[i] = float64(i)
	}
	text := rowsOf(xs...)
	for _, batch := range []int{1, 8} {
		b.Run(fmt.Sprint("batch=", batch), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(4 * rows)
			for b.Loop() {
				b.StopTimer()
				mem := arraytest.NewMemory(b)
				in := cut(dt.FromJSON(b, mem, numbers, text), 512)
				spec := mustInfer(b, e, Params{Model: "fake://a/m", Columns: []string{"x", "->", "y"}, Running: Running{Batch: batch}})
				b.StartTimer()
				if got := dt.Run(b, mem, spec, dt.Config{}, in); got.NumRows() != rows {
					b.Fatal(got.NumRows())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows/float64(batch)), "ns/batch")
		})
	}
}
