package triton

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// repeats is how often one Infer may send its request again for reasons of this client's: segments that a restarted server must be told of, and an
// output slot that was too small.
const repeats = 2

// Infer implements gpu.Model.
func (m *Model) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	done, err := m.begin()
	if err != nil {
		m.freeInputs(req)
		return nil, err
	}
	defer done()
	resp, err := m.infer(ctx, req)
	m.noteHealth(err)
	return resp, err
}

func (m *Model) infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	d, err := m.details(ctx)
	if err == nil {
		err = m.check(d, req)
	}
	if err != nil {
		m.freeInputs(req)
		return nil, err
	}
	if d.info.Decoupled {
		return m.joined(ctx, d, req)
	}
	limited, cancel := m.bounded(ctx)
	defer cancel()
	for try := 0; ; try++ {
		c, raw, err := m.prepare(limited, d, req)
		if err != nil {
			m.freeCall(c)
			return nil, m.classify(ctx, "ask model "+m.name, err)
		}
		out := m.send(limited, c, raw)
		switch {
		case out.err == nil:
			return m.answer(d, req, c, out.resp)
		case !out.kept && try < repeats && limited.Err() == nil && m.mend(d, req, c, out.err):
			m.freeMade(c)
			continue
		case !out.kept:
			m.freeCall(c)
		}
		return nil, m.classify(ctx, "ask model "+m.name, out.err)
	}
}

// prepare makes the message and its bytes, so that nothing of the caller's is read later. The call is returned with an error too: it owns slots.
func (m *Model) prepare(ctx context.Context, d *details, req *gpu.Request) (*call, []byte, error) {
	c, err := m.compose(ctx, d, req)
	if err != nil {
		return c, nil, err
	}
	setDeadline(ctx, d, c)
	if n := c.msg.size(); n > m.limit {
		return c, nil, fmt.Errorf("a request of %d bytes, the limit is %d: send smaller batches: %w", n, m.limit, gpu.ErrRequest)
	}
	return c, c.msg.bytes(), nil
}

// setDeadline has the server drop the request when nobody waits for it any more, where it can; a caller's own limit stays.
func setDeadline(ctx context.Context, d *details, c *call) {
	end, ok := ctx.Deadline()
	if !ok || d.deadline == 0 || c.limited {
		return
	}
	left := min(time.Until(end), d.deadline)
	c.msg.parameter(paramLimit, max(left.Microseconds(), 1))
}

// outcome is the end of a request for its caller. kept says that its slots are not the caller's any more.
type outcome struct {
	resp *pb.ModelInferResponse
	err  error
	kept bool
}

// The states of a request on the wire.
const (
	waited int32 = iota // the caller waits
	ended               // the answer came first
	left                // the caller went first
)

// send runs a request. One that the server may touch slots for runs on the model's own time: when its caller goes first, or the connection is lost, the
// slots stay aside.
func (m *Model) send(ctx context.Context, c *call, raw []byte) outcome {
	if !c.shares {
		m.slots.fly(1)
		defer m.slots.fly(-1)
		resp, err := m.invoke(ctx, raw)
		return outcome{resp: resp, err: err}
	}
	var state atomic.Int32
	var aside [][]byte // set by the caller before it goes
	got := make(chan outcome, 1)
	gone := make(chan struct{})
	m.slots.fly(1)
	m.beside(func() {
		resp, err := m.invoke(m.ctx, raw)
		if !state.CompareAndSwap(waited, ended) {
			<-gone
			m.end(aside, err)
			return
		}
		m.slots.fly(-1)
		if !answered(err) {
			m.end(m.slots.setAside(c.owned()), err)
			got <- outcome{err: err, kept: true}
			return
		}
		got <- outcome{resp: resp, err: err}
	})
	select {
	case out := <-got:
		return out
	case <-ctx.Done():
	}
	if !state.CompareAndSwap(waited, left) {
		return <-got
	}
	m.slots.fly(-1)
	aside = m.slots.setAside(c.owned())
	close(gone)
	return outcome{err: status.FromContextError(ctx.Err()).Err(), kept: true}
}

// beside runs f on a goroutine of the model's. They are kept until it is closed, as many as ever ran at once: a call of gRPC needs a deep stack, and growing that
// anew for each request cost as much as writing the request.
func (m *Model) beside(f func()) {
	select {
	case m.jobs <- f: // one is idle
		return
	default:
	}
	m.calls.Go(func() {
		for {
			f()
			f = nil // what it holds is not needed any more
			select {
			case f = <-m.jobs:
			case <-m.ctx.Done():
				return
			}
		}
	})
}

// end decides about slots that were set aside, now that their request has ended.
func (m *Model) end(aside [][]byte, err error) {
	if answered(err) {
		m.slots.giveBack(aside)
	} else {
		m.slots.doom(aside)
	}
}

// invoke sends the bytes of a request.
func (m *Model) invoke(ctx context.Context, raw []byte) (*pb.ModelInferResponse, error) {
	conn := m.conns.pick(len(raw))
	resp := &pb.ModelInferResponse{}
	err := conn.Invoke(ctx, pb.GRPCInferenceService_ModelInfer_FullMethodName, encoded(raw), resp, grpc.ForceCodecV2(codec{}))
	return resp, err
}

// tooSmallOutput finds the output that a slot was too small for.
var tooSmallOutput = regexp.MustCompile(`output '([^']+)'`)

// mend says whether a request that the server refused may succeed when it is composed again, after what was wrong was put right.
func (m *Model) mend(d *details, req *gpu.Request, c *call, err error) bool {
	if c.shares && isRegionLost(err) {
		m.regions.lost(c.epoch)
		return true
	}
	need, ok := neededBytes(err)
	if !ok || len(c.outputs) == 0 {
		return false
	}
	at := tooSmallOutput.FindStringSubmatch(err.Error())
	for name := range c.outputs {
		if len(c.outputs) == 1 || at != nil && strings.Contains(at[1], name) {
			m.sizes.learn(d, req, name, need)
			return true
		}
	}
	return false
}

// answer hands out what came. The inputs' slots are free, the outputs' live as long as the response.
func (m *Model) answer(d *details, req *gpu.Request, c *call, r *pb.ModelInferResponse) (*gpu.Response, error) {
	outputs := c.outputs
	c.outputs = nil
	m.freeCall(c)
	free := func() {
		for _, b := range outputs {
			m.slots.free(b)
		}
	}
	tensors, err := m.read(d, r, outputs)
	if err != nil {
		free()
		return nil, err
	}
	for _, t := range tensors {
		m.sizes.learn(d, req, t.Name, len(t.Data))
	}
	return gpu.NewResponse(tensors, free), nil
}
