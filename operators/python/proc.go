package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// launch says how a process is started.
type launch struct {
	python string
	target string       // for people who look at the list of processes
	log    *slog.Logger // for what it prints; nil drops it
	limit  int64        // bytes of memory, above which it is killed; 0: none
	env    []string
}

// proc is one host process. exchange, load and end are called by one goroutine at a time.
type proc struct {
	launch
	pid   int
	cmd   *exec.Cmd
	wire  wire
	life  *os.File // the process ends when this is closed
	out   *os.File // what it prints
	logs  *logs
	done  chan struct{} // closed when it is gone
	said  chan struct{} // closed when all that it printed was read
	owned sync.WaitGroup
	room  *slab // for what the next call returns
	wrote int   // bytes that the last call wrote
	kept  []*slab
	token *token
	calls int

	mu    sync.Mutex
	cause error // why we killed it
}

// died is the end of a process that nobody asked to end.
type died struct {
	text  string
	class string
	sure  bool // it would come again: a limit was reached
}

// Error implements error.
func (e *died) Error() string { return e.text }

// Class implements dataset.Classed.
func (e *died) Class() string { return e.class }

// look is called while something is waited for: it ends a process that has taken too much memory.
func (p *proc) look() error {
	select {
	case <-p.done:
		return p.death()
	default:
	}
	if p.limit == 0 {
		return nil
	}
	if n, ok := memoryOf(p.pid); ok && n > p.limit {
		return p.stop(&died{fmt.Sprintf("the process took %s, above its limit of %s (memory=)", mib(n), mib(p.limit)), "process memory", true})
	}
	return nil
}

// stop kills the process because of what cause says.
func (p *proc) stop(cause error) error {
	p.mu.Lock()
	if p.cause == nil {
		p.cause = cause
	}
	p.mu.Unlock()
	p.kill()
	return p.death()
}

// death waits until the process is gone and says why it is.
func (p *proc) death() error {
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
	if last := p.logs.tail(); len(last) > 0 {
		text += "; it said: " + clip(strings.Join(last, " / "))
	}
	return &died{text, class, false}
}

// hush waits until what a process that is gone has printed is read. Children of it may hold the pipe open; nobody waits for them.
func (p *proc) hush() {
	_ = p.out.SetReadDeadline(time.Now().Add(tick))
	<-p.said
}

func clip(s string) string {
	if len(s) > 400 {
		return s[:400] + "…"
	}
	return s
}

// started waits for the first message of the process and gives it the host's code before.
func (p *proc) started(ctx context.Context) error {
	if err := p.wire.sendRaw(modules()); err != nil {
		// It may have said why it does not listen.
		var r reply
		if rerr := p.receive(ctx, &r); rerr == nil && r.Op == "failed" {
			return p.startFailure(&r)
		}
		return p.death()
	}
	var r reply
	if err := p.receive(ctx, &r); err != nil {
		return err
	}
	if r.Op != "started" {
		return p.startFailure(&r)
	}
	return nil
}

func (p *proc) startFailure(r *reply) error {
	if r.Class == "pyarrow" {
		return &mistake{noPyarrow(p.python, r.Text).Error(), ""}
	}
	return r.failure()
}

// exchange sends a message and waits for the answer.
func (p *proc) exchange(ctx context.Context, msg any, out answer) error {
	if err := p.wire.send(msg); err != nil {
		return p.death()
	}
	return p.hear(ctx, out)
}

// hear waits for a message, of which one says that something failed.
func (p *proc) hear(ctx context.Context, out answer) error {
	if err := p.receive(ctx, out); err != nil {
		return err
	}
	if r := out.base(); r.Op == "failed" {
		return r.failure()
	}
	return nil
}

// receive reads one message. The process is killed when ctx ends.
func (p *proc) receive(ctx context.Context, out answer) error {
	body, err := p.wire.receive(ctx, p.look)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		p.kill()
		<-p.done
		return context.Cause(ctx)
	default:
		if d, ok := errors.AsType[*died](err); ok {
			return d
		}
		return p.death()
	}
	if len(body) > 0 && body[0] == 'D' {
		err = out.base().unpack(body)
	} else {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		return p.stop(&died{fmt.Sprintf("the process wrote a message that is none: %v", err), "process", false})
	}
	return nil
}

// closeTime is how long the object's close and the end of the interpreter may take.
const closeTime = 10 * time.Second

// finish lets the object close and the process end.
func (p *proc) finish() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var r reply
	err := p.exchange(ctx, request{Op: "close"}, &r)
	if err == nil {
		err = p.wire.conn.CloseWrite()
	}
	if err == nil {
		select {
		case <-p.done:
		case <-ctx.Done():
		}
	}
	p.end()
	return err
}

// end kills the process if it lives and frees what belongs to it.
func (p *proc) end() {
	p.kill()
	<-p.done
	p.wire.conn.Close()
	p.life.Close()
	p.hush()
	p.owned.Wait()
	p.out.Close()
	p.room.free()
	for _, s := range p.kept {
		s.free()
	}
	p.room, p.kept = nil, nil
}

func mib(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<20-1)>>20) }
