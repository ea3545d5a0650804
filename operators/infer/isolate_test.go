package infer

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/isolate"
	"github.com/sluice-data/sluice/operators/media"
)

// TestMain is a child where a test starts one.
func TestMain(m *testing.M) {
	isolate.Serve(func() (*dataset.Registry, error) { return nil, errors.New("no steps here") },
		map[string]gpu.Opener{inProcessScheme: openDeadly, media.PictureScheme: openDeadlyPicture})
	os.Exit(m.Run())
}

// deadly is a model that answers the sum of a row, unless a number in it does something to its process.
type deadly struct{ gpu.Model }

// What numbers do.
const (
	kills = 1e6
	hangs = 1e7
)

func openDeadly(string, gpu.Options) (gpu.Model, error) { return deadly{}, nil }

func (deadly) Info(context.Context) (*gpu.Info, error) {
	return &gpu.Info{Name: "deadly", Version: "1", MaxBatch: 64, Parallel: 2, Bytes: 1,
		Inputs:  []gpu.TensorInfo{{Name: "x", Type: gpu.FP32, Shape: []int64{-1, 3, 1, 1}}},
		Outputs: []gpu.TensorInfo{{Name: "y", Type: gpu.FP32, Shape: []int64{-1, 1}}}}, nil
}

func (deadly) Infer(_ context.Context, req *gpu.Request) (*gpu.Response, error) {
	x := req.Inputs[0]
	rows := int(x.Shape[0])
	out := gpu.Tensor{Name: "y", Type: gpu.FP32, Shape: []int64{int64(rows), 1}}
	for i := range rows {
		sum := float32(0)
		for k := range 3 {
			switch v := float(x, 3*i+k); {
			case v == kills:
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			case v == hangs:
				select {}
			default:
				sum += v
			}
		}
		out.Data = binary.LittleEndian.AppendUint32(out.Data, math.Float32bits(sum))
	}
	time.Sleep(time.Millisecond)
	return gpu.NewResponse([]gpu.Tensor{out}, nil), nil
}

func (deadly) Alloc(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }
func (deadly) Free([]byte)                                    {}
func (deadly) Healthy(context.Context) error                  { return nil }
func (deadly) Close() error                                   { return nil }

// deadlyPicture is the real decoder of pictures, with a file that kills it.
type deadlyPicture struct{ gpu.Model }

var deadEnd = []byte("and nobody reads on")

func openDeadlyPicture(address string, opts gpu.Options) (gpu.Model, error) {
	m, err := media.OpenPicture(address, opts)
	return deadlyPicture{m}, err
}

func (p deadlyPicture) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	if bytes.HasSuffix(req.Inputs[0].Data, deadEnd) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	return p.Model.Infer(ctx, req)
}

// isolatedRun runs infer on rows with the model, and what else may take a process down, in child processes.
func isolatedRun(t *testing.T, p Params, isolated bool, schema *arrow.Schema, rows string) *dt.Result {
	t.Helper()
	spec, err := Infer(Deps{Open: map[string]gpu.Opener{inProcessScheme: openDeadly}}, p)
	if err != nil {
		t.Fatal(err)
	}
	if isolated {
		spec = spec.(dataset.PartIsolable).Isolated(10 * time.Second)
	}
	mem := arraytest.NewMemory(t)
	return dt.Run(t, mem, spec, dt.Config{}, dt.FromJSON(t, mem, schema, rows))
}

// TestIsolatedModel has rows take the model's process down in the middle of batches: they fail, and all others come, in their order.
func TestIsolatedModel(t *testing.T) {
	const rows = 100
	bad := map[int]float64{7: kills, 8: kills, 40: hangs, 99: kills}
	var in, want []string
	for i := range rows {
		x := float64(i)
		if v, ok := bad[i]; ok {
			x = v
		} else {
			want = append(want, fmt.Sprintf("[%d 1 0] | %d", i, i+1))
		}
		in = append(in, fmt.Sprintf(`{"x":[%v,1,0]}`, x))
	}
	p := Params{Model: "onnx:deadly.onnx", Columns: []string{"x", "->", "y"}, Running: Running{Batch: 8, Timeout: 200 * time.Millisecond}}
	r := isolatedRun(t, p, true, dt.Schema("x", arrow.ListOf(arrow.PrimitiveTypes.Float64)), "["+strings.Join(in, ",")+"]")
	if got := strings.Join(r.Rows(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("rows are\n%s", got)
	}
	if len(r.Failures) != len(bad) {
		t.Fatalf("%d rows failed: %v", len(r.Failures), r.Causes())
	}
	for _, f := range r.Failures {
		class, cause := "process killed (SIGKILL)", "killed by signal 9"
		if bad[int(f.Row.Position)] == hangs {
			class, cause = "timeout", "its process was killed (timeout of infer)"
		}
		if bad[int(f.Row.Position)] == 0 || dataset.ClassOf(f.Err) != class || !strings.Contains(f.Err.Error(), cause) {
			t.Errorf("row %d failed of class %q: %v", f.Row.Position, dataset.ClassOf(f.Err), f.Err)
		}
	}
}

// pictureCard has the deadly model take pictures of one pixel.
const pictureCard = `card: 1
name: one-pixel
inputs:
  - tensor: x
    column: image
    image: {width: 1, height: 1, fit: exact, mean: [0], std: [1]}
outputs:
  - column: y
    tensor: y
    values: {type: FP32, shape: [1]}
`

// TestIsolatedPictures has pictures that a card decodes take their process down, or be broken; the results of the others are those of decoding here.
func TestIsolatedPictures(t *testing.T) {
	card := filepath.Join(t.TempDir(), "one-pixel.yaml")
	if err := os.WriteFile(card, []byte(pictureCard), 0o600); err != nil {
		t.Fatal(err)
	}
	var in []string
	for i := range 30 {
		img := image.NewRGBA(image.Rect(0, 0, 20+i, 10))
		for k := range img.Pix {
			img.Pix[k] = byte(k*i + 100)
		}
		img.Set(0, 0, color.White)
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		file := b.Bytes()
		switch {
		case i == 11 || i == 29:
			file = append(file, deadEnd...)
		case i == 15:
			file = file[:len(file)/2]
		}
		in = append(in, fmt.Sprintf(`{"id":%d,"image":%q}`, i, base64.StdEncoding.EncodeToString(file)))
	}
	schema := dt.Schema("id", arrow.PrimitiveTypes.Int64, "image", arrow.BinaryTypes.Binary)
	p := Params{Model: "onnx:deadly.onnx", Card: card, Running: Running{Batch: 4, Nondeterministic: true}}
	all := "[" + strings.Join(in, ",") + "]"
	here, there := isolatedRun(t, p, false, schema, all), isolatedRun(t, p, true, schema, all)
	if len(here.Failures) != 1 || len(there.Failures) != 3 || here.NumRows() != 29 || there.NumRows() != 27 {
		t.Fatalf("%d rows and failures %v here, %d and %v there", here.NumRows(), here.Causes(), there.NumRows(), there.Causes())
	}
	known := map[string]bool{}
	for _, r := range here.Rows() {
		known[r] = true
	}
	for _, r := range there.Rows() {
		if !known[r] {
			t.Errorf("there is no row here as %.100s", r)
		}
	}
	for _, f := range there.Failures {
		class := "process killed (SIGKILL)"
		if f.Row.Position == 15 {
			class = "input"
		}
		if dataset.ClassOf(f.Err) != class {
			t.Errorf("row %d failed of class %q: %v", f.Row.Position, dataset.ClassOf(f.Err), f.Err)
		}
	}
}
