package main

import (
	"os"
	"strings"
	"testing"

	"github.com/sluice-data/sluice/gpu/onnx"
	"github.com/sluice-data/sluice/operators/infer/card"
)

// TestRun runs the program where its model can run; elsewhere it must say what is missing and how to get it.
func TestRun(t *testing.T) {
	t.Chdir("../..")
	var out strings.Builder
	err := run(t.Context(), &out, "examples/voice/speech.wav")
	if c, e := card.Find("silero-vad"); onnx.Available() != nil || e != nil || !there(c) {
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
	for _, want := range []string{"speech from 0.", "speech from 4."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func there(c *card.Card) bool {
	_, err := c.File(c.Model)
	return err == nil
}
