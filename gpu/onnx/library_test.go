package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/gpu"
)

func TestFindLibrary(t *testing.T) {
	dir := t.TempDir()
	make := func(names ...string) string {
		d, err := os.MkdirTemp(dir, "lib")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if err := os.WriteFile(filepath.Join(d, n), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return filepath.Join(d, "libonnxruntime.so*")
	}
	old, two, plain, empty := make("libonnxruntime.so.1.23.0"), make("libonnxruntime.so.1.24.4", "libonnxruntime.so.1.32.1", "libonnxruntime.so.1.33.0"),
		make("libonnxruntime.so"), make()
	for _, c := range []struct {
		named  string
		places []string
		want   string
	}{
		{"", []string{empty, old, two, plain}, "libonnxruntime.so.1.32.1"},
		{"", []string{plain, two}, "libonnxruntime.so"},
		{"", []string{empty}, "error: there is no ONNX Runtime (libonnxruntime.so): make models fetches it"},
		{"", []string{old}, "error: ONNX Runtime 1.24 to 1.32 is needed, and there is only "},
		{filepath.Join(dir, "none"), []string{two}, "error: SLUICE_ONNXRUNTIME: "},
	} {
		got, err := find(c.named, c.places)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(filepath.Base(got), c.want) && !strings.HasPrefix(got, c.want) {
			t.Errorf("find(%q, %v) is %s, want %s", c.named, c.places, got, c.want)
		}
	}
}

// TestOpenSaysWhy: what is missing is said when the model is opened, not when it is used.
func TestOpenSaysWhy(t *testing.T) {
	_, err := Open("onnx:/no/such/model.onnx", gpu.Options{})
	want := "there is no file /no/such/model.onnx"
	if e := Available(); e != nil {
		want = e.Error()
	}
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if _, err := Open("onnx:", gpu.Options{}); err == nil {
		t.Error("an address without a file was opened")
	}
	if built() != nil && !strings.Contains(want, "-tags onnx") {
		t.Errorf("the refusal does not say how to build: %s", want)
	}
}
