package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // the index of results is not for tests to write
	var out strings.Builder
	if err := run(t.Context(), &out, "../../testdata/photos", 5); err != nil {
		t.Fatal(err)
	}
	// 21 readable photos make two batches of 8; how they are decoded, and so the loss, depends on the machine in the last digits.
	got := regexp.MustCompile(`loss 0\.\d+`).ReplaceAllString(out.String(), "loss L")
	want := `epoch 1 step 1: 8 pictures, loss L
epoch 1 step 2: 8 pictures, loss L
epoch 2 step 3: 8 pictures, loss L
epoch 2 step 4: 8 pictures, loss L
epoch 3 step 5: 8 pictures, loss L
`
	if got != want {
		t.Errorf("it printed\n%swant\n%s", got, want)
	}
}

func TestTooFewPictures(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, "../../testdata/photos/broken", 1); err == nil || !strings.Contains(err.Error(), "fewer than 8") {
		t.Errorf("the error is %v", err)
	}
}
