//go:build onnx && cgo

package infer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/sluice-data/sluice/dataset"
	dt "github.com/sluice-data/sluice/dataset/datasettest"
	"github.com/sluice-data/sluice/dataset/datasettest/arraytest"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/onnx"
)

// reference is what ONNX Runtime's own Python package answers; hack/models/reference.py wrote it.
type reference struct {
	EfficientNet struct{ Logits, Embedding []float32 }
	MiniLM       struct {
		Texts   []string
		Vectors [][]float32
	}
	Silero []float32
	Magika map[string][2]any
}

// withModels runs in the root of the repository, where make models puts models.
func withModels(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	t.Chdir("../..")
	_, err = Infer(onnxDeps, Params{Model: "onnx:minilm", Columns: []string{"text"}})
	if err != nil {
		if os.Getenv("SLUICE_REQUIRE_MODELS") != "" {
			t.Fatal(err)
		}
		t.Skip("the models are not here: ", err)
	}
	return ref
}

var onnxDeps = Deps{Open: map[string]gpu.Opener{onnx.Scheme: onnx.Open}, Ready: map[string]func() error{onnx.Scheme: onnx.Available}}

// answer runs infer or embed on rows.
func answerOf(t *testing.T, p Params, embed bool, schema *arrow.Schema, rows string) *dt.Result {
	t.Helper()
	var spec dataset.Spec
	var err error
	if embed {
		spec, err = Embed(onnxDeps, p)
	} else {
		spec, err = Infer(onnxDeps, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	mem := arraytest.NewMemory(t)
	got := dt.Run(t, mem, spec, dt.Config{BlockBytes: 16 << 20}, dt.FromJSON(t, mem, schema, rows))
	for _, f := range got.Failures {
		t.Errorf("row %s: %v", dt.IDText(f.Row), f.Err)
	}
	return got
}

// near compares within 1e-4 of the larger of the value and 1.
func near(t *testing.T, what string, got []float32, want []float32) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i] - w)); !(d <= 1e-4*math.Max(1, math.Abs(float64(w)))) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// vectors reads a column of lists of float32 of all blocks.
func vectors(got *dt.Result, column string) (out [][]float32) {
	for _, b := range got.Blocks {
		col := b.ColumnByName(column).(array.ListLike)
		vals := col.ListValues().(*array.Float32).Float32Values()
		for i := range b.NumRows() {
			if col.IsNull(i) {
				out = append(out, nil)
				continue
			}
			from, to := col.ValueOffsets(i)
			out = append(out, vals[from:to])
		}
	}
	return out
}

func TestTextEmbedding(t *testing.T) {
	ref := withModels(t)
	var rows []string
	for _, s := range ref.MiniLM.Texts {
		rows = append(rows, fmt.Sprintf(`{"text":%q}`, s))
	}
	rows = append(rows, `{"text":null}`, `{"text":""}`)
	got := answerOf(t, Params{Model: "onnx:minilm", Columns: []string{"text"}}, true, dt.Schema("text", arrow.BinaryTypes.String), "["+strings.Join(rows, ",")+"]")
	vecs := vectors(got, "embedding")
	if len(vecs) != 5 || vecs[3] != nil || len(vecs[4]) != 384 {
		t.Fatalf("%d vectors", len(vecs))
	}
	for i, w := range ref.MiniLM.Vectors {
		near(t, ref.MiniLM.Texts[i], vecs[i], w)
	}
}

