//go:build onnx && cgo

package onnx

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/sluice-data/sluice/gpu"
)

// Infer implements gpu.Model. A run that its context ends stops between two nodes of the graph.
func (m *model) Infer(ctx context.Context, req *gpu.Request) (*gpu.Response, error) {
	defer m.slots.taken(req) // the run has ended then, whatever became of it
	if _, err := m.Info(ctx); err != nil {
		return nil, err
	}
	m.runs.Add(1)
	defer m.runs.Done()
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	var pins runtime.Pinner // the library keeps pointers to the inputs while it runs
	defer pins.Unpin()
	in, err := m.inputs(req, &pins)
	defer destroy(in)
	if err != nil {
		return nil, errors.Join(gpu.ErrRequest, err)
	}
	opts, err := ort.NewRunOptions()
	if err != nil {
		return nil, fmt.Errorf("run model: %w", err)
	}
	defer opts.Destroy()
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		_ = opts.Terminate() // a run that cannot be stopped ends by itself
	})
	out := make([]ort.Value, len(m.info.Outputs))
	err = m.run.RunWithOptions(in, out, opts)
	if !stop() {
		<-stopped
	}
	if err != nil {
		destroy(out)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("run model: %w after %v", context.Cause(ctx), m.timeout)
		}
		return nil, fmt.Errorf("%w: %w", gpu.ErrRequest, err)
	}
	return m.response(req, out)
}

// inputs makes values of the request's tensors, in the order of the model.
func (m *model) inputs(req *gpu.Request, pins *runtime.Pinner) ([]ort.Value, error) {
	vals := make([]ort.Value, len(m.info.Inputs))
	for i, want := range m.info.Inputs {
		for k := range req.Inputs {
			t := &req.Inputs[k]
			if t.Name != want.Name {
				continue
			}
			if t.Type != want.Type {
				return vals, fmt.Errorf("input %s is %s, the model takes %s", t.Name, t.Type, want.Type)
			}
			v, err := value(t, pins)
			if err != nil {
				return vals, fmt.Errorf("input %s: %w", t.Name, err)
			}
			vals[i] = v
		}
		if vals[i] == nil {
			return vals, fmt.Errorf("input %s is missing", want.Name)
		}
	}
	return vals, nil
}

// value views a tensor; texts are copied.
func value(t *gpu.Tensor, pins *runtime.Pinner) (ort.Value, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	if t.Type == gpu.Bytes {
		s, err := ort.NewStringTensor(t.Shape)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(t.Strings))
		for i, b := range t.Strings {
			texts[i] = string(b)
		}
		if err := s.SetContents(texts); err != nil {
			_ = s.Destroy()
			return nil, err
		}
		return s, nil
	}
	if len(t.Data) == 0 {
		return nil, fmt.Errorf("shape %v has no elements", t.Shape)
	}
	if len(t.Shape) == 0 {
		return scalar(t)
	}
	pins.Pin(&t.Data[0])
	return ort.NewCustomDataTensor(t.Shape, t.Data, elements[t.Type])
}

// scalar makes the value of a tensor without dimensions.
func scalar(t *gpu.Tensor) (ort.Value, error) {
	switch t.Type {
	case gpu.FP32:
		return ort.NewScalar(float32(gpu.Float(t.Data, t.Type, 0)))
	case gpu.FP64:
		return ort.NewScalar(gpu.Float(t.Data, t.Type, 0))
	case gpu.Int32:
		return ort.NewScalar(int32(gpu.Int(t.Data, t.Type, 0)))
	case gpu.Int64:
		return ort.NewScalar(gpu.Int(t.Data, t.Type, 0))
	case gpu.Bool:
		return ort.NewScalar(t.Data[0] != 0)
	}
	return nil, fmt.Errorf("%s without dimensions is not supported", t.Type)
}

func destroy(vals []ort.Value) {
	for _, v := range vals {
		if v != nil {
			_ = v.Destroy()
		}
	}
}

// response views the outputs that were asked for.
func (m *model) response(req *gpu.Request, out []ort.Value) (*gpu.Response, error) {
	release := func() { destroy(out) }
	var ts []gpu.Tensor
	for i, about := range m.info.Outputs {
		if len(req.Outputs) > 0 && !contains(req.Outputs, about.Name) {
			continue
		}
		t := gpu.Tensor{Name: about.Name, Type: about.Type, Shape: out[i].GetShape()}
		if s, ok := out[i].(*ort.StringTensor); ok {
			texts, err := s.GetContents()
			if err != nil {
				release()
				return nil, fmt.Errorf("read output %s: %w", about.Name, err)
			}
			for _, x := range texts {
				t.Strings = append(t.Strings, []byte(x))
			}
		} else if t.Data = bytesOf(out[i]); t.Data == nil {
			release()
			return nil, fmt.Errorf("read output %s: %T is not supported", about.Name, out[i])
		}
		ts = append(ts, t)
	}
	return gpu.NewResponse(ts, release), nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
