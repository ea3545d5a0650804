package python

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice-data/sluice/operators/internal/child"
	pyhost "github.com/sluice-data/sluice/python"
)

// proc is one host process. It is used by one goroutine at a time.
type proc struct {
	*child.Proc
	room  *child.Slab // for what the next call returns
	wrote int         // bytes that the last call wrote
	kept  []*child.Slab
	token *token
	calls int
}

// launch says how a host process is started.
type launch struct {
	python string
	target string       // for people who look at the list of processes
	log    *slog.Logger // for what it prints; nil drops it
	limit  int64        // bytes of memory, above which it is killed; 0: none
	env    []string
}

// startProc starts an interpreter that waits for the code of the host.
func startProc(l launch) (*proc, error) {
	p, err := child.Start(child.Launch{
		Program: l.python, Args: []string{"-u", "-c", pyhost.Boot(), "sluice:", l.target}, Env: l.env, What: "python", Log: l.log, Limit: l.limit, LimitBy: "memory=",
	})
	if err != nil {
		return nil, err
	}
	return &proc{Proc: p}, nil
}

// started waits for the first message of the process and gives it the host's code before.
func (p *proc) started(ctx context.Context) error { return p.startedAs(ctx, &reply{}) }

// startedAs is started that tells what the process says of itself.
func (p *proc) startedAs(ctx context.Context, said *reply) error {
	if err := p.Send(pyhost.Modules()); err != nil {
		// It may have said why it does not listen.
		var r reply
		if rerr := p.receive(ctx, &r); rerr == nil && r.Op == "failed" {
			return p.startFailure(&r)
		}
		return p.Death()
	}
	if err := p.receive(ctx, said); err != nil {
		return err
	}
	if said.Op != "started" {
		return p.startFailure(said)
	}
	return nil
}

func (p *proc) startFailure(r *reply) error {
	if r.Class == "pyarrow" {
		return &mistake{noPyarrow(p.Program, r.Text).Error(), ""}
	}
	return r.failure()
}

// exchange sends a message and waits for the answer.
func (p *proc) exchange(ctx context.Context, msg any, out answer) error {
	body, err := encodeMessage(msg)
	if err != nil {
		return err
	}
	if err := p.Send(body); err != nil {
		return p.Death()
	}
	return p.hear(ctx, out)
}

func encodeMessage(msg any) ([]byte, error) {
	if c, ok := msg.(*callRequest); ok {
		return c.append(nil), nil
	}
	body, err := json.Marshal(msg)
	if err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	return body, nil
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
	body, err := p.Receive(ctx, nil)
	if err != nil {
		return err
	}
	if len(body) > 0 && body[0] == 'D' {
		err = out.base().unpack(body)
	} else {
		err = json.Unmarshal(body, out)
	}
	if err != nil {
		return p.Stop(&child.Died{Text: fmt.Sprintf("the process wrote a message that is none: %v", err), Kind: "process"})
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
		err = p.Finish(ctx)
	}
	p.end()
	return err
}

// end kills the process if it lives and frees what belongs to it.
func (p *proc) end() {
	p.End()
	p.room.Return()
	for _, s := range p.kept {
		s.Return()
	}
	p.room, p.kept = nil, nil
}
