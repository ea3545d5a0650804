package media

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/sluice-data/sluice/gpu"
	"github.com/sluice-data/sluice/operators/media/internal/imaging"
)

// PictureScheme begins addresses of the decoder of pictures as a model: "picture:" and an InputRule in JSON, or null for pixels. It is what a child process
// of Elsewhere runs.
const PictureScheme = "picture"

// The tensors of the decoder.
const (
	pictureFile    = "file"    // UINT8 [n]: an encoded picture
	pictureTensor  = "tensor"  // FP32 [n]: with a rule
	picturePixels  = "pixels"  // UINT8 or UINT16 [height, width, channels]: without
	pictureProfile = "profile" // UINT8 [n]: of the pixels
)

// OpenPicture implements gpu.Opener.
func OpenPicture(address string, _ gpu.Options) (gpu.Model, error) {
	text, ok := strings.CutPrefix(address, PictureScheme+":")
	if !ok {
		return nil, fmt.Errorf("%q is no address of a decoder of pictures", address)
	}
	m := &pictureModel{}
	if err := json.Unmarshal([]byte(text), &m.rule); err != nil {
		return nil, fmt.Errorf("read rule of pictures: %w", err)
	}
	if m.rule != nil {
		if err := m.rule.Validate(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// pictureModel decodes one picture a request, on the caller's goroutine.
type pictureModel struct {
	rule *InputRule
	mu   sync.Mutex
	idle []*pictureWorker
}

var _ gpu.Model = (*pictureModel)(nil)

// pictureWorker is what one request works with.
type pictureWorker struct {
	input  *Input
	values []float32
	packed []byte
}

func (m *pictureModel) worker() (*pictureWorker, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.idle); n > 0 {
		w := m.idle[n-1]
		m.idle = m.idle[:n-1]
		return w, nil
	}
	rule := InputRule{Width: 1, Height: 1, Fit: "exact"} // for pixels only its worker is used
	if m.rule != nil {
		rule = *m.rule
	}
	in, err := NewInput(rule, arrow.BinaryTypes.Binary)
	return &pictureWorker{input: in}, err
}

// back takes a worker back, which keeps little.
func (m *pictureModel) back(w *pictureWorker) {
	if w.input.worker.ScratchBytes() > keepReserved {
		w.input.worker.Trim()
	}
	if cap(w.packed) > keepReserved {
		w.packed = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, w)
}

// Info implements gpu.Model.
func (*pictureModel) Info(context.Context) (*gpu.Info, error) {
	return &gpu.Info{Name: PictureScheme, Inputs: []gpu.TensorInfo{{Name: pictureFile, Type: gpu.Uint8, Shape: []int64{-1}}}}, nil
}

// Infer implements gpu.Model. What the picture is at fault for is gpu.ErrRequest and has its class.
func (m *pictureModel) Infer(_ context.Context, req *gpu.Request) (*gpu.Response, error) {
	if len(req.Inputs) != 1 || req.Inputs[0].Type != gpu.Uint8 {
		return nil, fmt.Errorf("decode: one input of bytes is wanted: %w", gpu.ErrRequest)
	}
	w, err := m.worker()
	if err != nil {
		return nil, err
	}
	decode := w.pixels
	if m.rule != nil {
		decode = w.tensor
	}
	outs, err := decode(req.Inputs[0].Data)
	if err != nil {
		m.back(w)
		return nil, &pictureError{&imageError{class: classOf(err), err: err}}
	}
	return gpu.NewResponse(outs, func() { m.back(w) }), nil
}

// pictureError is an error of a picture.
type pictureError struct{ *imageError }

// Is implements what errors.Is asks.
func (*pictureError) Is(target error) bool { return target == gpu.ErrRequest }

func (w *pictureWorker) tensor(file []byte) ([]gpu.Tensor, error) {
	g, err := w.input.measureFile(file)
	if err != nil {
		return nil, err
	}
	n := g.W * g.H * w.input.rule.Channels()
	if cap(w.values) < n {
		w.values = make([]float32, n)
	}
	if err := w.input.fillFile(w.values[:n], file, g); err != nil {
		return nil, err
	}
	return []gpu.Tensor{{Name: pictureTensor, Type: gpu.FP32, Shape: []int64{int64(n)}, Data: bytesOf(w.values[:n])}}, nil
}

func (w *pictureWorker) pixels(file []byte) ([]gpu.Tensor, error) {
	h, err := imaging.ReadHeader(file, imaging.DefaultLimits)
	if err != nil {
		return nil, err
	}
	w.input.worker.Reset()
	res, err := w.input.worker.Run(rgb, file, h)
	if err != nil {
		return nil, err
	}
	m := res.Image
	line := m.W * m.Model.Channels() * m.Depth / 8
	data := m.Pix[0]
	if m.Stride[0] != line {
		w.packed = w.packed[:0]
		for y := range m.H {
			w.packed = append(w.packed, data[y*m.Stride[0]:][:line]...)
		}
		data = w.packed
	}
	t := gpu.Tensor{Name: picturePixels, Type: gpu.Uint8, Shape: []int64{int64(m.H), int64(m.W), int64(m.Model.Channels())}, Data: data[:line*m.H]}
	if m.Depth == 16 {
		t.Type = gpu.Uint16
	}
	return []gpu.Tensor{t, {Name: pictureProfile, Type: gpu.Uint8, Shape: []int64{int64(len(m.Profile))}, Data: m.Profile}}, nil
}

// rgb decodes a picture as it is.
var rgb = &imaging.Program{Mode: imaging.ModeRGB}

// Alloc implements gpu.Model.
func (*pictureModel) Alloc(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil }

// Free implements gpu.Model.
func (*pictureModel) Free([]byte) {}

// Healthy implements gpu.Model.
func (*pictureModel) Healthy(ctx context.Context) error { return ctx.Err() }

// Load implements gpu.Model.
func (*pictureModel) Load(context.Context) (gpu.Load, error) {
	return gpu.Load{}, gpu.ErrUnsupported
}

// Close implements gpu.Model. Requests have ended.
func (m *pictureModel) Close() error {
	for _, w := range m.idle {
		w.input.Close()
	}
	m.idle = nil
	return nil
}