// TestImageModel gives the network the same numbers as the reference, without a card's pictures: the raw tensor.
func TestImageModel(t *testing.T) {
	ref := withModels(t)
	m, err := onnx.Open("onnx:"+findModel(t, "efficientnet-lite0.onnx"), gpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const n = 2 * 3 * 224 * 224
	data, err := m.Alloc(t.Context(), 4*n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		_ = gpu.PutFloat(data, gpu.FP32, i, math.Sin(float64(i)*0.01))
	}
	resp, err := m.Infer(t.Context(), &gpu.Request{Inputs: []gpu.Tensor{{Name: "x", Type: gpu.FP32, Shape: []int64{2, 3, 224, 224}, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Release()
	logits, embedding := gpu.Floats(make([]float32, 2000), resp.Outputs[0].Data, gpu.FP32), gpu.Floats(make([]float32, 2560), resp.Outputs[1].Data, gpu.FP32)
	near(t, "logits", logits[1000:], ref.EfficientNet.Logits)
	near(t, "embedding", embedding[1280:], ref.EfficientNet.Embedding)
}

func findModel(t *testing.T, name string) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("SLUICE_MODELS"), ".cache/models"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return filepath.Join(dir, name)
		}
	}
	t.Fatalf("there is no %s", name)
	return ""
}

// file is a file in the form that JSON rows take bytes.
func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

func TestVoiceModel(t *testing.T) {
	ref := withModels(t)
	rows := fmt.Sprintf(`[{"data":%q}]`, file(t, "examples/voice/speech.wav"))
	got := answerOf(t, Params{Model: "onnx:silero-vad", Columns: []string{"data", "->", "probabilities", "speech"}}, false, dt.Schema("data", arrow.BinaryTypes.Binary), rows)
	p := vectors(got, "probabilities")
	if len(p) != 1 || len(p[0]) != len(ref.Silero) {
		t.Fatalf("%d windows, want %d", len(p[0]), len(ref.Silero))
	}
	near(t, "speech", p[0], ref.Silero)
}

func TestFileTypeModel(t *testing.T) {
	ref := withModels(t)
	var rows, want []string
	for name, w := range ref.Magika {
		rows = append(rows, fmt.Sprintf(`{"data":%q}`, file(t, name)))
		want = append(want, w[0].(string))
	}
	got := answerOf(t, Params{Model: "onnx:magika", Columns: []string{"data"}}, false, dt.Schema("data", arrow.BinaryTypes.Binary), "["+strings.Join(rows, ",")+"]")
	var kinds []string
	for _, b := range got.Blocks {
		k := b.ColumnByName("kind").(*array.String)
		for i := range b.NumRows() {
			kinds = append(kinds, k.Value(i))
		}
	}
	if strings.Join(kinds, " ") != strings.Join(want, " ") {
		t.Errorf("kinds are %v, want %v", kinds, want)
	}
}

// TestFilesTooSmallToTell: what has under 8 bytes to look at has no kind, and does not reach the model.
func TestFilesTooSmallToTell(t *testing.T) {
	withModels(t)
	var rows []string
	for _, text := range []string{"", "ab", "       \n\n\n  x", "{\"name\": \"value\", \"list\": [1, 2, 3], \"more\": {\"a\": null}}"} {
		rows = append(rows, fmt.Sprintf(`{"data":%q}`, base64.StdEncoding.EncodeToString([]byte(text))))
	}
	got := answerOf(t, Params{Model: "onnx:magika", Columns: []string{"data", "->", "kind"}}, false, dt.Schema("data", arrow.BinaryTypes.Binary), "["+strings.Join(rows, ",")+"]")
	var kinds []string
	for _, b := range got.Blocks {
		for i := range b.NumRows() {
			kinds = append(kinds, b.ColumnByName("kind").ValueStr(i))
		}
	}
	if s := strings.Join(kinds, " "); s != "(null) (null) (null) json" {
		t.Errorf("kinds are %s", s)
	}
}

// TestPhotos classifies photos whose contents are known.
func TestPhotos(t *testing.T) {
	withModels(t)
	rows := fmt.Sprintf(`[{"image":%q},{"image":%q},{"image":null}]`, file(t, "testdata/photos/cat.jpg"), file(t, "testdata/photos/coffee.jpg"))
	got := answerOf(t, Params{Model: "onnx:efficientnet-lite0", Columns: []string{"image", "->", "label,", "score,", "top"}}, false,
		dt.Schema("image", arrow.BinaryTypes.Binary), rows)
	text := strings.Join(got.Rows(), "\n")
	for _, w := range []string{"tiger cat", "Egyptian cat", "espresso"} {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in the answers", w)
		}
	}
}
