//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// catchStatus keeps SIGUSR1 from ending the process before, between and after runs.
func (a *app) catchStatus() (stop func()) {
	a.ask = make(chan os.Signal, 1)
	signal.Notify(a.ask, syscall.SIGUSR1)
	return func() { signal.Stop(a.ask) }
}

// watchStatus prints what every stage does whenever SIGUSR1 comes; the result ends that and waits.
func (j *job) watchStatus() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-j.ask:
			}
			if r, ok := j.look.snapshot(); ok {
				j.say(fmt.Sprintf("sluice: after %s:\n%s", elapsed(r.Wall), statusText(&r)))
			} else {
				j.say("sluice: the run has not begun\n")
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
