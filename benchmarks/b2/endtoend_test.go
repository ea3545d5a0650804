//go:build models

package b2

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sluice-data/sluice"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton"
	"github.com/sluice-data/sluice/gpu/triton/tritontest"
	"github.com/sluice-data/sluice/operators/infer"
)

const (
	photos    = 2000
	batchRows = 16
	e2eRounds = 3
)

// waiter stands in for a GPU: one request after the other, each of which takes a while and no processor.
type waiter struct {
	mu   sync.Mutex
	wait time.Duration
}

var _ gpu.Model = (*waiter)(nil)

// Info implements gpu.Model.
func (*waiter) Info(context.Context) (*gpu.Info, error) {
	return &gpu.Info{Name: "waiter", MaxBatch: batchRows, Parallel: 1, Inputs: []gpu.TensorInfo{{Name: "x", Type: gpu.FP32, Shape: []int64{-1, 224, 224, 3}}},
		Outputs: []gpu.TensorInfo{{Name: "y", Type: gpu.FP32, Shape: []int64{-1, 1}}}}, nil
}

// Alloc implements gpu.Model.
func (*waiter) Alloc(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }

// Free implements gpu.Model.
func (*waiter) Free([]byte) {}

// Infer implements gpu.Model.
func (w *waiter) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-time.After(w.wait):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	n := req.Inputs[0].Shape[0]
	return gpu.NewResponse([]gpu.Tensor{{Name: "y", Type: gpu.FP32, Shape: []int64{n, 1}, Data: make([]byte, 4*n)}}, func() {}), nil
}

// Healthy implements gpu.Model.
func (*waiter) Healthy(context.Context) error { return nil }

// Load implements gpu.Model.
func (*waiter) Load(context.Context) (gpu.Load, error) { return gpu.Load{}, gpu.ErrUnsupported }

// Close implements gpu.Model.
func (*waiter) Close() error { return nil }

// folder makes photos by copying one again and again.
func folder(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(tritontest.Root(t), "testdata", "photos", "coffee.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range photos {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.jpg", i)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// job runs the photos through a model and returns how long that took.
func job(t *testing.T, dir string, opener gpu.Opener) time.Duration {
	t.Helper()
	s, err := sluice.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// The photos are all the same: nothing may be asked once for several.
	spec, err := infer.Infer(infer.Deps{Open: map[string]gpu.Opener{"x": opener}},
		infer.Params{Model: "x:m", Columns: []string{"image", "->", "y"}, Running: infer.Running{Batch: batchRows, Nondeterministic: true}})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	n, err := s.Read(dir+"/*.jpg").Decode().Resize(224, 224).Step("to-tensor", "224x224").Via(spec).Drop("image").Count(t.Context())
	if err != nil || n != photos {
		t.Fatalf("%d rows, want %d: %v", n, photos, err)
	}
	return time.Since(begun)
}

func fixed(m gpu.Model) gpu.Opener {
	return func(string, gpu.Options) (gpu.Model, error) { return m, nil }
}

// TestOverlap runs JPEG files through a model that waits, longer, as long and shorter than decoding them takes: the slower of the two sets the pace.
func TestOverlap(t *testing.T) {
	dir := folder(t)
	job(t, dir, fixed(&waiter{})) // warm
	for _, share := range []float64{2, 1, 0.5} {
		var ratios []float64
		for range e2eRounds {
			decoding := job(t, dir, fixed(&waiter{}))
			each := time.Duration(share * float64(decoding) * batchRows / photos)
			both := job(t, dir, fixed(&waiter{wait: each}))
			decoding = (decoding + job(t, dir, fixed(&waiter{}))) / 2
			ratios = append(ratios, float64(both)/float64(max(decoding, each*photos/batchRows)))
		}
		t.Logf("the model takes %.1f times as long as decoding: wall time over the slower of the two %s   (goal 1.10)", share, spread(ratios))
	}
}

// TestSameCores runs the photos through a model of real Triton that computes on the same cores: wall time against all processor time, the server's
// included, divided by the cores. It says something only on a machine that does nothing else.
func TestSameCores(t *testing.T) {
	t.Setenv("OPENBLAS_NUM_THREADS", "1")
	cores := runtime.GOMAXPROCS(0)
	work := tritontest.Model{Name: "work", Type: "TYPE_FP32", Dims: "[-1, -1, -1]", Batch: batchRows, Count: cores, Source: `    def initialize(self, args):
        self.w = np.ones((150528, 64), np.float32)

    def execute(self, requests):
        out = []
        for r in requests:
            x = pb_utils.get_input_tensor_by_name(r, "x").as_numpy()
            y = x.reshape(len(x), -1) @ self.w
            out.append(answer(x[:, :1, :1, :] + 0 * y.sum()))
        return out
`}
	s := tritontest.Triton(t, tritontest.Repository(t, work))
	open := func(string, gpu.Options) (gpu.Model, error) {
		return triton.Open("triton://"+s.Host+"/work", gpu.Options{Shared: true, Slots: 64})
	}
	dir := folder(t)
	job(t, dir, open) // warm
	var ratios []float64
	for range e2eRounds {
		used, served := cpuTime(), s.CPU()
		wall := job(t, dir, open)
		used, served = cpuTime()-used, s.CPU()-served
		ratio := float64(wall) * float64(cores) / float64(used+served)
		t.Logf("wall %v, client %v, server %v of processor time on %d cores: %.2f", wall.Round(time.Millisecond), used.Round(time.Millisecond), served, cores, ratio)
		ratios = append(ratios, ratio)
	}
	t.Logf("wall time over processor time by cores %s   (goal 1.10)", spread(ratios))
}
