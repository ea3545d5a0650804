//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// watchStatus prints what every stage does whenever SIGUSR1 comes; the result ends that and waits.
func (j *job) watchStatus() (stop func()) {
	ch, done, ended := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(ch, syscall.SIGUSR1)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-ch:
			}
			if r, ok := j.look.snapshot(); ok {
				j.say(fmt.Sprintf("sluice: after %s:\n%s", elapsed(r.Wall), statusText(&r)))
			} else {
				j.say("sluice: the run has not begun\n")
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(done)
		<-ended
	}
}
