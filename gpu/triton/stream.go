package triton

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/gpu/triton/internal/pb"
)

// streamDesc is the protocol's one call with streams, by itself: MLServer's carries other messages than the generated client expects.
var streamDesc = &grpc.StreamDesc{StreamName: "ModelStreamInfer", ServerStreams: true, ClientStreams: true}

// Stream implements gpu.Streamer. Each request has a stream of its own, so that errors need no matching and slow readers hold up nobody else.
func (m *Model) Stream(ctx context.Context, req *gpu.Request) iter.Seq2[*gpu.Response, error] {
	return func(yield func(*gpu.Response, error) bool) {
		done, err := m.begin()
		if err != nil {
			m.freeInputs(req)
			yield(nil, err)
			return
		}
		defer done()
		d, err := m.details(ctx)
		if err == nil {
			err = m.check(d, req)
		}
		if err != nil {
			m.freeInputs(req)
			yield(nil, err)
			return
		}
		m.stream(ctx, d, req, yield)
	}
}

// stream runs one request; yield is as of an iter.Seq2.
func (m *Model) stream(ctx context.Context, d *details, req *gpu.Request, yield func(*gpu.Response, error) bool) {
	limited, cancel := m.bounded(ctx)
	defer cancel()
	for try := 0; ; try++ {
		c, raw, err := m.prepareStream(limited, d, req)
		if err != nil {
			m.freeCall(c)
			yield(nil, m.classify(ctx, "ask model "+m.name, err))
			return
		}
		begun := false
		err = m.receive(limited, d, raw, func(r *gpu.Response) bool {
			begun = true
			return yield(r, nil)
		})
		if err != nil && !begun && try < repeats && m.mend(d, req, c, err) {
			m.freeMade(c)
			continue
		}
		m.freeCall(c) // a cancelled stream's server may still read its inputs, for an answer that nobody gets; it writes nowhere
		if err != nil && !errors.Is(err, errBreak) {
			err = m.classify(ctx, "ask model "+m.name, err)
			m.noteHealth(err)
			yield(nil, err)
		}
		return
	}
}

// errBreak says that the caller wants no more responses.
var errBreak = errors.New("stopped")

func (m *Model) prepareStream(ctx context.Context, d *details, req *gpu.Request) (*call, []byte, error) {
	if d.dialect == dialectTriton {
		with := *req
		with.Parameters = map[string]any{paramFinal: true}
		for k, v := range req.Parameters {
			with.Parameters[k] = v
		}
		req = &with
	}
	return m.prepare(ctx, d, req)
}

// receive sends a request on a new stream and hands on its responses.
func (m *Model) receive(ctx context.Context, d *details, raw []byte, take func(*gpu.Response) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // also ends the stream where it is left early
	st, err := m.conns.turn().NewStream(ctx, streamDesc, pb.GRPCInferenceService_ModelStreamInfer_FullMethodName, grpc.ForceCodecV2(codec{}))
	if err != nil {
		return err
	}
	if err := errors.Join(st.SendMsg(encoded(raw)), st.CloseSend()); err != nil && !errors.Is(err, io.EOF) { // EOF: the reason comes with the answer
		return err
	}
	for {
		r, err := nextMessage(st, d.dialect)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		last := r.Parameters[paramIsLast].GetBoolParam()
		if !last || len(r.Outputs) > 0 {
			tensors, err := m.read(d, r, nil)
			if err != nil {
				return err
			}
			if !take(gpu.NewResponse(tensors, nil)) {
				return errBreak
			}
		}
		if last {
			return nil
		}
	}
}

// nextMessage reads one response. Triton puts errors into the messages, with the code of the stream still OK.
func nextMessage(st grpc.ClientStream, d dialect) (*pb.ModelInferResponse, error) {
	if d == dialectMLServer {
		r := &pb.ModelInferResponse{}
		return r, st.RecvMsg(r)
	}
	r := &pb.ModelStreamInferResponse{}
	if err := st.RecvMsg(r); err != nil {
		return nil, err
	}
	if r.ErrorMessage != "" {
		return nil, status.Error(inBandCode(r.ErrorMessage), r.ErrorMessage)
	}
	return r.GetInferResponse(), nil
}

// inBandCode guesses the code of an error that came without one.
func inBandCode(message string) codes.Code {
	s := status.New(codes.Unknown, message)
	switch {
	case says(s, saysQueueFull), says(s, saysTimeout):
		return codes.Unavailable
	case says(s, "unable to find "+saysRegion), says(s, "unknown model"):
		return codes.NotFound
	case says(s, "unexpected datatype"), says(s, "unexpected shape"), says(s, "unexpected inference input"), says(s, "expected "), says(s, "batch-size must be"):
		return codes.InvalidArgument
	}
	return codes.Internal
}

// joined runs a decoupled model and joins its responses along the first dimension.
func (m *Model) joined(ctx context.Context, d *details, req *gpu.Request) (resp *gpu.Response, err error) {
	var all []gpu.Tensor
	m.stream(ctx, d, req, func(r *gpu.Response, e error) bool {
		if e == nil {
			defer r.Release()
			all, e = join(all, r.Outputs)
		}
		err = e
		return e == nil
	})
	if err != nil {
		return nil, err
	}
	if all == nil {
		return nil, fmt.Errorf("ask model %s on %s: no response at all", m.name, m.at.host)
	}
	return gpu.NewResponse(all, nil), nil
}

// join appends tensors to those of the same names. The first dimension may differ, the rest may not.
func join(all, more []gpu.Tensor) ([]gpu.Tensor, error) {
	for _, t := range more {
		i := slices.IndexFunc(all, func(x gpu.Tensor) bool { return x.Name == t.Name })
		if i < 0 {
			t.Shape = slices.Clone(t.Shape)
			all = append(all, t)
			continue
		}
		a := &all[i]
		if a.Type != t.Type || len(a.Shape) == 0 || len(a.Shape) != len(t.Shape) || !slices.Equal(a.Shape[1:], t.Shape[1:]) {
			return nil, fmt.Errorf("join responses: output %s is %s%v, then %s%v", t.Name, a.Type, a.Shape, t.Type, t.Shape)
		}
		a.Shape[0] += t.Shape[0]
		a.Data = append(a.Data, t.Data...)
		a.Strings = append(a.Strings, t.Strings...)
	}
	return all, nil
}
