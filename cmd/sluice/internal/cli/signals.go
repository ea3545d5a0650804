package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/sluice-data/sluice/dataset"
)

// graceTime is how long a run may take to commit what it can after an interrupt, with a little for the way out.
const graceTime = 12 * time.Second

// signals turns the first interrupt into a cancellation and the second into the end of the process.
type signals struct {
	ch     chan os.Signal
	done   chan struct{}
	wg     sync.WaitGroup
	cancel context.CancelCauseFunc
}

// watchSignals starts listening; stop ends it.
func (a *app) watchSignals(ctx context.Context) (context.Context, *signals) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &signals{ch: make(chan os.Signal, 2), done: make(chan struct{}), cancel: cancel}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) { // nohup and background jobs of shells mean it
			signal.Notify(s.ch, sig)
		}
	}
	s.wg.Go(func() { s.loop(a) })
	return ctx, s
}

func (s *signals) loop(a *app) {
	select {
	case <-s.done:
		return
	case <-s.ch:
	}
	a.interrupted.Store(true)
	s.cancel(dataset.ErrCanceled)
	if !a.flags.quiet {
		a.say("\nsluice: interrupted; finishing what can be committed (again to stop at once)\n")
	}
	late := time.NewTimer(graceTime)
	defer late.Stop()
	select {
	case <-s.done:
	case <-s.ch:
		a.Exit(exitInterrupted)
	case <-late.C:
		a.say(fmt.Sprintf("sluice: the run did not end within %s and was stopped\n", graceTime))
		a.Exit(exitInterrupted)
	}
}

// stop ends listening and waits.
func (s *signals) stop() {
	signal.Stop(s.ch)
	close(s.done)
	s.wg.Wait()
	s.cancel(nil)
}
