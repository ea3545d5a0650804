package cli

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

func TestRunsThatDoNotEndAreStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := scratch(t)
		codes := make(chan int, 1)
		a := &app{Program: Program{Stderr: out, Exit: func(c int) { codes <- c }}}
		var cause error
		s := &signals{ch: make(chan os.Signal, 2), done: make(chan struct{}), cancel: func(err error) { cause = err }}
		start := time.Now()
		s.wg.Go(func() { s.loop(a) })
		s.ch <- os.Interrupt
		code := <-codes
		s.wg.Wait()
		if code != exitInterrupted || time.Since(start) != graceTime || !errors.Is(cause, dataset.ErrCanceled) {
			t.Errorf("code %d after %s, %v", code, time.Since(start), cause)
		}
		if !strings.Contains(content(t, out), "the run did not end within 12s and was stopped") {
			t.Errorf("it says %q", content(t, out))
		}
	})
}
