package media

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unsafe"

	"github.com/sluice-data/sluice/dataset"
	"github.com/sluice-data/sluice/dataset/block"
	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/isolate"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// Elsewhere decodes pictures in a child process, for steps of which that is only a part (dataset.PartIsolable). A picture that takes the child down, or keeps
// it busy for too long, costs that picture. It is safe for concurrent use.
type Elsewhere struct {
	model gpu.Model
	back  func()
}

// OpenElsewhere makes one that gives tensors by a rule, or pixels if that is nil. The base size of the child is reserved until Close; the child is started when
// there is a picture, which may take it the timeout, 0 being the default.
func OpenElsewhere(ctx context.Context, rt dataset.Runtime, rule *InputRule, timeout time.Duration) (*Elsewhere, error) {
	text, err := json.Marshal(rule)
	if err != nil {
		return nil, fmt.Errorf("write rule of pictures: %w", err)
	}
	base, err := isolate.Base()
	if err != nil {
		return nil, err
	}
	back, err := rt.Reserve(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("reserve memory for a child process: %w", err)
	}
	mem, _ := rt.Allocator().(*block.Allocator)
	m, err := isolate.Models{LimitBy: "--isolate-timeout"}.Open(PictureScheme+":"+string(text), gpu.Options{Timeout: timeout, Memory: mem, Log: rt.Logger()})
	if err != nil {
		back()
		return nil, err
	}
	return &Elsewhere{m, back}, nil
}

// Close ends the child.
func (e *Elsewhere) Close() error {
	defer e.back()
	return e.model.Close()
}

// ask has one picture decoded.
func (e *Elsewhere) ask(ctx context.Context, file []byte, most int) (*gpu.Response, error) {
	return e.model.Infer(ctx, &gpu.Request{OutputBytes: most, Inputs: []gpu.Tensor{{Name: pictureFile, Type: gpu.Uint8, Shape: []int64{int64(len(file))}, Data: file}}})
}

// tensor fills dst with the values of a picture.
func (e *Elsewhere) tensor(ctx context.Context, dst []float32, file []byte) error {
	resp, err := e.ask(ctx, file, 4*len(dst))
	if err != nil {
		return err
	}
	defer resp.Release()
	if len(resp.Outputs) != 1 || len(resp.Outputs[0].Data) != 4*len(dst) {
		return fmt.Errorf("make tensor: the child gave %d tensors, or not of %d values", len(resp.Outputs), len(dst))
	}
	copy(bytesOf(dst), resp.Outputs[0].Data)
	return nil
}

// pixels gives the pixels of a picture, which are there until release is called. most is how many bytes they take, as far as known.
func (e *Elsewhere) pixels(ctx context.Context, file []byte, most int) (m *imaging.Image, release func(), err error) {
	resp, err := e.ask(ctx, file, most)
	if err != nil {
		return nil, nil, err
	}
	outs := resp.Outputs
	if len(outs) != 2 || len(outs[0].Shape) != 3 {
		resp.Release()
		return nil, nil, fmt.Errorf("decode: the child gave %d tensors, not pixels and a profile", len(outs))
	}
	p, profile := &outs[0], outs[1].Data
	if len(profile) == 0 {
		profile = nil
	}
	if m, err = imaging.Wrap(p.Data, int(p.Shape[1]), int(p.Shape[0]), int(p.Shape[2]), 8*p.Type.Size(), profile); err != nil {
		resp.Release()
		return nil, nil, err
	}
	return m, resp.Release, nil
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}
