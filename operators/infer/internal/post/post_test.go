package post

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media"
)

func floats(shape []int64, v ...float32) View {
	b := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return View{Type: gpu.FP32, Shape: shape, Data: b}
}

func list(names ...string) Labels { return func(*Model) ([]string, error) { return names, nil } }

// one makes the column of one row, or returns the error.
func one(t *testing.T, o Output, about []gpu.TensorInfo, pic media.Geometry, v ...View) (string, error) {
	t.Helper()
	mem := arraytest.NewMemory(t)
	b, err := o.Bind(&Model{Outputs: about, Batched: true})
	if err != nil {
		return "", err
	}
	col := b.Builder(mem, 1)
	defer col.Release()
	if err := col.Append(v, pic); err != nil {
		return "", err
	}
	a := col.NewArray()
	defer a.Release()
	f, err := o.Field(nil)
	if err != nil {
		t.Fatal(err)
	}
	if f.Type.String() != a.DataType().String() {
		t.Errorf("the column is %s, Field says %s", a.DataType(), f.Type)
	}
	return strings.Clone(a.ValueStr(0)), nil // the array is released
}

func TestOutputs(t *testing.T) {
	nan := float32(math.NaN())
	scores := []gpu.TensorInfo{{Name: "s", Type: gpu.FP32, Shape: []int64{-1, 3}}}
	steps := []gpu.TensorInfo{{Name: "s", Type: gpu.FP32, Shape: []int64{-1, -1, 4}}}
	three := floats([]int64{3}, 1, 3, 2)
	for _, c := range []struct {
		out   Output
		about []gpu.TensorInfo
		v     View
		want  string
	}{
		{&Class{Tensor: "s", Kind: KindLabel, Labels: list("a", "b", "c")}, scores, three, "b"},
		{&Class{Tensor: "s", Kind: KindLabel, Labels: list("a", "b", "c"), Least: 4}, scores, three, "(null)"},
		{&Class{Tensor: "s", Kind: KindIndex}, scores, three, "1"},
		{&Class{Tensor: "s", Kind: KindScore, Apply: Softmax}, scores, three, "0.66524094"},
		{&Class{Tensor: "s", Kind: KindScore, Apply: Sigmoid}, scores, three, "0.95257413"},
		{&Class{Tensor: "s", Kind: KindTop, K: 2, Labels: list("a", "b", "c")}, scores, three, `[{"label":"b","score":3},{"label":"c","score":2}]`},
		{&Class{Tensor: "s", Kind: KindTop, K: 9, Least: 2.5, Labels: list("a", "b", "c")}, scores, three, `[{"label":"b","score":3}]`},
		{&Class{Tensor: "s", Kind: KindLabel, Labels: list("a", "b")}, scores, three, `error: output "s" of the model has 3 classes, and there are 2 labels`},
		{&Class{Tensor: "s", Kind: KindScore}, scores, floats([]int64{3}, 1, nan, 2), `error: output "s": score 1 is not a number`},
		{&Class{Tensor: "q", Kind: KindScore}, scores, three, `error: the model has no output "q"; it has s FP32[-1 3]`},
		{&CTC{Tensor: "s", Alphabet: list("x", "y")}, steps, floats([]int64{6, 4}, 0, 9, 0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9, 0, 0, 0, 0, 9), "xxy "},
		{&CTC{Tensor: "s", Alphabet: list("x", "y"), Confidence: true}, steps, floats([]int64{2, 4}, 0.1, 0.5, 0, 0, 0, 0.2, 0.9, 0), "0.7"},
		{&CTC{Tensor: "s", Alphabet: list("x", "y"), Confidence: true}, steps, floats([]int64{1, 4}, 9, 0, 0, 0), "(null)"},
		{&CTC{Tensor: "s", Alphabet: list("x", "y")}, scores, three, `error: output "s" of the model is [3] a row, and the alphabet has 2 letters and the blank`},
		{&Segments{Tensor: "s", Seconds: 0.1, Threshold: 0.5, MinSpeech: 0.2, MinSilence: 0.2}, scores,
			floats([]int64{12}, 0, .6, .9, .1, .9, .4, .1, .1, .9, .1, .1, .9), `[{"end":0.6000000000000001,"start":0.1}]`},
		{&Raw{Tensor: "s", Type: gpu.FP32, Shape: []int64{2}, Normalize: true}, []gpu.TensorInfo{{Name: "s", Type: gpu.FP32, Shape: []int64{-1, 2}}}, floats([]int64{2}, 3, 4), "[0.6,0.8]"},
		{&Raw{Tensor: "s", Type: gpu.FP32, Shape: []int64{2}, Apply: Softmax}, []gpu.TensorInfo{{Name: "s", Type: gpu.FP16, Shape: []int64{-1, 2}}}, floats([]int64{2}, 1, 1), "[0.5,0.5]"},
		{&Raw{Tensor: "s", Type: gpu.FP32, Shape: []int64{2}}, scores, three, `error: output "s" came with shape [3] a row, and [2] was declared`},
		{&Raw{Tensor: "s", Type: gpu.Int64, Shape: []int64{2}}, scores, three, `error: output "s" of the model is FP32; INT64 was declared`},
	} {
		got, err := one(t, c.out, c.about, media.Geometry{}, c.v)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.out, got, c.want)
		}
	}
}

