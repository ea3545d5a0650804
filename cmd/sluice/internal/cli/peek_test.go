package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/sluice-data/sluice/dataset"
)

func TestPeekLeavesInputAlone(t *testing.T) {
	pipe := func(text string) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		w.Close()
		return r
	}
	file := func(text string) *os.File {
		f := scratch(t)
		if _, err := f.WriteString("skipped" + text); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Seek(int64(len("skipped")), io.SeekStart); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, make := range []func(string) *os.File{pipe, file} {
		for _, text := range []string{"", "abc", "PAR1 and a long text after it"} {
			f := make(text)
			got, err := peek(t.Context(), f, 16)
			if want := text[:min(16, len(text))]; err != nil || string(got) != want {
				t.Errorf("peek %q: %q, %v", text, got, err)
			}
			if all, err := io.ReadAll(f); err != nil || string(all) != text {
				t.Errorf("after the peek at %q there is %q, %v", text, all, err)
			}
			f.Close()
		}
	}
}

func TestPeekEndsWithItsContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(dataset.ErrCanceled)
	if _, err := peek(ctx, r, 16); !errors.Is(err, dataset.ErrCanceled) {
		t.Errorf("an endless wait ends with %v", err)
	}
	if null, err := os.Open(os.DevNull); err == nil {
		if got, err := peek(t.Context(), null, 16); len(got) > 0 || err != nil {
			t.Errorf("a device gives %q, %v", got, err)
		}
		null.Close()
	}
}
