package child

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Launch says how a process is started.
type Launch struct {
	// Program is run with Args, and with Env beside our environment.
	Program string
	Args    []string
	Env     []string
	// What it is, in the log: "python".
	What string
	// IsGo says that it is a Go program, whose own report of a crash says more than its status.
	IsGo bool
	// Log takes what it prints; nil drops it.
	Log *slog.Logger
	// Limit is how many bytes of memory it may take; above it is killed. 0: any. LimitBy is what the user sets it by.
	Limit   int64
	LimitBy string
}

// Proc is one process. Send is called by one goroutine at a time, and so is Receive, which may wait meanwhile; Look, Stop and Death are safe for concurrent
// use. End must be called once.
type Proc struct {
	Launch
	// Pid is its number.
	Pid int

	cmd   *exec.Cmd
	wire  wire
	life  *os.File // the process ends when this is closed
	out   *os.File // what it prints
	logs  *logs
	done  chan struct{} // closed when it is gone
	said  chan struct{} // closed when all that it printed was read
	owned sync.WaitGroup

	mu    sync.Mutex
	cause error // why we killed it
}

// Died is the end of a process that nobody asked to end.
type Died struct {
	Text  string
	Kind  string // under which it is counted
	Final bool   // it would come again: a limit was reached
}

// Error implements error.
func (e *Died) Error() string { return e.Text }

// Class implements dataset.Classed.
func (e *Died) Class() string { return e.Kind }

// IsDied says whether an error is a death.
func IsDied(err error) bool {
	_, ok := errors.AsType[*Died](err)
	return ok
}

// Look ends the process if it has taken too much memory, and says why it is gone if it is. Receive calls it while it waits.
func (p *Proc) Look() error {
	select {
	case <-p.done:
		return p.Death()
	default:
	}
	if p.Limit == 0 {
		return nil
	}
	if n, ok := MemoryOf(p.Pid); ok && n > p.Limit {
		return p.Stop(&Died{fmt.Sprintf("the process took %s, above its limit of %s (%s)", MiB(n), MiB(p.Limit), p.LimitBy), "process memory", true})
	}
	return nil
}

// Stop kills the process because of what cause says, which is then what it died of.
func (p *Proc) Stop(cause error) error {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
	}
	p.mu.Unlock()
	p.kill()
	return p.Death()
}

// Death waits until the process is gone and says why it is.
func (p *Proc) Death() error {
	select {
	case <-p.done:
	case <-time.After(5 * time.Second): // it closed the connection and lives
		p.kill()
		<-p.done
	}
	p.hush()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause != nil {
		return p.cause
	}
	text, class := exitText(p.cmd.ProcessState)
	last := p.logs.tail()
	if signal := p.logs.signal(); signal != "" {
		text, class = "the process crashed by signal "+signal, "process crashed ("+signal+")"
	}
	if len(last) > 0 {
		text += "; it said: " + clip(strings.Join(last, " / "))
	}
	return &Died{text, class, false}
}

// hush waits until what a process that is gone has printed is read. Children of it may hold the pipe open; nobody waits for them.
func (p *Proc) hush() {
	_ = p.out.SetReadDeadline(time.Now().Add(tick))
	<-p.said
}

func clip(s string) string {
	if len(s) > 400 {
		return s[:400] + "…"
	}
	return s
}

// Send writes a message, after its length. What keeps it from being written is the death of the process: Death.
func (p *Proc) Send(body []byte) error { return p.wire.send(body) }

// Receive reads a message. The process is killed when ctx ends, and the error is then ctx's cause; else it is a death. watch, which may be nil, is
// called every tenth of a second meanwhile, and gives up with its error.
func (p *Proc) Receive(ctx context.Context, watch func() error) ([]byte, error) {
	body, err := p.wire.receive(ctx, func() error {
		if err := p.Look(); err != nil || watch == nil {
			return err
		}
		return watch()
	})
	switch {
	case err == nil:
		return body, nil
	case ctx.Err() != nil:
		p.kill()
		<-p.done
		return nil, context.Cause(ctx)
	}
	if IsDied(err) {
		return nil, err
	}
	return nil, p.Death()
}

// Finish tells the process that there is nothing more, and waits until it ends or ctx does.
func (p *Proc) Finish(ctx context.Context) error {
	if err := p.wire.conn.CloseWrite(); err != nil {
		return fmt.Errorf("close connection: %w", err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return nil
}

// End kills the process if it lives and frees what belongs to it.
func (p *Proc) End() {
	p.kill()
	<-p.done
	p.wire.conn.Close()
	p.life.Close()
	p.hush()
	p.owned.Wait()
	p.out.Close()
}

// MiB writes a number of bytes.
func MiB(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