// TestRegions draws two words of one line and one of the next, and a speck.
func TestRegions(t *testing.T) {
	const w, h = 40, 20
	prob := make([]float32, w*h)
	fill := func(x0, y0, x1, y1 int, p float32) {
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				prob[y*w+x] = p
			}
		}
	}
	fill(22, 2, 36, 6, 0.9)
	fill(2, 3, 18, 7, 0.9)
	fill(4, 12, 20, 16, 0.8)
	fill(30, 12, 32, 14, 0.9) // too small
	fill(24, 17, 36, 20, 0.4) // too faint
	out := &Regions{Tensor: "m", Threshold: 0.3, BoxThreshold: 0.5, Least: 3}
	about := []gpu.TensorInfo{{Name: "m", Type: gpu.FP32, Shape: []int64{-1, 1, -1, -1}}}
	got, err := one(t, out, about, media.Geometry{Width: 80, Height: 40, W: w, H: h, UsedW: w, UsedH: h}, floats([]int64{1, h, w}, prob...))
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"height":8,"score":0.9,"width":32,"x":4,"y":6},{"height":8,"score":0.9,"width":28,"x":44,"y":4},{"height":8,"score":0.8,"width":32,"x":8,"y":24}]`
	if got != want {
		t.Errorf("boxes are %s, want %s", got, want)
	}
}

func TestDetections(t *testing.T) {
	boxes := floats([]int64{4, 4}, 10, 10, 20, 20, 11, 10, 21, 20, 10, 10, 20, 20, 40, 40, 50, 60)
	scores := floats([]int64{4, 2}, .9, 0, .8, 0, 0, .7, .1, .2)
	out := &Detections{Boxes: "b", Scores: "s", Form: "xyxy", Labels: list("cat", "dog"), Least: 0.15, Overlap: 0.45, Most: 10}
	about := []gpu.TensorInfo{{Name: "b", Type: gpu.FP32, Shape: []int64{-1, -1, 4}}, {Name: "s", Type: gpu.FP32, Shape: []int64{-1, -1, 2}}}
	got, err := one(t, out, about, media.Geometry{Width: 200, Height: 100, W: 100, H: 50, UsedW: 100, UsedH: 50}, boxes, scores)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{`"label":"cat","score":0.9,"width":20,"x":20,"y":20`, `"label":"dog","score":0.7`, `"height":20,"label":"dog","score":0.2,"width":20,"x":80,"y":80`} {
		if !strings.Contains(got, w) {
			t.Errorf("%s is not in %s", w, got)
		}
	}
	if n := strings.Count(got, "label"); n != 3 {
		t.Errorf("%d boxes: %s", n, got)
	}
}

// TestRows divides tensors, and refuses those whose first dimension is not the rows'.
func TestRows(t *testing.T) {
	v := floats([]int64{2, 2}, 1, 2, 3, 4)
	tensor := gpu.Tensor{Name: "t", Type: gpu.FP32, Shape: v.Shape, Data: v.Data}
	rows, err := Rows(&tensor, true, 2)
	if err != nil || fmt.Sprint(len(rows), rows[1].Shape, gpu.Float(rows[1].Data, gpu.FP32, 1)) != "2 [2] 4" {
		t.Errorf("rows are %v, %v", rows, err)
	}
	if _, err := Rows(&tensor, true, 3); err == nil {
		t.Error("two rows were taken for three")
	}
	if _, err := Rows(&tensor, false, 2); err == nil {
		t.Error("a tensor without batch dimension was taken for two rows")
	}
	short := tensor
	short.Data = short.Data[:8]
	if _, err := Rows(&short, true, 2); err == nil {
		t.Error("a tensor that lacks bytes was taken")
	}
}
