//go:build onnx && models

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-data/sluice/operators/infer/card"
)

// TestMemoryOfModels runs models in this process over much more than the budget holds: the process stays within the budget, 150 MB, what its models
// declare. What ONNX Runtime computes with is measured when the plan is made, and within the budget.
func TestMemoryOfModels(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(card.ModelsEnv, filepath.Join(root, ".cache", "models"))
	dir := t.TempDir()
	copies(t, filepath.Join(root, "testdata/photos/hubble.jpg"), dir, "jpg", 400)
	copies(t, filepath.Join(root, "examples/ocr/receipt.png"), dir, "png", 60)
	copies(t, filepath.Join(root, "examples/voice/speech.wav"), dir, "wav", 200)
	var notes strings.Builder
	for i := range 300 {
		fmt.Fprintf(&notes, "{\"text\":\"%d %s\"}\n", i, strings.Repeat("the water keeps the flow full without a flood ", i%40))
	}
	write(t, filepath.Join(dir, "notes.jsonl"), notes.String())
	for _, c := range []struct {
		name, reader, pipeline string
		budget, more           int64 // mebibytes, and megabytes
		models                 []string
	}{
		{"classify", "", "*.jpg | infer onnx:efficientnet-lite0 image nondeterministic=true | drop image | classified.parquet", 256, 0, []string{"efficientnet-lite0"}},
		{"embed photos", "", "*.jpg | decode | embed onnx:efficientnet-lite0 image nondeterministic=true | drop image | looks.parquet", 256, 30, []string{"efficientnet-lite0"}},
		{"read pages", "", "*.png | infer onnx:ppocr-det image nondeterministic=true | crop-boxes boxes | infer onnx:ppocr-rec image nondeterministic=true | drop image | lines.parquet", 256, 0, []string{"ppocr-det", "ppocr-rec"}},
		{"embed texts", "", "notes.jsonl | embed onnx:minilm text | embedded.parquet", 768, 0, []string{"minilm"}},
		{"embed texts in little", "", "notes.jsonl | embed onnx:minilm text | little.parquet", 256, 0, []string{"minilm"}},
		{"find speech", "binary", "*.wav | infer onnx:silero-vad data -> speech nondeterministic=true | drop data | speech.parquet", 256, 0, []string{"silero-vad"}},
		{"tell kinds", "binary", "*.jpg | infer onnx:magika data -> kind nondeterministic=true | drop data | kinds.parquet", 256, 0, []string{"magika"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"--quiet", "--memory", fmt.Sprintf("%dMiB", c.budget)}
			if c.reader != "" {
				args = append(args, "--from", c.reader)
			}
			args = append(args, c.pipeline) // equal rows would be asked once
			cmd := command(t, dir, args...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			limit := c.budget<<20 + c.more*1e6 + 150e6
			for _, m := range c.models {
				limit += declared(t, m)
			}
			peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
			t.Logf("peak %d MB, limit %d MB; %v of processor time", peak/1e6, limit/1e6, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			if peak > limit {
				t.Errorf("the process took %d MB, above the %d MB of budget, 150 MB and %v", peak/1e6, limit/1e6, c.models)
			}
		})
	}
}

// copies writes a file n times.
func copies(t *testing.T, from, dir, ext string, n int) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		write(t, filepath.Join(dir, fmt.Sprintf("%04d.%s", i, ext)), string(raw))
	}
}

// declared is what a model in this process reserves.
func declared(t *testing.T, name string) int64 {
	t.Helper()
	c, err := card.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.File(c.Model)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return 2*st.Size() + 16<<20
}
