package isolate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/internal/child"
)

// modelServer is a child that runs a model. Requests are worked on as they come, each on a goroutine of its own.
type modelServer struct {
	model gpu.Model

	sending sync.Mutex
	engine  *child.Engine

	working sync.WaitGroup
	mu      struct {
		sync.Mutex
		running map[int64]*running
	}
}

// running is one request that is worked on.
type running struct {
	cancel context.CancelFunc
	room   chan *modelOrder
}

// serveModel opens the model and answers requests until there are none.
func serveModel(engine *child.Engine, openers map[string]gpu.Opener, o *modelOrder) error {
	s := &modelServer{engine: engine}
	s.mu.running = map[int64]*running{}
	info, err := s.open(openers, o)
	if err := s.send(modelReport{Op: modelOpened, Info: info, Fault: faultOf(err)}); err != nil {
		return err
	}
	for {
		var o modelOrder
		err := engine.Receive(&o)
		if err != nil {
			s.stop()
			if errors.Is(err, io.EOF) {
				return s.close()
			}
			return err
		}
		switch o.Op {
		case modelInfer, modelProbe:
			s.begin(&o)
		case modelRoom:
			if r := s.find(o.ID); r != nil {
				r.room <- &o
			}
		case modelCancel:
			if r := s.find(o.ID); r != nil {
				r.cancel()
			}
		default:
			return fmt.Errorf("there is no order %q for a model", o.Op)
		}
	}
}

func (s *modelServer) open(openers map[string]gpu.Opener, o *modelOrder) (*gpu.Info, error) {
	if o == nil {
		return nil, errors.New("the order names no model")
	}
	scheme, _, _ := strings.Cut(o.Address, ":")
	opener := openers[scheme]
	if opener == nil {
		return nil, fmt.Errorf("this program opens no models of %q in a child process", scheme)
	}
	var err error
	if s.model, err = opener(o.Address, gpu.Options{Version: o.Version, Timeout: o.Timeout, Threads: o.Threads}); err != nil {
		return nil, err
	}
	return s.model.Info(context.Background())
}

func (s *modelServer) find(id int64) *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.running[id]
}

// stop ends what is worked on and waits for it.
func (s *modelServer) stop() {
	s.mu.Lock()
	for _, r := range s.mu.running {
		r.cancel()
	}
	s.mu.Unlock()
	s.working.Wait()
}

func (s *modelServer) close() error {
	if s.model == nil {
		return nil
	}
	return s.model.Close()
}

func (s *modelServer) begin(o *modelOrder) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, room: make(chan *modelOrder, 1)} // one answer to one question
	s.mu.Lock()
	s.mu.running[o.ID] = r
	s.mu.Unlock()
	s.working.Go(func() {
		defer cancel()
		report := modelReport{Op: modelAnswered, ID: o.ID}
		var err error
		if o.Op == modelProbe {
			report.Len, err = s.probe(ctx, o)
		} else {
			report.Outputs, err = s.infer(ctx, o, r)
		}
		report.Fault = faultOf(err)
		s.mu.Lock()
		delete(s.mu.running, o.ID)
		s.mu.Unlock()
		_ = s.send(report) // the reader finds out as well
	})
}

// infer works on one request. What it maps is not mapped for longer: the engine removes segments that it needs no more, and they are gone when nobody
// maps them.
func (s *modelServer) infer(ctx context.Context, o *modelOrder, r *running) (outs []placed, err error) {
	var maps child.Maps
	defer func() { err = errors.Join(err, maps.Close()) }()
	req, err := s.request(o, &maps)
	if err != nil {
		return nil, err
	}
	resp, err := s.model.Infer(ctx, req)
	if err != nil {
		return nil, err
	}
	defer resp.Release()
	need := 0
	for i := range resp.Outputs {
		t := &resp.Outputs[i]
		n := contentBytes(t)
		outs = append(outs, placed{t.Name, t.Type, t.Shape, child.Place{At: int64(need), N: int64(n)}})
		need = alignRoom(need + n)
	}
	room, err := s.room(ctx, o, r, need, &maps)
	if err != nil {
		return nil, err
	}
	for i := range resp.Outputs {
		at := outs[i].At
		putContent(room[at.At:at.At+at.N], &resp.Outputs[i])
	}
	return outs, nil
}

// request views the inputs of a request.
func (s *modelServer) request(o *modelOrder, maps *child.Maps) (*gpu.Request, error) {
	if s.model == nil {
		return nil, errors.New("the model could not be opened")
	}
	req := &gpu.Request{ID: o.Request, Outputs: o.Outputs}
	for i := range o.Inputs {
		b, err := maps.View(o.Inputs[i].At)
		if err != nil {
			return nil, err
		}
		t, err := o.Inputs[i].view(b)
		if err != nil {
			return nil, err
		}
		req.Inputs = append(req.Inputs, t)
	}
	return req, nil
}

// probe measures what the model computes with.
func (s *modelServer) probe(ctx context.Context, o *modelOrder) (n int64, err error) {
	p, ok := s.model.(gpu.Prober)
	if !ok {
		return 0, gpu.ErrUnsupported
	}
	var maps child.Maps
	defer func() { err = errors.Join(err, maps.Close()) }()
	req, err := s.request(o, &maps)
	if err != nil {
		return 0, err
	}
	return p.Probe(ctx, req)
}

// room is where n bytes of outputs go: what came with the request, or what is asked for.
func (s *modelServer) room(ctx context.Context, o *modelOrder, r *running, n int, maps *child.Maps) ([]byte, error) {
	if o.Out != nil && int64(n) <= o.Out.N {
		return maps.View(*o.Out)
	}
	if err := s.send(modelReport{Op: modelNeedRoom, ID: o.ID, Len: int64(n)}); err != nil {
		return nil, err
	}
	select {
	case got := <-r.room:
		if err := got.Fault.err(); err != nil {
			return nil, err
		}
		if got.Out == nil || int64(n) > got.Out.N {
			return nil, fmt.Errorf("room for %d bytes was asked for and not given", n)
		}
		return maps.View(*got.Out)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *modelServer) send(r modelReport) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	return s.engine.Send(r)
}
