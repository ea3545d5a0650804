package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-data/sluice/dataset"
)

// errStalled ends a body that gives nothing for too long.
var errStalled = errors.New("nothing arrives")

// patience paces the attempts at one piece of work. It is used by one goroutine.
type patience struct {
	most     time.Duration // without progress
	pauses   *backoff.ExponentialBackOff
	since    time.Time
	attempts int
	told     bool // that it waits
}

// quiet is how long attempts may fail before somebody is told.
const quiet = 3 * time.Second

func newPatience(most time.Duration) *patience {
	p := &patience{most: most, pauses: backoff.NewExponentialBackOff()}
	p.pauses.InitialInterval = min(200*time.Millisecond, most/8)
	p.pauses.MaxInterval = min(15*time.Second, most/2)
	p.progress()
	return p
}

// progress is told that something arrived: the time until giving up begins anew.
func (p *patience) progress() {
	p.pauses.Reset()
	p.since, p.attempts, p.told = time.Now(), 0, false
}

// wait pauses before the next attempt, for at least as long as the store asked for. It returns the reason to give up.
func (p *patience) wait(ctx context.Context, cause error, asked time.Duration) error {
	p.attempts++
	pause := max(p.pauses.NextBackOff(), asked)
	if spent := time.Since(p.since); spent+pause > p.most && spent > 0 && p.attempts > 1 {
		return fmt.Errorf("given up after %d attempts in %s without progress: %w", p.attempts, spent.Round(time.Millisecond), cause)
	}
	if !p.told && time.Since(p.since) > quiet {
		p.told = true
		dataset.Notice(ctx, fmt.Sprintf("attempt %d failed: %v; trying again for up to %s", p.attempts, cause, (p.most-time.Since(p.since)).Round(time.Second)))
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// transient tells whether an attempt that failed is worth repeating. code is the store's answer, 0 if there was none.
func transient(err error, code int) bool {
	switch {
	case err == nil:
		return false
	case code == 408 || code == 409 || code == 429 || code >= 500 && code != 501:
		return true
	case code >= 300:
		return false
	case errors.Is(err, errStalled), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.ECONNREFUSED):
		return true
	case strings.Contains(err.Error(), "credentials"): // they were looked for on the network, where there is nobody to give any
		return false
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return false
	}
	_, network := errors.AsType[net.Error](err)
	return network
}
