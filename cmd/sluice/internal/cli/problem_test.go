package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/pipeline"
)

func TestMessagesPointAtTheMistake(t *testing.T) {
	long := strings.Repeat("é", 100)
	tests := []struct {
		text string
		pos  pipeline.Pos
		want string
	}{
		{"a.csv | lmit 5", pipeline.Pos{Offset: 8}, "sluice: x\n  a.csv | lmit 5\n          ^\n"},
		{"a.csv |\n\tlmit 5\n| b", pipeline.Pos{Offset: 9}, "sluice: x\n   lmit 5\n   ^\n"},
		{"é\x1b|x", pipeline.Pos{Offset: 4}, "sluice: x\n  é�|x\n     ^\n"},
		{"日本|x", pipeline.Pos{Offset: 7}, "sluice: x\n  日本|x\n       ^\n"},
		{long + "|" + long, pipeline.Pos{Offset: 200},
			"sluice: x\n  …" + strings.Repeat("é", 60) + "|" + strings.Repeat("é", 59) + "…\n  " + strings.Repeat(" ", 61) + "^\n"},
		{"", pipeline.Pos{Offset: 99}, "sluice: x\n  \n  ^\n"},
		{"", pipeline.Pos{Line: 7}, "sluice: job.yaml:7: x\n"},
	}
	for _, tt := range tests {
		a := app{text: tt.text, file: "job.yaml"}
		if got := a.message(fmt.Errorf("run: %w", &pipeline.Error{Pos: tt.pos, Err: errors.New("x")})); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{errors.New("disk full\n"), 1, "sluice: disk full\n"},
		{dataset.Usagef("no"), 2, "sluice: no\n"},
		{fmt.Errorf("x: %w", &pipeline.Error{Pos: pipeline.Pos{Line: 1}, Err: errors.New("gone")}), 1, "sluice: :1: gone\n"},
		{fmt.Errorf("run: %w", dataset.ErrCanceled), 130, "sluice: interrupted\n"},
		{context.Canceled, 1, "sluice: context canceled\n"},
		{fmt.Errorf("write: %w", syscall.EPIPE), 0, ""},
		{&dataset.PanicError{Op: "decode", Where: "a.jpg, row 0", Value: "boom", Stack: []byte("goroutine 1")}, 1,
			"sluice: internal error in decode at a.jpg, row 0: boom\n"},
	}
	for _, tt := range tests {
		out := scratch(t)
		a := app{Program: Program{Stderr: out}}
		if code := a.finish(tt.err); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.err, code, tt.code)
		}
		if got := content(t, out); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
	a := app{Program: Program{Stderr: scratch(t)}, elsewhere: true}
	if code := a.finish(syscall.EPIPE); code != exitFailed {
		t.Errorf("a broken connection exits with %d", code)
	}
	a.interrupted.Store(true)
	if code := a.finish(context.Canceled); code != exitInterrupted {
		t.Errorf("an interrupt exits with %d", code)
	}
	if err := guarded(func() error { panic("boom") }); err == nil || !strings.HasPrefix(err.Error(), "internal error: boom") {
		t.Errorf("a panic gives %v", err)
	}
	if code := (&app{code: exitDeadLetters}).finish(nil); code != 3 {
		t.Errorf("dead letters exit with %d", code)
	}
}

// scratch is a file that stands in for a stream of the process.
func scratch(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// content is what was written to a scratch.
func content(t *testing.T, f *os.File) string {
	t.Helper()
	data, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.Clone(data))
}
