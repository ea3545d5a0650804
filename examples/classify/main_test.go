package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/gpu/onnx"
	"github.com/sluice-data/sluice/operators/infer/card"
)

// TestRun runs the program where its model can run; elsewhere it must say what is missing and how to get it.
func TestRun(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	err := run(t.Context(), &out, "testdata/photos", filepath.Join(t.TempDir(), "sheet.html"))
	if c, e := card.Find("efficientnet-lite0"); onnx.Available() != nil || e != nil || !there(c) {
		if os.Getenv("SLUICE_REQUIRE_MODELS") != "" {
			t.Fatal(err)
		}
		if err == nil || !strings.Contains(err.Error(), "-tags onnx") && !strings.Contains(err.Error(), "make models") {
			t.Errorf("it says %v and not what to do", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cat.jpg", " cat\n", "coffee.jpg", "espresso", "perhaps ", "left out: testdata/photos/broken/not-an-image.jpg"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func there(c *card.Card) bool {
	_, err := c.File(c.Model)
	return err == nil
}
