package sluice_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCrashInterrupted: Ctrl-C lets a run commit what it has read; it ends with 130, and the same command goes on with it.
func TestCrashInterrupted(t *testing.T) {
	in := t.TempDir()
	writeNumbers(t, in, crashFiles, 4*crashRows, false)
	p := crashPlans[0]
	calm := t.TempDir()
	if msg, err := p.command(t, local(calm), in, 2, 64).CombinedOutput(); err != nil {
		t.Fatalf("undisturbed run: %v: %s", err, msg)
	}
	for range 10 {
		dir := t.TempDir()
		cmd := p.command(t, local(dir), in, 1, 64)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		err := interruptAfterParts(t, cmd, ended, filepath.Join(dir, "out", "_sluice", "*", "stage", "*"))
		if err == nil {
			continue // it was faster
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Fatalf("exit code %d after an interrupt, want 130", code)
		}
		again := p.command(t, local(dir), in, 3, 48)
		again.Args = slices.DeleteFunc(again.Args, func(a string) bool { return a == "--quiet" })
		msg, err := again.CombinedOutput()
		if err != nil {
			t.Fatalf("run again: %v: %s", err, msg)
		}
		if got, want := linesIn(t, false, p.results(local(dir))...), linesIn(t, false, p.results(local(calm))...); !slices.Equal(got, want) {
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
		if !strings.Contains(string(msg), "resumed run ") {
			t.Fatalf("it did not go on: %s", msg)
		}
		return
	}
	t.Error("no run could be interrupted in time")
}

// interruptAfterParts interrupts a run once it has written some parts, and returns how it ended.
func interruptAfterParts(t *testing.T, cmd *exec.Cmd, ended chan error, parts string) error {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-look.C:
		}
		found, err := filepath.Glob(parts)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) >= 3 {
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended just now
			return <-ended
		}
	}
}
